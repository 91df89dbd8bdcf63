"""Arrays of a mechanism's compiled equations, stored in one memory.

A mechanism has b bodies, N = 7 b coordinates, m independent constraints and n = N - m degrees of
freedom. The arrays are divided into groups. `Memory` stores all of them in two arrays and a
layout, and a compiled function opens the groups that it uses. Functions with one argument of seven
or more words for each array would be slow to compile and to call.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from manip_dyn.core.arrays import Matrix, Vector, array_at, array_types
from manip_dyn.core.compiled import PLAIN

Matrices = Annotated[np.ndarray, types.float64[:, :, ::1]]
Indices = Annotated[np.ndarray, types.int64[::1]]
Rows = Annotated[np.ndarray, types.int64[:, ::1]]
Offsets = Annotated[np.ndarray, types.uint64[::1]]
"""Indices without a sign. Compiled loops over sparse matrices take half the time, because they do
not test whether an index counts from the end."""

FIRST, SECOND, KERNEL, LAW = 0, 1, 2, 5
"""Columns of a row for two bodies: offsets of their coordinates in q, v and a (ground last);
kernel addresses of orders 0, 1 and 2, starting at KERNEL; and the law of a force."""
VALUES, DERIVATIVES = 1, 2
"""Kernel orders: without and with derivatives with respect to the motion."""
SPRING, ROTATIONAL_SPRING, TYRE = range(3)
"""Laws of forces along a scalar x(q)."""
ASSEMBLED = 1
"""Value of ``Links.flags[0]`` if the factors belong to the current positions."""


class Links(NamedTuple):
    """Arrays of the constraints.

    Attributes:
        rows: Bodies and kernels of each constraint (m, 5), indexed by `FIRST` and following
            constants.
        numbers: Vector r of each constraint (m, 12).
        targets: Constant values of the constraints (m,).
        dependent: Indices of the dependent coordinates (m,).
        independent: Indices of the independent coordinates (n,).
        roles: For each coordinate (N + 7,), its index k among the dependent coordinates, or -1 - k
            for the index k among the independent ones. The ground is last.
        slopes: Gradients (m, 14) of the constraints with respect to their two bodies.
        bends: Rates of the gradients (m, 14).
        starts: Index of the first constraint and dependent coordinate of each block, and m.
        factors: LU factors (m, w) of the diagonal blocks of the gradients with respect to the
            dependent coordinates; w is the size of the largest block.
        pivots: Row exchanges of the factors (m,), within each block.
        work: Scratch (m,).
        spare: Scratch (m,).
        ahead: Scratch (m,).
        before: Scratch (n,).
        flags: ASSEMBLED or 0, and the number of iterations (2,).
        limits: Tolerance of the constraints, and condition number at the start of the current
            partition (2,).
        extra_rows: `rows` of the redundant constraints (k, 5).
        extra_numbers: `numbers` of the redundant constraints (k, 12).
        extra_targets: `targets` of the redundant constraints (k,).
    """

    rows: Rows
    numbers: Matrix
    targets: Vector
    dependent: Indices
    independent: Indices
    roles: Indices
    slopes: Matrix
    bends: Matrix
    starts: Indices
    factors: Matrix
    pivots: Vector
    work: Vector
    spare: Vector
    ahead: Vector
    before: Vector
    flags: Indices
    limits: Vector
    extra_rows: Rows
    extra_numbers: Matrix
    extra_targets: Vector


class Motion(NamedTuple):
    """Coordinates of all bodies, with those of the ground last, and outputs of kernels.

    Attributes:
        q: Positions (N + 7,).
        v: Velocities (N + 7,).
        a: Accelerations (N + 7,).
        result: Output of a kernel (420,).
        across: Output of a second kernel (239,).
    """

    q: Vector
    v: Vector
    a: Vector
    result: Vector
    across: Vector


class Bodies(NamedTuple):
    """Arrays of the inertia of the bodies.

    Attributes:
        rows: Kernels of each body (b, 5).
        mass: Masses (b,), kg.
        inertia: Moments of inertia (b, 6) about the centres of mass in body axes, kg m^2: ixx,
            iyy, izz, ixy, ixz, iyz.
        turning: Mass matrices of the Euler parameters (b, 4, 4).
        gravity: Acceleration of gravity (3,), m/s^2.
    """

    rows: Rows
    mass: Vector
    inertia: Matrix
    turning: Matrices
    gravity: Vector


class Forces(NamedTuple):
    """Arrays of the forces on the bodies.

    Attributes:
        rows: Bodies, kernels and law of each force (f, 6).
        numbers: Vector r of each force, and a second vector for angles (f, 24).
        constants: Constants of the laws (f, 8).
        angles: Deflections (f,) of rotational springs at the end of the last step, rad.
        user_rows: Bodies and kernels of each `UserForce` (u, 5).
        time: Time for user forces (1,), s.
    """

    rows: Rows
    numbers: Matrix
    constants: Matrix
    angles: Vector
    user_rows: Rows
    time: Vector


class Loads(NamedTuple):
    """Generalized forces minus inertial forces, and their derivatives.

    Attributes:
        force: Generalized forces (N,).
        stiffness: Negative derivatives (N, N) with respect to the positions; (0, 0) without
            derivatives.
        damping: Negative derivatives (N, N) with respect to the velocities; (0, 0) without
            derivatives.
        by_time: Derivatives (N,) with respect to time.
    """

    force: Vector
    stiffness: Matrix
    damping: Matrix
    by_time: Vector


class Reduced(NamedTuple):
    """Arrays of the equations of the independent coordinates.

    All arrays except `acceleration` are empty in memory without derivatives.

    Attributes:
        acceleration: Accelerations of the independent coordinates (n,).
        basis: Derivatives (N, n) of all velocities with respect to the independent ones.
        mass_basis: Product of M and the basis (N, n).
        place: Scratch (m, n).
        carried: Scratch (N, n).
        rates: Scratch (2 n,).
    """

    acceleration: Vector
    basis: Matrix
    mass_basis: Matrix
    place: Matrix
    carried: Matrix
    rates: Vector


class System(NamedTuple):
    """Sparse LDL^T factors of the equations of all accelerations and multipliers.

    The N + m unknowns are in elimination order. L has k entries below its diagonal.

    Attributes:
        order: Position of each coordinate and of each multiplier (N + m,).
        mass_slots: Entries of L for the six products of the Euler parameters of each body (b, 6).
        link_slots: Entries of L for the gradients (m, 14); -1 for the ground.
        columns: Index of the first entry of each column of L, and k (N + m + 1,).
        column_rows: Row of each entry (k,), by columns.
        rows: Index of the first entry of each row of L, and k (N + m + 1,).
        row_columns: Column of each entry (k,), by rows.
        row_slots: Index (k,) by columns of each entry by rows.
        lower: Entries of L (k,), by columns.
        diagonal: Diagonal (N + m,), and its inverse after the factorization.
        x: Right-hand side and solution (N + m,).
        line: Scratch (N + m,).
    """

    order: Offsets
    mass_slots: Rows
    link_slots: Rows
    columns: Offsets
    column_rows: Offsets
    rows: Offsets
    row_columns: Offsets
    row_slots: Offsets
    lower: Vector
    diagonal: Vector
    x: Vector
    line: Vector


class Tables(NamedTuple):
    """All arrays of a mechanism."""

    links: Links
    motion: Motion
    bodies: Bodies
    forces: Forces
    loads: Loads
    reduced: Reduced
    system: System


Group = TypeVar("Group", bound=tuple)
AXES = 3
"""Maximum number of axes of an array."""


class Memory(NamedTuple):
    """All arrays of a mechanism in two arrays and a layout.

    Attributes:
        layout: Offset and shape, padded with 1, of each array (k, 4).
        numbers: Memory of the floating-point arrays.
        integers: Memory of the integer arrays.
    """

    layout: np.ndarray
    numbers: np.ndarray
    integers: np.ndarray

    @property
    def tables(self) -> Tables:
        """The arrays by name, as views of this memory."""
        return Tables(*map(self.group, GROUPS))

    def group(self, kind: type[Group]) -> Group:
        """Return one group of `Tables` by type."""
        return kind(*(self.array(kind, name) for name in kind._fields))  # type: ignore[attr-defined]

    def array(self, kind: type[tuple], name: str) -> np.ndarray:
        """Return one array, such as ``array(Links, "limits")``, which is faster than `group`."""
        index = kind._fields.index(name)  # type: ignore[attr-defined]
        array_kind = array_types(kind)[index]
        first, *extents = self.layout[_arrays_before(kind) + index].tolist()
        memory = self.numbers if array_kind.dtype == types.float64 else self.integers
        flat = memory[first : first + prod(extents)]
        return flat if array_kind.ndim == 1 else flat.reshape(extents[: array_kind.ndim])


def memory_with(tables: Tables) -> Memory:
    """Return new memory with copies of these arrays."""
    layout: list[tuple[int, ...]] = []
    numbers: list[np.ndarray] = []
    integers: list[np.ndarray] = []
    sizes = {np.dtype(np.float64): 0, np.dtype(np.int64): 0}
    for array in (member for group in tables for member in group):
        layout.append((sizes[array.dtype], *array.shape, *(1,) * (AXES - array.ndim)))
        sizes[array.dtype] += array.size
        (numbers if array.dtype == np.float64 else integers).append(array.ravel())
    return Memory(np.array(layout), np.concatenate(numbers), np.concatenate(integers))


GROUPS = tuple(get_type_hints(Tables).values())


@cache
def _arrays_before(group: Any) -> int:
    """Return the number of arrays before those of a group."""
    return sum(len(array_types(member)) for member in GROUPS[: GROUPS.index(group)])


def _group_reader(group: Any) -> Any:
    """Return a function that returns the arrays of a group in a memory."""
    kinds = array_types(group)
    before = _arrays_before(group)
    whole = types.NamedTuple(kinds, group)

    def plain(memory):
        return memory.group(group)

    @intrinsic
    def opened(_context, memory):
        def generate(context, builder, signature, values):
            layout, numbers, integers = (
                cgutils.create_struct_proxy(kind)(
                    context, builder, builder.extract_value(values[0], k)
                )
                for k, kind in enumerate(signature.args[0].types)
            )

            def entry(row, column):
                index = context.get_constant(types.intp, (AXES + 1) * row + column)
                return builder.load(builder.gep(layout.data, [index]))

            arrays = []
            for row, kind in enumerate(kinds, start=before):
                memory = numbers if kind.dtype == types.float64 else integers
                data = builder.gep(memory.data, [entry(row, 0)])
                shape = [entry(row, 1 + axis) for axis in range(kind.ndim)]
                arrays.append(array_at(context, builder, kind, data, shape))
            return context.make_tuple(builder, whole, arrays)

        return whole(memory), generate

    return plain if PLAIN else opened


links_of, motion_of, bodies_of, forces_of, loads_of, reduced_of, system_of = map(
    _group_reader, GROUPS
)
"""``links_of(memory)`` and the others return a group of arrays, even in compiled code."""
