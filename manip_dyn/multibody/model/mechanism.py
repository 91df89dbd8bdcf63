"""`Mechanism`: bodies, joints and forces, checked and translated into rows of primitives.

Haug (1989), section 9.4: a spherical joint consists of three points, a universal joint adds a
dot-1, a revolute joint two, and a translational joint consists of three dot-1 and two dot-2.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector, finite, finite_vector, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody.equations.forces import USER_RESULT, UserForce
from manip_dyn.multibody.equations.partition import (
    RANK_TOLERANCE,
    Partition,
    has_constant_rank,
    partition,
)
from manip_dyn.multibody.equations.primitives import (
    DISTANCE,
    DOT_1,
    DOT_2,
    NORM,
    POINT,
    RESULT,
    SIZE,
    evaluate_kernel,
    inertia_addresses,
    kernel_addresses,
    primitive_address,
)
from manip_dyn.multibody.equations.tables import (
    ROTATIONAL_SPRING,
    SPRING,
    TYRE,
    Bodies,
    Forces,
    Links,
    Loads,
    Motion,
    Reduced,
    Tables,
)
from manip_dyn.multibody.model.elements import (
    GROUND,
    Force,
    Joint,
    MovingBody,
    RotationalSpring,
    Spring,
    Tyre,
    check_connected,
    check_names,
    check_shared_axes,
    checked_elements,
)
from manip_dyn.multibody.model.linearization import find_equilibrium

Pose = tuple[Vector, Vector]
"""Position (3,) and rotation (3, 3) of a body."""


class Row(NamedTuple):
    """A primitive and what it is about: r (12,) in body axes, or global for a point's a_i."""

    kind: int
    numbers: Vector


def joint_rows(joint: Joint, poses: Sequence[Pose]) -> list[Row]:
    """Return the primitives that a joint between bodies with two poses keeps constant."""
    row = _rows(poses, joint.points)
    points = [row(POINT, unit) for unit in np.eye(3)]
    if joint.kind == "spherical":
        return points
    if joint.kind == "distance":
        return [row(DISTANCE)]
    if joint.kind == "component":
        return [row(DOT_2, joint.axis[0])]
    if joint.kind == "universal":
        return [*points, row(DOT_1, joint.axis[0], joint.axis[1])]
    h = joint.axis[0] if joint.axis is not None else np.array([0.0, 0.0, 1.0])
    f, g = perpendicular_axes(h)
    parallel = [row(DOT_1, f, h), row(DOT_1, g, h)]
    if joint.kind == "revolute":
        return [*points, *parallel]
    still = row(DOT_1, f, g)
    if joint.kind == "fixed":
        return [*points, *parallel, still]
    if joint.kind == "translational":
        return [*parallel, still, row(DOT_2, f), row(DOT_2, g)]
    raise NotImplementedError(f"there are no constraints for a joint of kind '{joint.kind}'")


def force_row(
    force: Spring | RotationalSpring | Tyre, poses: Sequence[Pose]
) -> tuple[int, Vector, Vector]:
    """Return the law of a force, r and second r (24,), and the law's constants (8,)."""
    constants = np.zeros(8)
    if isinstance(force, Spring):
        straight = _rows(poses, force.points)(DISTANCE)
        constants[:4] = force.stiffness, force.damping, force.length, force.force
        return SPRING, np.concatenate([straight.numbers, np.zeros(12)]), constants
    if isinstance(force, RotationalSpring):
        f, g = perpendicular_axes(force.axis)
        c, s = np.cos(force.rest), np.sin(force.rest)
        row = _rows(poses, np.zeros((2, 3)))
        along, across_it = row(DOT_1, c * f + s * g, f), row(DOT_1, c * g - s * f, f)
        constants[:4] = force.stiffness, force.damping, 0.0, force.force
        numbers = np.concatenate([along.numbers, across_it.numbers])
        return ROTATIONAL_SPRING, numbers, constants
    ends = np.array([np.zeros(3), force.point])
    upward = _rows(poses, ends)(POINT, np.array([0.0, 0.0, 1.0]))
    constants[:3] = force.stiffness, force.damping, force.radius
    constants[4:] = force.radius, force.bump, force.speed, force.hit
    return TYRE, np.concatenate([upward.numbers, np.zeros(12)]), constants


def constraint_label(row: Row) -> str:
    """Return what a row of a joint keeps, in words."""
    if row.kind == POINT:
        return f"position along {'xyz'[int(np.argmax(np.abs(row.numbers[:3])))]}"
    return {DOT_1: "direction", DOT_2: "displacement", DISTANCE: "distance"}[row.kind]


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names of which no two are alike: those that stand several times get a number."""
    count, made = Counter(names), list[str]()
    for name in names:
        number, new = 1, name
        while count[name] > 1 and (new in count or new in made):
            new, number = f"{name} ({number})", number + 1
        made.append(new)
    return made


def perpendicular_axes(h: Vector) -> tuple[Vector, Vector]:
    """Return two unit vectors that make a right-handed frame f, g, h."""
    start = np.eye(3)[int(np.argmin(np.abs(h)))]
    f = np.cross(start, h)
    f = f / np.linalg.norm(f)
    return f, np.cross(h, f)


def _rows(poses: Sequence[Pose], points: Vector) -> Callable[..., Row]:
    """Return what makes a row of a kind and up to two global directions, at two points."""
    (p_i, turn_i), (p_j, turn_j) = poses

    def row(kind: int, first: Vector | None = None, second: Vector | None = None) -> Row:
        numbers = np.zeros(12)
        if first is not None:
            numbers[:3] = first if kind == POINT else turn_i.T @ first
        if second is not None:
            numbers[3:6] = turn_j.T @ second
        numbers[6:9] = turn_i.T @ (points[0] - p_i)
        numbers[9:12] = turn_j.T @ (points[1] - p_j)
        return Row(kind, numbers)

    return row


TOLERANCE = 1e-12
"""What the constraints are kept to, m or m^2 or without unit."""
VELOCITY_TOLERANCE = 1e-6
START_TOLERANCE = 1e-9
GROWING = 1e-3
"""Real part of an eigenvalue, 1/s, above which a motion grows: those of free motions are 0."""
_ALONG = {SPRING: DISTANCE, ROTATIONAL_SPRING: DOT_1, TYRE: POINT}
"""Law of a force -> the primitive that it acts along."""


class Mechanism:
    """Bodies that joints hold together and forces act on, each in 7 coordinates.

    Attributes:
        bodies: In the order of the coordinates.
        joints: As given.
        forces: As given.
        assembly: Coordinates (N,) as given, to which points and axes of joints and forces belong.
        gravity: m/s^2, (3,).
        size: Number of coordinates N.
        constraints: Number of independent constraints m, one for each body's Euler parameters
            among them.
        redundant: Constraints that follow from these and were left out at the assembly, by name.
        freedoms: N - m.
        partition: The coordinates' roles as assembled.
        switches: Times at which forces jump in their slopes, s.
    """

    def __init__(
        self,
        bodies: Sequence[MovingBody],
        joints: Sequence[Joint] = (),
        forces: Sequence[Force] = (),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ):
        """Check that it fits together.

        Raises:
            ManipDynError: For unknown or unconnected bodies, a singular position, no freedom
                left, initial velocities that the joints do not allow, a rotational spring about
                another axis than a revolute joint between its bodies.
        """
        self.bodies = checked_elements("bodies", bodies, MovingBody)
        self.joints = checked_elements("joints", joints, Joint)
        self.forces = checked_elements("forces", forces, Force)
        self.gravity = finite_vector("gravity", gravity, 3)
        self._names = [body.name for body in self.bodies]
        check_names(self._names)
        check_connected(self._names, [*self.joints, *self.forces])
        check_shared_axes(self.joints, self.forces)
        self.size = 7 * len(self.bodies)
        self.switches = sorted(
            {time for each in self.forces if isinstance(each, Tyre) for time in each.switches}
        )
        self._rows()
        self.q0, self.v0 = self._start()
        self.assembly = self.q0
        gradients = self.gradients(self.q0)
        self.partition = self._assembled(gradients)
        self.constraints = len(self.partition.kept)
        self.redundant = self.names_of(self.partition.redundant)
        self.freedoms = self.size - self.constraints
        if self.freedoms == 0:
            raise ManipDynError("the joints leave no freedom; expected a mechanism that moves")
        self._check_velocities(gradients)

    def __repr__(self) -> str:
        """Return the counts."""
        more = f" and {len(self.redundant)} redundant" if self.redundant else ""
        return (
            f"Mechanism({len(self.bodies)} bodies, {self.size} coordinates, "
            f"{self.constraints} constraints{more}, {self.freedoms} degrees of freedom)"
        )

    def gradients(self, q: Vector) -> Matrix:
        """Return the gradients (M, N) of all constraints, redundant ones too, at q (N,)."""
        return self._evaluated(q)[1]

    def violations(self, q: Vector) -> Vector:
        """Return by how much all constraints (M,) are violated at q (N,)."""
        return self._evaluated(q)[0] - self._targets

    def roles_at(self, q: Vector) -> Partition | None:
        """Return the coordinates' roles at q (N,), and which constraints are left out there.

        None in a singular position.
        """
        kept_first = len(self.bodies) if self.redundant else 0
        roles = partition(self.gradients(q), self.constraints, kept_first)
        return roles if len(roles.kept) == self.constraints else None

    def names_of(self, rows: Vector) -> tuple[str, ...]:
        """Return the constraints of some rows by their joint and what it keeps."""
        return tuple(self._owners[row] + self._kept[row] for row in rows)

    def tables(self, q: Vector, roles: Partition) -> Tables:
        """Return new arrays for the compiled equations, with positions q (N,) and a partition."""
        n, m, size, b = self.freedoms, self.constraints, self.size, len(self.bodies)
        places = np.full(size + 7, -1 - n)
        places[roles.dependent] = np.arange(m)
        places[roles.independent] = -1 - np.arange(n)
        own = [each for each in self.forces if isinstance(each, UserForce)]
        laws = [
            (each, force_row(each, self._poses(each.bodies, self.q0)))
            for each in self.forces
            if not isinstance(each, UserForce)
        ]
        rows = [
            (*self._starts(each.bodies), *kernel_addresses(_ALONG[row[0]]), row[0])
            for each, row in laws
        ]
        own_rows = [(*self._starts(each.bodies), 0, *each.addresses()) for each in own]
        body_rows = [(7 * k, size, 0, *inertia_addresses()) for k in range(b)]
        links = Links(
            rows=self._link_rows(roles.kept),
            numbers=self._numbers[roles.kept],
            targets=self._targets[roles.kept],
            dependent=roles.dependent.copy(),
            independent=roles.independent.copy(),
            roles=places,
            slopes=np.zeros((m, SIZE)),
            bends=np.zeros((m, SIZE)),
            factors=np.zeros((m, m)),
            pivots=np.zeros(m),
            work=np.zeros(m),
            spare=np.zeros(m),
            flags=np.zeros(2, dtype=np.int64),
            limits=np.array([TOLERANCE, np.inf]),
            extra_rows=self._link_rows(roles.redundant),
            extra_numbers=self._numbers[roles.redundant],
            extra_targets=self._targets[roles.redundant],
        )
        motion = Motion(
            q=np.concatenate([q, [0, 0, 0, 1.0, 0, 0, 0]]),
            v=np.zeros(size + 7),
            a=np.zeros(size + 7),
            result=np.zeros(max(RESULT, USER_RESULT)),
            across=np.zeros(RESULT),
        )
        bodies = Bodies(
            rows=np.array(body_rows, dtype=np.int64),
            mass=np.array([float(body.mass) for body in self.bodies]),
            inertia=np.array([body.inertia for body in self.bodies]),
            turning=np.zeros((b, 4, 4)),
            gravity=self.gravity,
        )
        forces = Forces(
            rows=np.array(rows, dtype=np.int64).reshape(-1, 6),
            numbers=np.array([row[1] for _, row in laws]).reshape(-1, 24),
            constants=np.array([row[2] for _, row in laws]).reshape(-1, 8),
            angles=np.array([-getattr(each, "rest", 0.0) for each, _ in laws], np.float64),
            user_rows=np.array(own_rows, dtype=np.int64).reshape(-1, 5),
            time=np.zeros(1),
        )
        loads = Loads(
            force=np.zeros(size),
            stiffness=np.zeros((size, size)),
            damping=np.zeros((size, size)),
            by_time=np.zeros(size),
        )
        reduced = Reduced(
            basis=np.zeros((size, n)),
            mass_basis=np.zeros((size, n)),
            matrix=np.zeros((n, n)),
            factors=np.zeros((n, n)),
            pivots=np.zeros(n),
            acceleration=np.zeros(n),
            held=np.zeros((size, 1)),
            moved=np.zeros((size, 1)),
            place=np.zeros((m, n)),
            carried=np.zeros((size, n)),
            rates=np.zeros(2 * n),
        )
        return Tables(links, motion, bodies, forces, loads, reduced)

    def starting_at(self, q: Vector, v: Vector | None = None) -> Mechanism:
        """Return the same mechanism with another start: positions and velocities (N,)."""
        changed = copy.copy(self)
        changed.q0 = finite_vector("q", q, self.size)
        changed.v0 = np.zeros(self.size) if v is None else finite_vector("v", v, self.size)
        gap = np.abs(changed.violations(changed.q0)).max()
        if gap > START_TOLERANCE:
            raise ManipDynError(f"the start violates a constraint by {gap:.3g}; expected none")
        gradients = changed.gradients(changed.q0)
        changed._check_velocities(gradients)
        roles = changed.roles_at(changed.q0)
        if roles is None:
            raise ManipDynError("the start is a singular position; expected another one")
        changed.partition, changed.redundant = roles, changed.names_of(roles.redundant)
        return changed

    def equilibrium(self, *, tolerance: float = 1e-9, t: float = 0.0) -> Equilibrium:
        """Return an equilibrium, downhill of where the mechanism starts.

        Args:
            tolerance: Largest acceleration that is left, m/s^2 or 1/s^2.
            t: When, for forces that depend on time, s.

        Raises:
            ManipDynError: If none is found, since nothing holds the mechanism on its way.
        """
        positive("tolerance", tolerance)
        found = find_equilibrium(self, tolerance, finite("t", t, "s"))
        return Equilibrium(self.starting_at(found.q), *found)

    # ------------------------------------------------------------------------- tables
    def _starts(self, names: Sequence[str]) -> tuple[int, int]:
        """Return where the coordinates of two bodies begin, the ground's behind all others."""
        first, second = (
            self.size if name == GROUND else 7 * self._names.index(name) for name in names
        )
        return first, second

    def _poses(self, names: Sequence[str], q: Vector) -> list[Pose]:
        still = (np.zeros(3), np.eye(3))
        return [
            still if name == GROUND else _pose(self.bodies[self._names.index(name)])
            for name in names
        ]

    def _rows(self) -> None:
        """Fill the constraints' table, and whose each row is."""
        table, numbers, owners, kept = [], [], [], []
        names = distinct_names([each.name for each in self.joints])
        for joint, name in zip(self.joints, names, strict=True):
            rows = joint_rows(joint, self._poses(joint.bodies, np.zeros(0)))
            for row, words in zip(
                rows, distinct_names([constraint_label(row) for row in rows]), strict=True
            ):
                table.append((row.kind, *self._starts(joint.bodies)))
                numbers.append(row.numbers)
                owners.append(name)
                kept.append(f", {words}")
        self._from_joints = len(table)
        for place, name in enumerate(self._names):
            table.append((NORM, 7 * place, self.size))
            numbers.append(np.zeros(12))
            owners.append(f"Euler parameters of {name}")
            kept.append("")
        self._table, self._numbers = np.array(table, dtype=np.int64), np.array(numbers)
        self._owners, self._kept = owners, kept

    def _link_rows(self, places: np.ndarray) -> np.ndarray:
        """Return rows of constraints (k, 5) with the addresses of their kernels."""
        found = [(*ij, *kernel_addresses(kind)) for kind, *ij in self._table[places].tolist()]
        return np.array(found, dtype=np.int64).reshape(-1, 5)

    def _start(self) -> tuple[Vector, Vector]:
        """Return positions and velocities (N,), and keep what the constraints are now."""
        q, v = np.zeros(self.size), np.zeros(self.size)
        for k, body in enumerate(self.bodies):
            e = body.orientation
            q[7 * k : 7 * k + 7] = np.concatenate([body.position, e])
            spin = body.rotation.T @ body.angular_velocity
            w, x, y, z = e
            lever = np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
            v[7 * k : 7 * k + 7] = np.concatenate([body.velocity, 0.5 * lever.T @ spin])
        self._targets = self._evaluated(q)[0]
        return q, v

    def _evaluated(self, q: Vector) -> tuple[Vector, Vector]:
        """Return the constraints' values (m,) and gradients (m, N)."""
        out, still = np.zeros(1 + SIZE), np.zeros(SIZE)
        wide = np.concatenate([q, [0, 0, 0, 1.0, 0, 0, 0]])
        values = np.zeros(len(self._table))
        gradients = np.zeros((len(self._table), self.size + 7))
        for k, (kind, i, j) in enumerate(self._table.tolist()):
            x = np.concatenate([wide[i : i + 7], wide[j : j + 7]])
            evaluate_kernel(primitive_address(kind, 0), x, still, still, self._numbers[k], out)
            values[k] = out[0]
            gradients[k, i : i + 7] += out[1:8]
            gradients[k, j : j + 7] += out[8:]
        return values, gradients[:, : self.size]

    # ------------------------------------------------------------------------- checks
    def _assembled(self, gradients: Vector) -> Partition:
        """Return the roles at the assembly; refuse a singular position."""
        roles = partition(gradients)
        if not roles.redundant.size:
            return roles
        roles = partition(gradients, first=len(self.bodies))
        if not has_constant_rank(
            lambda q: (self.violations(q), self.gradients(q)), self.q0, roles
        ):
            names = self._dependent_joints(gradients, roles.redundant.size)
            raise ManipDynError(
                f"the mechanism is in a singular position: see {', '.join(names)}, whose "
                "constraints depend on each other here but not beside it; expected a position "
                "from which it moves in one way"
            )
        return roles

    def _dependent_joints(self, gradients: Vector, count: int) -> list[str]:
        """Return the joints whose gradients add up to nothing, from the left null space."""
        space = np.linalg.svd(gradients)[0][:, -count:]
        rows = np.flatnonzero(np.abs(space).max(axis=1) > RANK_TOLERANCE)
        return list(dict.fromkeys(self._owners[row] for row in rows if row < self._from_joints))

    def _check_velocities(self, gradients: Vector) -> None:
        slip = np.abs(gradients @ self.v0)
        if slip.max() > VELOCITY_TOLERANCE * max(1.0, np.abs(self.v0).max()):
            raise ManipDynError(
                f"the initial velocities violate {self._owners[int(np.argmax(slip))]} by "
                f"{slip.max():.3g} per s; expected velocities that the joints allow"
            )


def _pose(body: MovingBody) -> Pose:
    return body.position, body.rotation


class Equilibrium(NamedTuple):
    """Where a mechanism stays at rest.

    Attributes:
        mechanism: The mechanism that starts there at rest; rotational springs count their turns
            from its assembly still, the nearest one.
        q: Its coordinates (N,).
        acceleration: Largest acceleration of an independent coordinate, m/s^2 or 1/s^2.
        iterations: How many it took.
        eigenvalues: Of the linear motion about it (2 n,), 1/s.
    """

    mechanism: Mechanism
    q: Vector
    acceleration: float
    iterations: int
    eigenvalues: np.ndarray

    @property
    def stable(self) -> bool:
        """Whether no motion about it grows."""
        return bool(self.eigenvalues.real.max() < GROWING)
