"""The arrays of `Tables` one behind the other in two arrays, as time loops take them.

Functions hand their parameters on to others, and each of 45 arrays has seven words and more: two
arrays and a layout are compiled and handed on in no time. A function opens the groups that it is
about.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.core.plain import PLAIN
from manip_dyn.multibody.equations.tables import Tables

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
        arrays, kinds, before = [], _kinds(kind), _before(kind)
        rows = self.layout[before : before + len(kinds)].tolist()
        for each, (first, *extents) in zip(kinds, rows, strict=True):
            memory = self.numbers if each.dtype == types.float64 else self.integers
            part = memory[first : first + prod(extents)]
            arrays.append(part if each.ndim == 1 else part.reshape(extents[: each.ndim]))
        return kind(*arrays)


def memory_of(tables: Tables) -> Memory:
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
def _before(group: Any) -> int:
    """Return how many arrays come before those of a group."""
    return sum(len(_kinds(each)) for each in GROUPS[: GROUPS.index(group)])


def _opener(group: Any) -> Any:
    """Return a function that finds the arrays of a group in a memory."""
    kinds = _kinds(group)
    before = _before(group)
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


links_of, motion_of, bodies_of, forces_of, loads_of, reduced_of = map(_opener, GROUPS)
"""``links_of(memory)`` and so on: a group of arrays by their names, in compiled code."""
