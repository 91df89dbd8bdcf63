"""Bodies, joints and forces of a mechanism, with checked values.

Positions, directions and rotations are global and refer to the assembly. The body "ground" does
not move.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, finite_vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.multibody.equations.forces import UserForce
from manip_dyn.multibody.equations.primitives import rotation
from manip_dyn.robot import check_inertia_tensor

GROUND = "ground"


class JointKind(NamedTuple):
    """Number of constraints, whether the joint has an axis, and whether it has one coordinate."""

    constraints: int
    axis: bool = False
    coordinate: bool = False


JOINTS = {
    "spherical": JointKind(3),
    "universal": JointKind(4, axis=True),
    "revolute": JointKind(5, axis=True, coordinate=True),
    "translational": JointKind(5, axis=True, coordinate=True),
    "fixed": JointKind(6),
    "distance": JointKind(1),
    "component": JointKind(1, axis=True),
}
"""Kinds of joints by name; `mechanism.joint_rows` returns their constraints."""
_ZERO3, _UPRIGHT = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
_UNIT = 1e-6
"""Largest deviation of the norm of Euler parameters from 1."""


@dataclass(frozen=True, eq=False)
class MovingBody:
    """A rigid body.

    Attributes:
        name: Name of the body.
        mass: Mass, kg.
        inertia: Moments of inertia (6,) about the centre of mass in body axes, kg m^2: ixx, iyy,
            izz, ixy, ixz, iyz; or only the first three (3,).
        position: Centre of mass (3,), m.
        orientation: Euler parameters (4,), scalar first, from body axes to global axes.
        velocity: Velocity of the centre of mass (3,), m/s.
        angular_velocity: Angular velocity (3,) in global axes, rad/s.
    """

    name: str
    mass: float
    inertia: Any
    position: Any = _ZERO3
    orientation: Any = _UPRIGHT
    velocity: Any = _ZERO3
    angular_velocity: Any = _ZERO3

    def __post_init__(self) -> None:
        """Check the values and convert them to arrays."""
        where = f"body '{self.name}'"
        if not isinstance(self.name, str) or self.name in ("", GROUND):
            raise ManipDynError(
                f"Body name must be a string other than '{GROUND}', got {self.name!r}."
            )
        positive(f"{where}, mass", self.mass, "kg")
        entries = np.atleast_1d(np.asarray(self.inertia, dtype=object))
        if entries.size not in (3, 6):
            raise ManipDynError(
                f"{where}, inertia must have the shape (3,) or (6,), got {entries.shape}."
            )
        six = finite_vector(f"{where}, inertia", self.inertia, entries.size)
        six = np.concatenate([six, np.zeros(6 - len(six))])
        xx, yy, zz, xy, xz, yz = six
        check_inertia_tensor(where, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        if min(xx, yy, zz) <= 0.0:
            raise ManipDynError(f"{where}, inertia must be above 0, got {six.tolist()}.")
        e = finite_vector(f"{where}, orientation", self.orientation, 4)
        if abs(np.linalg.norm(e) - 1.0) > _UNIT:
            raise ManipDynError(
                f"{where}, orientation must have the norm 1, got {np.linalg.norm(e):.9g}."
            )
        values = {"inertia": six, "orientation": e / np.linalg.norm(e)}
        for name in ("position", "velocity", "angular_velocity"):
            values[name] = finite_vector(f"{where}, {name}", getattr(self, name), 3)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def rotation(self) -> Matrix:
        """Rotation matrix (3, 3) from body axes to global axes."""
        return np.array(rotation(self.orientation.tolist()))


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two bodies.

    Attributes:
        kind: One of `JOINTS`.
        bodies: Names of two bodies, or "ground".
        points: Position of the joint (3,), m. For ``distance`` and ``component``, a point of each
            body (2, 3). ``component`` fixes the distance between both points along an axis of the
            first body.
        axis: Axis (3,) of a revolute or translational joint, or of ``component``. For a universal
            joint two perpendicular axes, one of each body (2, 3).
        name: Name for messages.

    Points and axes (then of length 1) are stored with one row for each body (2, 3).
    """

    kind: str
    bodies: tuple[str, str]
    points: Any = _ZERO3
    axis: Any = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check the values and convert them to arrays."""
        if self.kind not in JOINTS:
            raise ManipDynError(
                f"Joint kind must be one of {', '.join(JOINTS)}, got {self.kind!r}"
                f"{closest(str(self.kind), JOINTS)}"
            )
        object.__setattr__(self, "name", self.name or f"{self.kind} {'-'.join(self.bodies)}")
        object.__setattr__(self, "points", _two(f"joint '{self.name}', points", self.points))
        if self.kind == "distance" and not np.linalg.norm(self.points[1] - self.points[0]) > 0.0:
            raise ManipDynError(
                f"joint '{self.name}' must have a distance above 0, got 0; use kind 'spherical'."
            )
        if (self.axis is None) == JOINTS[self.kind].axis:
            condition = "a vector" if JOINTS[self.kind].axis else "None"
            raise ManipDynError(f"joint '{self.name}', axis must be {condition}, got {self.axis}.")
        if self.axis is not None:
            axes = _two(f"joint '{self.name}', axis", self.axis)
            lengths = np.linalg.norm(axes, axis=1)
            if not lengths.min() > 0.0:
                raise ManipDynError(
                    f"joint '{self.name}', axis must have a length above 0, got 0."
                )
            axes = axes / lengths[:, np.newaxis]
            if self.kind == "universal" and abs(axes[0] @ axes[1]) > 1e-9:
                raise ManipDynError(
                    f"joint '{self.name}', axes must be perpendicular, got {axes.tolist()}."
                )
            object.__setattr__(self, "axis", axes)


@dataclass(frozen=True, eq=False)
class Spring:
    """A spring, damper and actuator between two points.

    Attributes:
        bodies: Names of two bodies, or "ground".
        points: A point of each body (2, 3), m.
        stiffness: Stiffness, N/m.
        damping: Damping, N s/m.
        length: Force-free length, m. Default: the length at assembly.
        force: Constant tension, N.
    """

    bodies: tuple[str, str]
    points: Any
    stiffness: float = 0.0
    damping: float = 0.0
    length: float | None = None
    force: float = 0.0

    def __post_init__(self) -> None:
        """Check the values and convert them to arrays."""
        where = f"spring {'-'.join(self.bodies)}"
        object.__setattr__(self, "points", _two(f"{where}, points", self.points))
        apart = float(np.linalg.norm(self.points[1] - self.points[0]))
        positive(f"{where}, distance of its points", apart, "m")
        object.__setattr__(self, "length", apart if self.length is None else self.length)
        not_negative(f"{where}, length", self.length, "m")
        _constants(where, self)


@dataclass(frozen=True, eq=False)
class RotationalSpring:
    """A spring, damper and actuator about an axis shared by two bodies.

    The angle of the second body relative to the first is zero at assembly and continues across
    full turns from step to step. No step may change it by half a turn or more. If the bodies are
    also connected by a revolute joint, both must have the same axis.

    Attributes:
        bodies: Names of two bodies, or "ground".
        axis: Global axis (3,), fixed to the first body.
        stiffness: Stiffness, N m/rad.
        damping: Damping, N m s/rad.
        rest: Angle at which the spring moment is zero, rad.
        force: Constant moment that opposes the angle, N m.
    """

    bodies: tuple[str, str]
    axis: Any
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    force: float = 0.0

    def __post_init__(self) -> None:
        """Check the values and convert them to arrays."""
        where = f"rotational spring {'-'.join(self.bodies)}"
        axis = finite_vector(f"{where}, axis", self.axis, 3)
        positive(f"{where}, length of its axis", float(np.linalg.norm(axis)))
        object.__setattr__(self, "axis", axis / np.linalg.norm(axis))
        finite_vector(f"{where}, rest", [self.rest], 1)
        _constants(where, self)


@dataclass(frozen=True, eq=False)
class Tyre:
    """A spring and damper along z between a wheel centre and the road, which may have a bump.

    The tyre never loses contact: above its unloaded radius, it pulls the wheel down.

    Attributes:
        body: Name of the body of the wheel.
        point: Centre of the wheel (3,), m; the road is at height 0.
        radius: Unloaded radius, m.
        stiffness: Stiffness, N/m.
        damping: Damping, N s/m.
        bump: Radius of a half-cylinder on the road, m; 0 for a flat road.
        speed: Speed of the wheel relative to the bump, m/s.
        hit: Time at which the wheel touches the bump, s.
        bodies: "ground" and `body`.
    """

    body: str
    point: Any
    radius: float
    stiffness: float
    damping: float = 0.0
    bump: float = 0.0
    speed: float = 0.0
    hit: float = 0.0
    bodies: tuple[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Check the values and convert them to arrays."""
        where = f"tyre of '{self.body}'"
        object.__setattr__(self, "bodies", (GROUND, self.body))
        object.__setattr__(self, "point", finite_vector(f"{where}, point", self.point, 3))
        positive(f"{where}, radius", self.radius, "m")
        for name in ("stiffness", "damping", "bump", "speed"):
            not_negative(f"{where}, {name}", getattr(self, name))
        finite_vector(f"{where}, hit", [self.hit], 1)

    @property
    def switches(self) -> list[float]:
        """Times at which the wheel touches and leaves the bump, s; empty without a moving bump."""
        if not self.bump or not self.speed:
            return []
        half = ((self.radius + self.bump) ** 2 - self.radius**2) ** 0.5
        return [self.hit, self.hit + 2.0 * half / self.speed]


Force = Spring | RotationalSpring | Tyre | UserForce


def _two(where: str, value: Any) -> Matrix:
    """Return a pair of vectors (2, 3); a single vector is used twice."""
    sequences = (list, tuple, np.ndarray)
    if not isinstance(value, sequences) or not any(isinstance(row, sequences) for row in value):
        return np.tile(finite_vector(where, value, 3), (2, 1))
    rows = [finite_vector(where, row, 3) for row in value]
    if len(rows) != 2:
        raise ManipDynError(f"{where} must be one or two vectors, got {len(rows)}.")
    return np.array(rows)


def _constants(where: str, force: Any) -> None:
    not_negative(f"{where}, stiffness", force.stiffness)
    not_negative(f"{where}, damping", force.damping)
    finite_vector(f"{where}, force", [force.force], 1)


_PARALLEL = 1e-6
"""Largest sine of the angle between two unit vectors on the same axis."""


def checked_elements(name: str, values: Any, kind: Any) -> tuple[Any, ...]:
    """Return values as a tuple after checking that they have the type `kind`."""
    types = " or ".join(item.__name__ for item in getattr(kind, "__args__", (kind,)))
    if not isinstance(values, Iterable) or isinstance(values, (str, dict)):
        raise ManipDynError(f"{name} must be a list of {types}, got {values!r}.")
    elements = tuple(values)
    for index, element in enumerate(elements):
        if not isinstance(element, kind):
            raise ManipDynError(f"{name}[{index}] must be {types}, got {element!r}.")
    return elements


def check_names(names: Sequence[str]) -> None:
    """Check that there is at least one body and that all names are different."""
    if not names:
        raise ManipDynError("bodies must contain at least one body, got none.")
    duplicates = {name for name in names if names.count(name) > 1}
    if duplicates:
        raise ManipDynError(f"Names of bodies must differ, got '{min(duplicates)}' twice.")


def check_connected(names: Sequence[str], links: Sequence[Joint | Force]) -> None:
    """Check that joints and forces connect all bodies and refer to no unknown ones."""
    groups = {name: {name} for name in (*names, GROUND)}
    for link in links:
        for name in link.bodies:
            if name not in groups:
                hint = closest(str(name), groups)
                raise ManipDynError(f"body must be a body of the mechanism, got '{name}'{hint}")
        if link.bodies[0] == link.bodies[1]:
            raise ManipDynError(
                f"Joints and forces must connect two bodies, got '{link.bodies[0]}' twice."
            )
        union = groups[link.bodies[0]] | groups[link.bodies[1]]
        for name in union:
            groups[name] = union
    largest = max(groups.values(), key=len)
    separate = [name for name in names if name not in largest]
    if separate:
        raise ManipDynError(
            f"Joints and forces must connect all bodies, but '{separate[0]}' is not connected "
            f"with '{next(n for n in names if n in largest)}'."
        )


def check_shared_axes(joints: Sequence[Joint], forces: Sequence[Force]) -> None:
    """Check that rotational springs and revolute joints between the same bodies share axes."""
    for spring in forces:
        if not isinstance(spring, RotationalSpring):
            continue
        for joint in joints:
            shared = joint.kind == "revolute" and set(joint.bodies) == set(spring.bodies)
            if shared and np.linalg.norm(np.cross(joint.axis[0], spring.axis)) > _PARALLEL:
                raise ManipDynError(
                    f"rotational spring {'-'.join(spring.bodies)}, axis must be "
                    f"{joint.axis[0].tolist()}, that of the joint '{joint.name}' between the same "
                    f"bodies, got {spring.axis.tolist()}."
                )
