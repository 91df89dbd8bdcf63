"""Arrays that a mechanism's compiled equations read and write, in one memory.

A mechanism has b bodies, N = 7 b coordinates, m independent constraints and n = N - m degrees of
freedom. The arrays are in groups. `Memory` stores all of them in two arrays and a layout, and a
compiled function opens the groups that it uses: passing 45 arrays, each of seven words and more,
from function to function would take long to compile and to call.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.core.compiled import PLAIN

Vector = Annotated[np.ndarray, types.float64[::1]]
Matrix = Annotated[np.ndarray, types.float64[:, ::1]]
Matrices = Annotated[np.ndarray, types.float64[:, :, ::1]]
Places = Annotated[np.ndarray, types.int64[::1]]
Rows = Annotated[np.ndarray, types.int64[:, ::1]]

FIRST, SECOND, KERNEL, LAW = 0, 1, 2, 5
"""Columns of a row about two bodies: where their coordinates begin in q, v and a, those of the
ground behind all others; from KERNEL on the addresses of its kernels of order 0, 1 and 2; the law
of a force."""
VALUES, DERIVATIVES = 1, 2
"""Orders of kernels: of which derivatives by the motion are written, or are not."""
SPRING, ROTATIONAL_SPRING, TYRE = range(3)
"""Laws of forces along a scalar x(q)."""
ASSEMBLED = 1
"""In `Links.flags[0]`: the factors belong to the present positions."""


class Links(NamedTuple):
    """The constraints.

    Attributes:
        rows: Bodies and kernels of each (m, 5), see `FIRST`.
        numbers: r of each (m, 12).
        targets: The value that each keeps (m,).
        dependent: Which coordinates follow (m,).
        independent: Which lead (n,).
        roles: Of each coordinate (N + 7,): its place k among the dependent ones, or -1 - k among
            the others, the ground's beyond those.
        slopes: Gradients of the constraints by their two bodies' coordinates (m, 14).
        bends: Their rates (m, 14).
        factors: LU factors of the gradients by the dependent coordinates (m, m).
        pivots: Row exchanges of that (m,).
        work: Scratch (m,).
        spare: More of it (m,).
        flags: Whether ASSEMBLED; iterations.
        limits: Tolerance of the constraints, condition number of the present partition.
        extra_rows: As `rows`, of constraints that follow from these (k, 5).
        extra_numbers: (k, 12).
        extra_targets: (k,).
    """

    rows: Rows
    numbers: Matrix
    targets: Vector
    dependent: Places
    independent: Places
    roles: Places
    slopes: Matrix
    bends: Matrix
    factors: Matrix
    pivots: Vector
    work: Vector
    spare: Vector
    flags: Places
    limits: Vector
    extra_rows: Rows
    extra_numbers: Matrix
    extra_targets: Vector


class Motion(NamedTuple):
    """All coordinates, the ground's last.

    Attributes:
        q: Positions (N + 7,).
        v: Velocities (N + 7,).
        a: Accelerations (N + 7,).
        result: What a kernel wrote (420,).
        across: What a second one wrote (239,).
    """

    q: Vector
    v: Vector
    a: Vector
    result: Vector
    across: Vector


class Bodies(NamedTuple):
    """The inertia.

    Attributes:
        rows: Kernels of each body (b, 5).
        mass: kg, (b,).
        inertia: About the centres of mass in body axes: ixx, iyy, izz, ixy, ixz, iyz (b, 6).
        turning: Inertia of Euler parameters (b, 4, 4).
        gravity: m/s^2, (3,).
    """

    rows: Rows
    mass: Vector
    inertia: Matrix
    turning: Matrices
    gravity: Vector


class Forces(NamedTuple):
    """What acts on the bodies.

    Attributes:
        rows: Bodies, kernels and law of each force (f, 6).
        numbers: r of each, and a second r for angles (f, 24).
        constants: Of the law (f, 8).
        angles: Of rotational springs against their rest where the last step ended (f,), rad.
        user_rows: Of the forces that users wrote (u, 5).
        time: What these read (1,), s.
    """

    rows: Rows
    numbers: Matrix
    constants: Matrix
    angles: Vector
    user_rows: Rows
    time: Vector


class Loads(NamedTuple):
    """Generalized forces less inertial ones, and their derivatives.

    Attributes:
        force: (N,).
        stiffness: By the positions, negative (N, N).
        damping: By the velocities, negative (N, N).
        by_time: (N,).
    """

    force: Vector
    stiffness: Matrix
    damping: Matrix
    by_time: Vector


class Reduced(NamedTuple):
    """The equations of the independent coordinates.

    Attributes:
        basis: Velocities of all coordinates by those of the independent ones (N, n).
        mass_basis: M times that (N, n).
        matrix: The mass matrix (n, n).
        factors: Its factors (n, n).
        pivots: Row exchanges of those (n,).
        acceleration: (n,).
        held: Accelerations of all while the independent ones rest (N, 1).
        moved: M times that (N, 1).
        place: Scratch (m, n).
        carried: Scratch (N, n).
        rates: Scratch (2 n,).
    """

    basis: Matrix
    mass_basis: Matrix
    matrix: Matrix
    factors: Matrix
    pivots: Vector
    acceleration: Vector
    held: Matrix
    moved: Matrix
    place: Matrix
    carried: Matrix
    rates: Vector


class Tables(NamedTuple):
    """All of them."""

    links: Links
    motion: Motion
    bodies: Bodies
    forces: Forces
    loads: Loads
    reduced: Reduced


Group = TypeVar("Group", bound=tuple)
AXES = 3
"""Most that an array has."""


class Memory(NamedTuple):
    """A mechanism's arrays.

    Attributes:
        layout: Where each of k arrays begins in its memory, and its extents, 1 behind the last
            axis (k, 4).
        numbers: Memory of the arrays of numbers.
        integers: Memory of the arrays of integers.
    """

    layout: np.ndarray
    numbers: np.ndarray
    integers: np.ndarray

    @property
    def tables(self) -> Tables:
        """The arrays by their names, in this memory."""
        return Tables(*map(self.group, GROUPS))

    def group(self, kind: type[Group]) -> Group:
        """Return one group of `Tables` by its type: a fifth of the time that all of them take."""
        arrays, kinds, before = [], _kinds(kind), _arrays_before(kind)
        rows = self.layout[before : before + len(kinds)].tolist()
        for each, (first, *extents) in zip(kinds, rows, strict=True):
            memory = self.numbers if each.dtype == types.float64 else self.integers
            part = memory[first : first + prod(extents)]
            arrays.append(part if each.ndim == 1 else part.reshape(extents[: each.ndim]))
        return kind(*arrays)


def memory_with(tables: Tables) -> Memory:
    """Return new memory with what is in these arrays."""
    layout: list[tuple[int, ...]] = []
    numbers: list[np.ndarray] = []
    integers: list[np.ndarray] = []
    sizes = {np.dtype(np.float64): 0, np.dtype(np.int64): 0}
    for array in (each for group in tables for each in group):
        layout.append((sizes[array.dtype], *array.shape, *(1,) * (AXES - array.ndim)))
        sizes[array.dtype] += array.size
        (numbers if array.dtype == np.float64 else integers).append(array.ravel())
    return Memory(np.array(layout), np.concatenate(numbers), np.concatenate(integers))


@cache
def _kinds(group: Any) -> tuple[types.Array, ...]:
    """Return the types of a group's arrays, as it declares them."""
    hints = get_type_hints(group, include_extras=True)
    return tuple(each.__metadata__[0] for each in hints.values())


GROUPS = tuple(get_type_hints(Tables).values())


@cache
def _arrays_before(group: Any) -> int:
    """Return how many arrays come before those of a group."""
    return sum(len(_kinds(each)) for each in GROUPS[: GROUPS.index(group)])


def _group_reader(group: Any) -> Any:
    """Return a function that finds the arrays of a group in a memory."""
    kinds = _kinds(group)
    before = _arrays_before(group)
    whole = types.NamedTuple(kinds, group)

    def plain(memory):
        return memory.group(group)

    @intrinsic
    def opened(_context, memory):
        def generate(context, builder, signature, values):
            layout, numbers, integers = (
                arrayobj.make_array(kind)(context, builder, builder.extract_value(values[0], k))
                for k, kind in enumerate(signature.args[0].types)
            )

            def entry(row, column):
                index = context.get_constant(types.intp, (AXES + 1) * row + column)
                return builder.load(builder.gep(layout.data, [index]))

            arrays = []
            for row, kind in enumerate(kinds, start=before):
                own = numbers if kind.dtype == types.float64 else integers
                data = builder.gep(own.data, [entry(row, 0)])
                shape = [entry(row, 1 + axis) for axis in range(kind.ndim)]
                arrays.append(_array(context, builder, kind, data, shape))
            return context.make_tuple(builder, whole, arrays)

        return whole(memory), generate

    return plain if PLAIN else opened


def _array(context: Any, builder: Any, kind: types.Array, data: Any, shape: list[Any]) -> Any:
    """Return an array whose memory somebody else owns."""
    size = context.get_constant(types.intp, 8)
    strides = [size]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(extent, strides[0]))
    array = arrayobj.make_array(kind)(context, builder)
    arrayobj.populate_array(
        array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None
    )
    return array._getvalue()


links_of, motion_of, bodies_of, forces_of, loads_of, reduced_of = map(_group_reader, GROUPS)
"""``links_of(memory)`` and so on: a group of arrays by their names, in compiled code."""
