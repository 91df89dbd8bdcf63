"""`Robot`: the constant properties of an arm, and its bodies as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pinocchio

from manip_dyn.core.checks import Matrix, Vector, distinct_digits
from manip_dyn.core.deprecation import renamed_attribute
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.results import html_table


class Body(NamedTuple):
    """A moving body and its joint; the z axis of the body frame is the joint axis.

    Attributes:
        parent: Index of the parent body; -1 for the base.
        prismatic: Whether the joint translates along z instead of rotating about it.
        rotation: Rotation matrix (3, 3) from the joint frame at q = 0 to the parent frame.
        translation: Origin (3,) of the joint frame in the parent frame, m.
        mass: Mass, kg.
        com: Centre of mass (3,) in the body frame, m.
        inertia: Inertia (3, 3) about the centre of mass in body axes, kg m^2.
    """

    parent: int
    prismatic: bool
    rotation: Matrix
    translation: Vector
    mass: float
    com: Vector
    inertia: Matrix


class Friction(NamedTuple):
    """Dry friction of n joints.

    Attributes:
        coulomb: Coulomb friction (n,), N m or N.
        static: Static friction (n,), N m or N, not below the Coulomb friction.
        stribeck: Stribeck velocities (n,), rad/s or m/s. With 0, sliding joints have only Coulomb
            friction.
    """

    coulomb: Vector
    static: Vector
    stribeck: Vector

    def sliding(self, direction: Vector, speed: Vector) -> Vector:
        """Return the friction of sliding joints (..., n), N m or N, with the velocities' signs.

        Args:
            direction: Numbers (..., n) with the signs of the velocities. For 0, the result is 0.
            speed: Absolute values of the velocities (..., n), rad/s or m/s.
        """
        ratio = speed / np.where(self.stribeck > 0.0, self.stribeck, 1.0)
        fall = np.where(self.stribeck > 0.0, np.exp(-ratio * ratio), 0.0)
        return np.sign(direction) * (self.coulomb + (self.static - self.coulomb) * fall)


class Frame(NamedTuple):
    """A frame fixed to a body: rotation (3, 3) and translation (3,), m, in the body frame.

    `body` is the index of the body, -1 for the base.
    """

    body: int
    rotation: Vector
    translation: Vector


class Coupling(NamedTuple):
    """Position of the joint of a body: ratio * q[joint] + offset.

    Attributes:
        name: Name of the joint in the URDF.
        joint: Index in q.
        ratio: 1 for an independent joint, the multiplier of a mimic joint.
        offset: 0 for an independent joint, the offset of a mimic joint, rad or m.
    """

    name: str
    joint: int
    ratio: float = 1.0
    offset: float = 0.0


def ratios_of(couplings: Sequence[Coupling]) -> Matrix:
    """Return the matrix (b, n) that converts joint velocities to those of b bodies."""
    ratios = np.zeros((len(couplings), 1 + max((c.joint for c in couplings), default=-1)))
    for row, coupling in zip(ratios, couplings, strict=True):
        row[coupling.joint] = coupling.ratio
    return ratios


def bodies_of(model: pinocchio.Model) -> tuple[Body, ...]:
    """Return the bodies of a pinocchio model, parents before children."""
    subspaces = _subspaces(model)
    axes = [np.eye(3), *body_axes(model)]
    bodies = []
    for i in range(1, model.njoints):
        parent, placement = model.parents[i], model.jointPlacements[i]
        inertia = model.inertias[i]
        bodies.append(
            Body(
                parent=parent - 1,
                prismatic=bool(np.any(subspaces[i - 1][0])),
                rotation=_snapped(axes[parent].T @ placement.rotation @ axes[i]),
                translation=_snapped(axes[parent].T @ placement.translation),
                mass=float(inertia.mass),
                com=_snapped(axes[i].T @ inertia.lever),
                inertia=_snapped(axes[i].T @ inertia.inertia @ axes[i]),
            )
        )
    return tuple(bodies)


def body_axes(model: pinocchio.Model) -> list[Matrix]:
    """Return the axes (3, 3) of each body frame in pinocchio's joint frames."""
    return [_frame_about(linear + angular) for linear, angular in _subspaces(model)]


def frame_of(model: pinocchio.Model, link: str) -> Frame:
    """Return the frame of a link relative to the body to which it is fixed."""
    frame = model.frames[model.getFrameId(link, pinocchio.BODY)]
    joint, placement = frame.parentJoint, frame.placement
    axes = np.eye(3) if joint == 0 else _frame_about(sum(_subspaces(model)[joint - 1]))
    rotation = _snapped(axes.T @ placement.rotation)
    return Frame(joint - 1, rotation, _snapped(axes.T @ placement.translation))


def _subspaces(model: pinocchio.Model) -> list[tuple[Vector, Vector]]:
    """Return linear and angular velocity (3,) of each joint at unit speed, in the joint frame."""
    data = model.createData()
    pinocchio.forwardKinematics(model, data, np.zeros(model.nq), np.ones(model.nv))
    columns = [np.array(data.joints[i].S).reshape(6) for i in range(1, model.njoints)]
    return [(column[:3], column[3:]) for column in columns]


def _frame_about(axis: Vector) -> Matrix:
    """Return a rotation (3, 3) whose third column is the unit vector `axis`.

    If `axis` is a coordinate axis, the rotation permutes the coordinate axes up to signs, which
    preserves zeros.
    """
    first = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    first = first - (first @ axis) * axis
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def _snapped(values: Vector) -> Vector:
    """Return a copy of `values` with entries within 4e-16 of 0, 1 or -1 set to these numbers."""
    snapped = np.array(values, dtype=np.float64)
    for exact in (0.0, 1.0, -1.0):
        snapped[np.abs(snapped - exact) < 4e-16] = exact
    return snapped


JOINT_COLUMNS = ("joint", "type", "lower", "upper", "speed", "effort")


@dataclass(frozen=True, eq=False, repr=False)
class Robot:
    """A fixed-base arm with n independent joints of one degree of freedom each.

    A mimic joint follows an independent joint and is not one of the n joints. Its friction,
    damping and rotor inertia are included in those of the joint that it follows, and its limits
    are not used.

    Units are SI: rad and N m for revolute and continuous joints, m and N for prismatic joints.
    The vectors are read-only. Except `gravity`, they have shape (n,) in the order of
    `joint_names`.

    Attributes:
        name: Name of the robot in the URDF, or the file's stem if the URDF has none.
        joint_names: Names of the independent joints; in a chain, those nearer to the base come
            first.
        joint_types: ``revolute``, ``continuous`` or ``prismatic`` for each joint.
        q_min: Lower position limits; -inf for no limit.
        q_max: Upper position limits; inf for no limit.
        v_max: Speed limits; inf if the URDF has none.
        tau_max: Effort limits; inf if the URDF has none.
        damping: Viscous damping, N m s/rad or N s/m.
        coulomb_friction: Coulomb friction, N m or N; see `Friction`.
        static_friction: Maximum friction at rest, not below Coulomb friction, N m or N.
        stribeck_velocity: Velocity scale of the transition from static to Coulomb friction, rad/s
            or m/s; 0 for a jump.
        armature: Rotor inertia at the joint, kg m^2 or kg.
        stiffness: Stiffness of the joint springs, N m/rad or N/m; 0 for no spring.
        rest: Joint positions at which the springs exert no effort.
        gravity: Acceleration of free fall (3,) in the base frame, m/s^2.
        base: Name of the root link.
        tip: Name of the link that is the tool frame.
        urdf: URDF text after `lock` and `tip`.
        notes: Remarks about the URDF, such as joints with a zero limit, one sentence each.
        model: The pinocchio model, for `Oracle` and comparisons. Its joints are those of
            `couplings`.
        bodies: The moving bodies as plain numbers, one per independent or mimic joint.
        couplings: Joint of each body. With mimic joints, there are more bodies than joints.
        tip_frame: Frame of the tip on its body.
        folder: Folder of the URDF file, to resolve mesh files; "" for a URDF string.
        srdf: SRDF text with the pairs of links that need no collision check; "" without.
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
    couplings: tuple[Coupling, ...] = field(repr=False)
    tip_frame: Frame = field(repr=False)
    folder: str = field(default="", repr=False)
    srdf: str = field(default="", repr=False)

    def __repr__(self) -> str:
        """Return a table of the joints with their limits."""
        rows = [JOINT_COLUMNS, *self._joint_rows()]
        lines = [f"{a:<24}{b:<12}{c:>10}{d:>10}{e:>10}{f:>10}" for a, b, c, d, e, f in rows]
        return "\n  ".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        return f"{self._title()}{html_table([JOINT_COLUMNS, *self._joint_rows()])}"

    def _title(self) -> str:
        return f"Robot '{self.name}': {self.n} joints, {self.base} to {self.tip}"

    def _joint_rows(self) -> list[tuple[str, ...]]:
        limits = zip(self.q_min, self.q_max, self.v_max, self.tau_max, strict=True)
        return [
            (name, kind, *(f"{limit:.4g}" for limit in row))
            for name, kind, row in zip(self.joint_names, self.joint_types, limits, strict=True)
        ]

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def has_mimic_joints(self) -> bool:
        """Whether bodies share a joint coordinate."""
        return len(self.couplings) > self.n

    @property
    def ratios(self) -> Matrix:
        """Velocities of the joints of b bodies per unit velocity of each joint, (b, n)."""
        return ratios_of(self.couplings)

    def body_positions(self, q: Vector) -> Vector:
        """Return the joint positions (b,) of all b bodies for joint positions q (n,), rad or m."""
        if not self.has_mimic_joints:
            return q
        return np.array([c.ratio * q[c.joint] + c.offset for c in self.couplings])

    @property
    def friction(self) -> Friction:
        """Dry friction of the joints."""
        return Friction(self.coulomb_friction, self.static_friction, self.stribeck_velocity)

    @property
    def has_dry_friction(self) -> bool:
        """Whether any joint has dry friction."""
        return bool(np.any(self.static_friction))

    rubs = renamed_attribute("Robot.rubs", "has_dry_friction")

    def index(self, joint: str) -> int:
        """Return the index of `joint` in `joint_names`.

        Raises:
            ManipDynError: If there is no such joint.
        """
        if joint not in self.joint_names:
            hint = closest(joint, self.joint_names)
            raise ManipDynError(
                f"joint must be a joint of robot '{self.name}', got '{joint}'{hint}"
            )
        return self.joint_names.index(joint)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, including those that are fixed to others."""
        frames = self.model.frames
        return tuple(f.name for f in frames if f.type == pinocchio.FrameType.BODY)

    def frame(self, link: str) -> Frame:
        """Return the frame of a link relative to the body to which it is fixed.

        Raises:
            ManipDynError: If there is no such link.
        """
        if link not in self.link_names:
            hint = closest(str(link), self.link_names)
            raise ManipDynError(f"link must be a link of robot '{self.name}', got '{link}'{hint}")
        return frame_of(self.model, link)

    def unit(self, joint: int) -> str:
        """Return the unit of the position of the joint with index `joint`: ``rad`` or ``m``."""
        return "m" if self.joint_types[joint] == "prismatic" else "rad"

    def effort_unit(self, joint: int) -> str:
        """Return the unit of the effort of the joint with index `joint`: ``N m`` or ``N``."""
        return "N" if self.joint_types[joint] == "prismatic" else "N m"

    def outside_limits(self, q: Vector) -> list[str]:
        """Return the names of joints outside their position limits at q (n,)."""
        bounds = zip(self.joint_names, self.q_min, q, self.q_max, strict=True)
        return [name for name, low, position, high in bounds if not low <= position <= high]

    def check_within_limits(self, name: str, q: Vector) -> None:
        """Check that joint positions are within their limits.

        Args:
            name: Name of `q` in the message, such as "goal".
            q: Joint positions (n,), rad or m.

        Raises:
            ManipDynError: If a joint is outside its limits.
        """
        for i, joint in enumerate(self.joint_names):
            if not self.q_min[i] <= q[i] <= self.q_max[i]:
                value, low, high = distinct_digits(q[i], self.q_min[i], self.q_max[i])
                unit = self.unit(i)
                raise ManipDynError(
                    f"{name} of joint '{joint}' must be from {low} to {high} {unit}, "
                    f"got {value} {unit}."
                )


def checked_robot(robot: object) -> Robot:
    """Return `robot` after checking that it is a `Robot` and not, for example, a name."""
    if not isinstance(robot, Robot):
        raise ManipDynError(f"robot must be a Robot from load_robot, got {robot!r}.")
    return robot
