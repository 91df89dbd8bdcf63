"""`Robot`: everything about an arm that does not change while it moves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pinocchio

from manip_dyn.core.checks import Vector
from manip_dyn.core.digits import apart
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.numerics.friction import Friction
from manip_dyn.robot.bodies import Body, Frame, frame_of


@dataclass(frozen=True, eq=False)
class Robot:
    """A fixed-base arm with n joints of one degree of freedom each.

    Units are SI: rad and N m for revolute and continuous joints, m and N for prismatic ones.
    All arrays have shape (n,) in the order of `joint_names` and are read-only.

    Attributes:
        name: The name in the URDF.
        joint_names: The joints that move, base to tip.
        joint_types: ``revolute``, ``continuous`` or ``prismatic`` per joint.
        q_min: Lower position limits (-inf where there is none).
        q_max: Upper position limits (inf where there is none).
        v_max: Speed limits (inf where the URDF states none).
        tau_max: Effort limits (inf where the URDF states none).
        damping: Viscous damping, N m s/rad or N s/m.
        coulomb_friction: Coulomb friction, N m or N; see `manip_dyn.core.numerics.friction`.
        static_friction: What friction holds a joint at rest with at most, not below Coulomb's.
        stribeck_velocity: How fast friction falls from static to Coulomb's (0: at once).
        armature: Rotor inertia seen at the joint, kg m^2 or kg.
        stiffness: Joint springs, N m/rad or N/m (0: none).
        rest: Joint positions where the springs are slack.
        gravity: Acceleration of free fall in the base frame, shape (3,), m/s^2.
        base: Root link.
        tip: Link whose frame is the tool.
        urdf: The URDF text after `lock` and `tip` were applied.
        notes: What the URDF says that this package does not model, one sentence each.
        model: The pinocchio model; only `manip_dyn.robot` may look inside.
        bodies: The moving bodies as plain numbers, one per joint.
        tip_frame: The tip's frame on its body.
    """

    name: str
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    q_min: Vector
    q_max: Vector
    v_max: Vector
    tau_max: Vector
    damping: Vector
    coulomb_friction: Vector
    static_friction: Vector
    stribeck_velocity: Vector
    armature: Vector
    stiffness: Vector
    rest: Vector
    gravity: Vector
    base: str
    tip: str
    urdf: str = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    model: pinocchio.Model = field(repr=False)
    bodies: tuple[Body, ...] = field(repr=False)
    tip_frame: Frame = field(repr=False)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def friction(self) -> Friction:
        """Dry friction of the joints."""
        return Friction(self.coulomb_friction, self.static_friction, self.stribeck_velocity)

    @property
    def rubs(self) -> bool:
        """Whether a joint has dry friction."""
        return bool(np.any(self.static_friction))

    def index(self, joint: str) -> int:
        """Return the place of `joint` in `joint_names`."""
        if joint not in self.joint_names:
            hint = closest(joint, self.joint_names)
            raise ManipDynError(f"robot '{self.name}' has no joint '{joint}'{hint}")
        return self.joint_names.index(joint)

    def frame(self, link: str) -> Frame:
        """Return the frame of a link on the body that carries it."""
        frames = [f.name for f in self.model.frames if f.type == pinocchio.FrameType.BODY]
        if link not in frames:
            raise ManipDynError(
                f"robot '{self.name}' has no link '{link}'{closest(str(link), frames)}"
            )
        return frame_of(self.model, link)

    def unit(self, joint: int) -> str:
        """Return the unit of a joint's position."""
        return "m" if self.joint_types[joint] == "prismatic" else "rad"

    def outside_limits(self, q: Vector) -> list[str]:
        """Return the names of the joints that are outside their position limits at q (n,)."""
        bounds = zip(self.joint_names, self.q_min, q, self.q_max, strict=True)
        return [name for name, low, position, high in bounds if not low <= position <= high]

    def check_within_limits(self, name: str, q: Vector) -> None:
        """Raise `ManipDynError` naming the first joint of `q` outside its position limits."""
        for i, joint in enumerate(self.joint_names):
            if not self.q_min[i] <= q[i] <= self.q_max[i]:
                found, low, high = apart(q[i], self.q_min[i], self.q_max[i])
                raise ManipDynError(
                    f"{name} of joint '{joint}' is {found} {self.unit(i)}; expected {low} to "
                    f"{high}"
                )


def checked_robot(robot: object) -> Robot:
    """Return what is a robot; refuse the name of one, or a path."""
    if not isinstance(robot, Robot):
        raise ManipDynError(f"robot is {robot!r}; expected a Robot from load_robot")
    return robot
