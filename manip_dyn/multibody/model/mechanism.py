"""`Mechanism`: bodies, joints and forces, checked and converted to rows of primitives.

The constraints follow Haug (1989), section 9.4. A spherical joint consists of three point
primitives. A universal joint adds one dot-1 primitive, and a revolute joint adds two. A
translational joint consists of three dot-1 and two dot-2 primitives.
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
    Block,
    Partition,
    has_constant_rank,
    partition_blocks,
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
from manip_dyn.multibody.equations.sparse_system import sparse_system
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
    System,
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
from manip_dyn.multibody.model.topology import blocks_of

Pose = tuple[Vector, Vector]
"""Position (3,) and rotation (3, 3) of a body."""


class Row(NamedTuple):
    """A primitive and its vector r (12,), in body axes except for the global a_i of a point."""

    kind: int
    numbers: Vector


def joint_rows(joint: Joint, poses: Sequence[Pose]) -> list[Row]:
    """Return the primitives that a joint holds constant, for two body poses."""
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
    raise NotImplementedError(f"there are no constraints for a joint of kind '{joint.kind}'.")


def force_row(
    force: Spring | RotationalSpring | Tyre, poses: Sequence[Pose]
) -> tuple[int, Vector, Vector]:
    """Return the law of a force, its two vectors r (24,), and its constants (8,)."""
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
    """Return a description of the quantity that a joint row holds constant."""
    if row.kind == POINT:
        return f"position along {'xyz'[int(np.argmax(np.abs(row.numbers[:3])))]}"
    return {DOT_1: "direction", DOT_2: "displacement", DISTANCE: "distance"}[row.kind]


def distinct_names(names: Sequence[str]) -> list[str]:
    """Make names unique by adding numbers to repeated names."""
    count, results = Counter(names), list[str]()
    for name in names:
        number, new = 1, name
        while count[name] > 1 and (new in count or new in results):
            new, number = f"{name} ({number})", number + 1
        results.append(new)
    return results


def perpendicular_axes(h: Vector) -> tuple[Vector, Vector]:
    """Return two unit vectors f, g that form a right-handed frame f, g, h."""
    start = np.eye(3)[int(np.argmin(np.abs(h)))]
    f = np.cross(start, h)
    f = f / np.linalg.norm(f)
    return f, np.cross(h, f)


def _rows(poses: Sequence[Pose], points: Vector) -> Callable[..., Row]:
    """Return a function that creates a row from its kind and up to two global directions."""
    (p_i, rotation_i), (p_j, rotation_j) = poses

    def row(kind: int, first: Vector | None = None, second: Vector | None = None) -> Row:
        numbers = np.zeros(12)
        if first is not None:
            numbers[:3] = first if kind == POINT else rotation_i.T @ first
        if second is not None:
            numbers[3:6] = rotation_j.T @ second
        numbers[6:9] = rotation_i.T @ (points[0] - p_i)
        numbers[9:12] = rotation_j.T @ (points[1] - p_j)
        return Row(kind, numbers)

    return row


LARGE = 100
"""Number of constraints above which coordinates are partitioned block by block."""
TOLERANCE = 1e-12
"""Tolerance of the constraints, m, m^2 or dimensionless."""
VELOCITY_TOLERANCE = 1e-6
START_TOLERANCE = 1e-9
GROWING = 1e-3
"""Real part from which a mode counts as growing, 1/s. Free motions have the real part 0."""
_ALONG = {SPRING: DISTANCE, ROTATIONAL_SPRING: DOT_1, TYRE: POINT}
"""Primitives along which forces act, by force law."""


class Mechanism:
    """Bodies with 7 coordinates each, connected by joints and forces.

    Attributes:
        bodies: Bodies in the order of the coordinates.
        joints: Joints.
        forces: Forces.
        assembly: Coordinates (N,) for which the points and axes of joints and forces are defined.
        gravity: Acceleration of gravity (3,), m/s^2.
        size: Number of coordinates N.
        constraints: Number of independent constraints m, including one per body for its Euler
            parameters.
        redundant: Names of the redundant constraints.
        freedoms: Degrees of freedom n = N - m.
        partition: Partition of the coordinates at the start. It is that of all coordinates, or
            block by block if there are more than `LARGE` constraints; see `topology`.
        switches: Times at which forces are not smooth, s.
        q0: Initial coordinates (N,).
        v0: Initial rates of the coordinates (N,).
    """

    def __init__(
        self,
        bodies: Sequence[MovingBody],
        joints: Sequence[Joint] = (),
        forces: Sequence[Force] = (),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ):
        """Assemble and check the mechanism.

        Raises:
            ManipDynError: If bodies are unknown or not connected, the position is singular, no
                degree of freedom remains, the initial velocities violate the joints, or the axes
                of a rotational spring and of the revolute joint between its bodies differ.
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
            {time for force in self.forces if isinstance(force, Tyre) for time in force.switches}
        )
        self._rows()
        self._bodies_of_blocks = blocks_of(
            len(self.bodies),
            [tuple(pair) for pair in (self._table[: self._from_joints, 1:] // 7).tolist()],
        )
        self._blocks = self._partition_blocks()
        self._last_system: tuple[bytes, System] | None = None
        self.q0, self.v0 = self._start()
        self.assembly = self.q0
        gradients = self.gradients(self.q0)
        self.partition = self._assembled(gradients)
        self.constraints = len(self.partition.active)
        self.redundant = self.names_of(self.partition.redundant)
        self.freedoms = self.size - self.constraints
        if self.freedoms == 0:
            raise ManipDynError("Joints must leave at least one degree of freedom, got none.")
        self._check_velocities(gradients)

    def __repr__(self) -> str:
        """Return the numbers of bodies, coordinates, constraints and degrees of freedom."""
        more = f" and {len(self.redundant)} redundant" if self.redundant else ""
        return (
            f"Mechanism({len(self.bodies)} bodies, {self.size} coordinates, "
            f"{self.constraints} constraints{more}, {self.freedoms} degrees of freedom)"
        )

    def switches_between(self, start: float, end: float) -> list[float]:
        """Return the times of `switches` between two times, s.

        Raises:
            ManipDynError: If a time is not a finite number.
        """
        times = finite_vector("mechanism.switches", self.switches, len(self.switches))
        return times[(start < times) & (times < end)].tolist()

    def gradients(self, q: Vector) -> Matrix:
        """Return the gradients (k, N) of all constraints, including redundant ones, at q (N,)."""
        return self._evaluated(q)[1]

    def violations(self, q: Vector) -> Vector:
        """Return the violations (k,) of all constraints, including redundant ones, at q (N,).

        Their units are m, m^2 or 1, depending on the constraint.
        """
        return self._evaluated(q)[0] - self._targets

    def roles_at(self, q: Vector, weights: Vector | None = None) -> Partition | None:
        """Return the partition of coordinates and constraints at q (N,).

        The result is None in a singular position. Coordinates with small `weights` (N,) tend to be
        independent.
        """
        first = len(self.bodies) if self.redundant else 0
        gradients = self.gradients(q) if weights is None else self.gradients(q) * weights
        roles = partition_blocks(gradients, self._blocks, self.partition.ranks, first)
        return roles if len(roles.active) == self.constraints else None

    def names_of(self, rows: Vector) -> tuple[str, ...]:
        """Return the names of the constraints with these row indices."""
        return tuple(self._owners[row] + self._labels[row] for row in rows)

    def tables(self, q: Vector, roles: Partition, derivatives: bool = True) -> Tables:
        """Create the arrays of the compiled equations for coordinates q (N,) and a partition.

        Without `derivatives`, the arrays for the derivatives of the equations are empty.
        """
        n, m, size, b = self.freedoms, self.constraints, self.size, len(self.bodies)
        indices = np.full(size + 7, -1 - n)
        indices[roles.dependent] = np.arange(m)
        indices[roles.independent] = -1 - np.arange(n)
        user_forces = [force for force in self.forces if isinstance(force, UserForce)]
        laws = [
            (force, force_row(force, self._poses(force.bodies)))
            for force in self.forces
            if not isinstance(force, UserForce)
        ]
        rows = [
            (*self._starts(force.bodies), *kernel_addresses(_ALONG[row[0]]), row[0])
            for force, row in laws
        ]
        user_rows = [(*self._starts(force.bodies), 0, *force.addresses()) for force in user_forces]
        body_rows = [(7 * k, size, 0, *inertia_addresses()) for k in range(b)]
        links = Links(
            rows=self._link_rows(roles.active),
            numbers=self._numbers[roles.active],
            targets=self._targets[roles.active],
            dependent=roles.dependent.copy(),
            independent=roles.independent.copy(),
            roles=indices,
            slopes=np.zeros((m, SIZE)),
            bends=np.zeros((m, SIZE)),
            starts=np.cumsum([0, *roles.ranks]),
            factors=np.zeros((m, max(roles.ranks))),
            pivots=np.zeros(m),
            work=np.zeros(m),
            spare=np.zeros(m),
            ahead=np.zeros(m),
            before=np.zeros(n),
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
            angles=np.array([-getattr(force, "rest", 0.0) for force, _ in laws], np.float64),
            user_rows=np.array(user_rows, dtype=np.int64).reshape(-1, 5),
            time=np.zeros(1),
        )
        wide, tall, columns = (size, m, n) if derivatives else (0, 0, 0)
        loads = Loads(
            force=np.zeros(size),
            stiffness=np.zeros((wide, wide)),
            damping=np.zeros((wide, wide)),
            by_time=np.zeros(size),
        )
        reduced = Reduced(
            acceleration=np.zeros(n),
            basis=np.zeros((wide, columns)),
            mass_basis=np.zeros((wide, columns)),
            place=np.zeros((tall, columns)),
            carried=np.zeros((wide, columns)),
            rates=np.zeros(2 * n),
        )
        system = self._system(roles.active)
        return Tables(links, motion, bodies, forces, loads, reduced, system)

    def _system(self, active: np.ndarray) -> System:
        """Return the arrays of the sparse equations with these constraints."""
        key = active.tobytes()
        if self._last_system is None or self._last_system[0] != key:
            links = self._table[active, 1:]
            self._last_system = key, sparse_system(links, self._bodies_of_blocks, self.size)
        return self._last_system[1]

    def starting_at(self, q: Vector, v: Vector | None = None) -> Mechanism:
        """Return a copy with different initial coordinates q and rates v (N,). Default for v: 0.

        Raises:
            ManipDynError: If they violate the constraints, or if q is a singular position.
        """
        changed = copy.copy(self)
        changed.q0 = finite_vector("q", q, self.size)
        changed.v0 = np.zeros(self.size) if v is None else finite_vector("v", v, self.size)
        gap = np.abs(changed.violations(changed.q0)).max()
        if gap > START_TOLERANCE:
            raise ManipDynError(f"q must satisfy the constraints, got a violation of {gap:.3g}.")
        gradients = changed.gradients(changed.q0)
        changed._check_velocities(gradients)
        roles = changed.roles_at(changed.q0)
        if roles is None:
            raise ManipDynError("q must not be a singular position.")
        changed.partition, changed.redundant = roles, changed.names_of(roles.redundant)
        return changed

    def equilibrium(self, *, tolerance: float = 1e-9, t: float = 0.0) -> Equilibrium:
        """Search downhill from the start for an equilibrium.

        Args:
            tolerance: Largest remaining acceleration: m/s^2, or 1/s^2 for Euler parameters, which
                have no unit.
            t: Time for time-dependent forces, s.

        Raises:
            ManipDynError: If no equilibrium is found.
        """
        positive("tolerance", tolerance)
        point = find_equilibrium(self, tolerance, finite("t", t, "s"))
        return Equilibrium(self.starting_at(point.q), *point)

    # ------------------------------------------------------------------------- tables
    def _starts(self, names: Sequence[str]) -> tuple[int, int]:
        """Return the offsets of the coordinates of two bodies; the ground is last."""
        first, second = (
            self.size if name == GROUND else 7 * self._names.index(name) for name in names
        )
        return first, second

    def _poses(self, names: Sequence[str]) -> list[Pose]:
        ground = (np.zeros(3), np.eye(3))
        return [
            ground if name == GROUND else _pose(self.bodies[self._names.index(name)])
            for name in names
        ]

    def _rows(self) -> None:
        """Set the table of the constraints and their names."""
        table, numbers, owners, labels = [], [], [], []
        names = distinct_names([joint.name for joint in self.joints])
        for joint, name in zip(self.joints, names, strict=True):
            rows = joint_rows(joint, self._poses(joint.bodies))
            for row, label in zip(
                rows, distinct_names([constraint_label(row) for row in rows]), strict=True
            ):
                table.append((row.kind, *self._starts(joint.bodies)))
                numbers.append(row.numbers)
                owners.append(name)
                labels.append(f", {label}")
        self._from_joints = len(table)
        for k, name in enumerate(self._names):
            table.append((NORM, 7 * k, self.size))
            numbers.append(np.zeros(12))
            owners.append(f"Euler parameters of {name}")
            labels.append("")
        self._table, self._numbers = np.array(table, dtype=np.int64), np.array(numbers)
        self._owners, self._labels = owners, labels

    def _partition_blocks(self) -> list[Block]:
        """Return the blocks of the partition: those of the topology, or one for all bodies."""
        rows, columns = np.arange(len(self._table)), np.arange(self.size)
        if len(self._table) <= LARGE:
            return [Block(rows, columns)]
        owners = np.full(len(self.bodies) + 1, -1)
        for k, bodies in enumerate(self._bodies_of_blocks):
            owners[bodies] = k
        row_owners = owners[self._table[:, 1:] // 7].max(axis=1)
        return [
            Block(np.flatnonzero(row_owners == k), np.flatnonzero(owners[columns // 7] == k))
            for k in range(len(self._bodies_of_blocks))
        ]

    def _link_rows(self, indices: np.ndarray) -> np.ndarray:
        """Return rows of constraints (k, 5) with kernel addresses."""
        rows = [(*ij, *kernel_addresses(kind)) for kind, *ij in self._table[indices].tolist()]
        return np.array(rows, dtype=np.int64).reshape(-1, 5)

    def _start(self) -> tuple[Vector, Vector]:
        """Return coordinates and rates (N,) at assembly; store the values of the constraints."""
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
        """Return values (M,) and gradients (M, N) of all constraints."""
        wide, rest = np.concatenate([q, [0, 0, 0, 1.0, 0, 0, 0]]), np.zeros(SIZE)
        indices = (self._table[:, 1:, np.newaxis] + np.arange(7)).reshape(-1, SIZE)
        out, x = np.zeros((len(indices), 1 + SIZE)), wide[indices]
        for k, kind in enumerate(self._table[:, 0].tolist()):
            address = primitive_address(kind, 0)
            evaluate_kernel(address, x[k], rest, rest, self._numbers[k], out[k])
        values, gradients = out[:, 0], np.zeros((len(indices), self.size + 7))
        np.add.at(gradients, (np.arange(len(indices))[:, np.newaxis], indices), out[:, 1:])
        return values, gradients[:, : self.size]

    # ------------------------------------------------------------------------- checks
    def _assembled(self, gradients: Vector) -> Partition:
        """Return the partition at assembly; raise an error in a singular position."""
        ranks = [None] * len(self._blocks)
        roles = partition_blocks(gradients, self._blocks, ranks)
        if not roles.redundant.size:
            return roles
        roles = partition_blocks(gradients, self._blocks, ranks, len(self.bodies))
        if not has_constant_rank(
            lambda q: (self.violations(q), self.gradients(q)), self.q0, roles
        ):
            names = self._dependent_joints(gradients, roles.redundant.size)
            raise ManipDynError(
                "Assembly must not be a singular position: the constraints of "
                f"{', '.join(names)} depend on each other here but not at positions near it."
            )
        return roles

    def _dependent_joints(self, gradients: Vector, count: int) -> list[str]:
        """Return the joints with linearly dependent gradients, from the left null space."""
        space = np.linalg.svd(gradients)[0][:, -count:]
        rows = np.flatnonzero(np.abs(space).max(axis=1) > RANK_TOLERANCE)
        return list(dict.fromkeys(self._owners[row] for row in rows if row < self._from_joints))

    def _check_velocities(self, gradients: Vector) -> None:
        slip = np.abs(gradients @ self.v0)
        if slip.max() > VELOCITY_TOLERANCE * max(1.0, np.abs(self.v0).max()):
            raise ManipDynError(
                "Initial velocities must satisfy the joints, got a violation of "
                f"{self._owners[int(np.argmax(slip))]} by {slip.max():.3g} per s."
            )


def _pose(body: MovingBody) -> Pose:
    return body.position, body.rotation


class Equilibrium(NamedTuple):
    """An equilibrium of a mechanism.

    Attributes:
        mechanism: The mechanism at rest in the equilibrium. Rotational springs still measure their
            angles from the assembly, but without full turns.
        q: Coordinates (N,).
        acceleration: Largest acceleration of an independent coordinate: m/s^2, or 1/s^2 for an
            Euler parameter.
        iterations: Number of iterations.
        eigenvalues: Eigenvalues (2 n,) of the linearization, 1/s.
    """

    mechanism: Mechanism
    q: Vector
    acceleration: float
    iterations: int
    eigenvalues: np.ndarray

    @property
    def stable(self) -> bool:
        """Whether no mode of the linearization grows."""
        return bool(self.eigenvalues.real.max() < GROWING)
