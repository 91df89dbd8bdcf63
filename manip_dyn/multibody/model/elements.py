"""Bodies, joints and forces that describe a mechanism, with checked values.

Positions, directions and rotations are global, at assembly. "ground" is the body that does not
move.
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
    """How many constraints a joint is, whether it has an axis, and one coordinate of its own."""

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
"""By name; `joints.joint_rows` has their constraints."""
_ZERO3, _UPRIGHT = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
_UNIT = 1e-6
"""How far the norm of given Euler parameters may be from 1."""


@dataclass(frozen=True, eq=False)
class MovingBody:
    """A rigid body.

    Attributes:
        name: Its name.
        mass: kg.
        inertia: About the centre of mass in body axes: ixx, iyy, izz, ixy, ixz, iyz (6,) or the
            first three of them, kg m^2.
        position: Of the centre of mass (3,), m.
        orientation: Euler parameters (4,), scalar first, that turn body axes to global ones.
        velocity: Of the centre of mass (3,), m/s.
        angular_velocity: In global axes (3,), rad/s.
    """

    name: str
    mass: float
    inertia: Any
    position: Any = _ZERO3
    orientation: Any = _UPRIGHT
    velocity: Any = _ZERO3
    angular_velocity: Any = _ZERO3

    def __post_init__(self) -> None:
        """Check and store the values as arrays."""
        where = f"body '{self.name}'"
        if not isinstance(self.name, str) or self.name in ("", GROUND):
            raise ManipDynError(f"a body's name is {self.name!r}; expected one, not '{GROUND}'")
        positive(f"{where}, mass", self.mass, "kg")
        given = np.atleast_1d(np.asarray(self.inertia, dtype=object))
        if given.size not in (3, 6):
            raise ManipDynError(f"{where}, inertia has shape {given.shape}; expected (3,) or (6,)")
        six = finite_vector(f"{where}, inertia", self.inertia, given.size)
        six = np.concatenate([six, np.zeros(6 - len(six))])
        xx, yy, zz, xy, xz, yz = six
        check_inertia_tensor(where, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        if min(xx, yy, zz) <= 0.0:
            raise ManipDynError(f"{where} has the inertia {six.tolist()}; expected above 0")
        e = finite_vector(f"{where}, orientation", self.orientation, 4)
        if abs(np.linalg.norm(e) - 1.0) > _UNIT:
            raise ManipDynError(
                f"{where} has Euler parameters of norm {np.linalg.norm(e):.9g}; expected 1"
            )
        values = {"inertia": six, "orientation": e / np.linalg.norm(e)}
        for name in ("position", "velocity", "angular_velocity"):
            values[name] = finite_vector(f"{where}, {name}", getattr(self, name), 3)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def rotation(self) -> Matrix:
        """The matrix (3, 3) that turns body axes to global ones."""
        return np.array(rotation(self.orientation.tolist()))


@dataclass(frozen=True, eq=False)
class Joint:
    """What two bodies must keep.

    Attributes:
        kind: One of `JOINTS`.
        bodies: Names of two bodies, or "ground".
        points: Where (3,), m; for ``distance`` a point of each body (2, 3). ``component`` keeps
            the distance between a point of each body along an axis of the first.
        axis: Of a revolute or translational joint, or of ``component`` (3,); for a universal
            joint an axis of each body (2, 3), perpendicular.
        name: For messages.
    """

    kind: str
    bodies: tuple[str, str]
    points: Any = _ZERO3
    axis: Any = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check and store the values as arrays."""
        if self.kind not in JOINTS:
            raise ManipDynError(
                f"a joint is of kind {self.kind!r}{closest(str(self.kind), JOINTS)}"
            )
        object.__setattr__(self, "name", self.name or f"{self.kind} {'-'.join(self.bodies)}")
        object.__setattr__(self, "points", _two(f"joint '{self.name}', points", self.points))
        if self.kind == "distance" and not np.linalg.norm(self.points[1] - self.points[0]) > 0.0:
            raise ManipDynError(f"joint '{self.name}' keeps the distance 0; expected 'spherical'")
        if (self.axis is None) == JOINTS[self.kind].axis:
            wanted = "an axis" if JOINTS[self.kind].axis else "none"
            raise ManipDynError(f"joint '{self.name}' has the axis {self.axis}; expected {wanted}")
        if self.axis is not None:
            axes = _two(f"joint '{self.name}', axis", self.axis)
            lengths = np.linalg.norm(axes, axis=1)
            if not lengths.min() > 0.0:
                raise ManipDynError(f"joint '{self.name}' has an axis of length 0")
            axes = axes / lengths[:, np.newaxis]
            if self.kind == "universal" and abs(axes[0] @ axes[1]) > 1e-9:
                raise ManipDynError(
                    f"joint '{self.name}' has axes {axes.tolist()}; expected perpendicular ones"
                )
            object.__setattr__(self, "axis", axes)


@dataclass(frozen=True, eq=False)
class Spring:
    """A spring, damper and actuator between two points.

    Attributes:
        bodies: Names of two bodies, or "ground".
        points: A point of each (2, 3), m.
        stiffness: N/m.
        damping: N s/m.
        length: Without force, m; None: as assembled.
        force: Constant pull, N.
    """

    bodies: tuple[str, str]
    points: Any
    stiffness: float = 0.0
    damping: float = 0.0
    length: float | None = None
    force: float = 0.0

    def __post_init__(self) -> None:
        """Check and store the values as arrays."""
        where = f"spring {'-'.join(self.bodies)}"
        object.__setattr__(self, "points", _two(f"{where}, points", self.points))
        apart = float(np.linalg.norm(self.points[1] - self.points[0]))
        positive(f"{where}, distance of its points", apart, "m")
        object.__setattr__(self, "length", apart if self.length is None else self.length)
        not_negative(f"{where}, length", self.length, "m")
        _constants(where, self)


@dataclass(frozen=True, eq=False)
class RotationalSpring:
    """A spring, damper and actuator around an axis that two bodies share.

    The second body's angle against the first is counted from the assembly, `rest` being where
    there is no moment. It is counted on through turns, from step to step: no step may turn it by
    half a turn or more. Beside a revolute joint between the two bodies the axis is the joint's.

    Attributes:
        bodies: Names of two bodies, or "ground".
        axis: (3,), global; fixed to the first body.
        stiffness: N m/rad.
        damping: N m s/rad.
        rest: rad.
        force: Constant moment against the angle, N m.
    """

    bodies: tuple[str, str]
    axis: Any
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    force: float = 0.0

    def __post_init__(self) -> None:
        """Check and store the values as arrays."""
        where = f"rotational spring {'-'.join(self.bodies)}"
        axis = finite_vector(f"{where}, axis", self.axis, 3)
        positive(f"{where}, length of its axis", float(np.linalg.norm(axis)))
        object.__setattr__(self, "axis", axis / np.linalg.norm(axis))
        finite_vector(f"{where}, rest", [self.rest], 1)
        _constants(where, self)


@dataclass(frozen=True, eq=False)
class Tyre:
    """A vertical spring and damper between a wheel's centre and the road, with a bump on it.

    Attributes:
        body: The wheel.
        point: Its centre (3,), m; the road is at height 0.
        radius: Without load, m.
        stiffness: N/m.
        damping: N s/m.
        bump: Radius of a half-cylinder on the road, m; 0 for none.
        speed: At which the wheel meets it, m/s.
        hit: When it touches it, s.
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
        """Check and store the values as arrays."""
        where = f"tyre of '{self.body}'"
        object.__setattr__(self, "bodies", (GROUND, self.body))
        object.__setattr__(self, "point", finite_vector(f"{where}, point", self.point, 3))
        positive(f"{where}, radius", self.radius, "m")
        for name in ("stiffness", "damping", "bump", "speed"):
            not_negative(f"{where}, {name}", getattr(self, name))
        finite_vector(f"{where}, hit", [self.hit], 1)

    @property
    def switches(self) -> list[float]:
        """When the wheel touches the bump and when it leaves it, s."""
        if not self.bump or not self.speed:
            return []
        half = ((self.radius + self.bump) ** 2 - self.radius**2) ** 0.5
        return [self.hit, self.hit + 2.0 * half / self.speed]


Force = Spring | RotationalSpring | Tyre | UserForce


def _two(where: str, value: Any) -> Matrix:
    """Return a pair of vectors (2, 3); one counts for both."""
    sequences = (list, tuple, np.ndarray)
    if not isinstance(value, sequences) or not any(isinstance(each, sequences) for each in value):
        return np.tile(finite_vector(where, value, 3), (2, 1))
    rows = [finite_vector(where, each, 3) for each in value]
    if len(rows) != 2:
        raise ManipDynError(f"{where} are {len(rows)} vectors; expected one or two")
    return np.array(rows)


def _constants(where: str, force: Any) -> None:
    not_negative(f"{where}, stiffness", force.stiffness)
    not_negative(f"{where}, damping", force.damping)
    finite_vector(f"{where}, force", [force.force], 1)


_PARALLEL = 1e-6
"""Largest sine between two unit vectors that count as one axis."""


def checked_elements(name: str, values: Any, kind: Any) -> tuple[Any, ...]:
    """Return values as a tuple; refuse those of another kind."""
    wanted = " or ".join(each.__name__ for each in getattr(kind, "__args__", (kind,)))
    if not isinstance(values, Iterable) or isinstance(values, (str, dict)):
        raise ManipDynError(f"{name} is {values!r}; expected a list of {wanted}")
    found = tuple(values)
    for place, value in enumerate(found):
        if not isinstance(value, kind):
            raise ManipDynError(f"{name}[{place}] is {value!r}; expected {wanted}")
    return found


def check_names(names: Sequence[str]) -> None:
    """Refuse that there are none, or that two are the same."""
    if not names:
        raise ManipDynError("a mechanism has no bodies; expected at least one")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ManipDynError(f"two bodies are called '{min(twice)}'; expected different names")


def check_connected(names: Sequence[str], links: Sequence[Joint | Force]) -> None:
    """Refuse unknown bodies, and bodies that nothing connects with the others."""
    groups = {name: {name} for name in (*names, GROUND)}
    for link in links:
        for name in link.bodies:
            if name not in groups:
                raise ManipDynError(f"there is no body '{name}'{closest(str(name), groups)}")
        if link.bodies[0] == link.bodies[1]:
            raise ManipDynError(f"a joint or force connects '{link.bodies[0]}' with itself")
        union = groups[link.bodies[0]] | groups[link.bodies[1]]
        for name in union:
            groups[name] = union
    largest = max(groups.values(), key=len)
    apart = [name for name in names if name not in largest]
    if apart:
        raise ManipDynError(
            f"body '{apart[0]}' is not connected with '{next(n for n in names if n in largest)}'; "
            "expected joints or forces that connect all bodies"
        )


def check_shared_axes(joints: Sequence[Joint], forces: Sequence[Force]) -> None:
    """Refuse rotational springs about another axis than that of a revolute joint beside them."""
    for spring in forces:
        if not isinstance(spring, RotationalSpring):
            continue
        for joint in joints:
            beside = joint.kind == "revolute" and set(joint.bodies) == set(spring.bodies)
            if beside and np.linalg.norm(np.cross(joint.axis[0], spring.axis)) > _PARALLEL:
                raise ManipDynError(
                    f"the rotational spring {'-'.join(spring.bodies)} has the axis "
                    f"{spring.axis.tolist()}; expected {joint.axis[0].tolist()}, that of the "
                    f"joint '{joint.name}' between the same bodies"
                )
