"""The arrays of `Tables` one behind the other in two arrays, as time loops take them.

A loop hands its parameters on from function to function, and each of 45 arrays has seven words
and more: two arrays and a layout are compiled and handed on in no time.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numba import config
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.core.compiled import compiled
from manip_dyn.multibody.tables import Tables

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
        rows = iter(self.layout.tolist())
        groups = []
        for group in GROUPS:
            arrays = []
            for kind in _kinds(group):
                first, *extents = next(rows)
                memory = self.numbers if kind.dtype == types.float64 else self.integers
                part = memory[first : first + int(np.prod(extents))]
                arrays.append(part.reshape(extents[: kind.ndim]))
            groups.append(group(*arrays))
        return Tables(*groups)


def memory_of(tables: Tables) -> Memory:
    """Return new memory with what is in these arrays."""
    layout, numbers, integers = [], [], []
    sizes = {np.dtype(np.float64): 0, np.dtype(np.int64): 0}
    for array in (each for group in tables for each in group):
        layout.append((sizes[array.dtype], *array.shape, *(1,) * (AXES - array.ndim)))
        sizes[array.dtype] += array.size
        (numbers if array.dtype == np.float64 else integers).append(array.ravel())
    return Memory(np.array(layout), np.concatenate(numbers), np.concatenate(integers))


GROUPS = tuple(get_type_hints(Tables).values())


def _kinds(group: Any) -> list[types.Array]:
    """Return the types of a group's arrays, as it declares them."""
    hints = get_type_hints(group, include_extras=True)
    return [each.__metadata__[0] for each in hints.values()]


_GROUP_TYPES = [types.NamedTuple(_kinds(group), group) for group in GROUPS]
_TYPE = types.NamedTuple(_GROUP_TYPES, Tables)


@intrinsic
def _opened(_context, layout, numbers, integers):
    def generate(context, builder, signature, values):
        layout, numbers, integers = (
            arrayobj.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, values, strict=True)
        )
        place = 0

        def entry(column):
            index = context.get_constant(types.intp, (AXES + 1) * place + column)
            return builder.load(builder.gep(layout.data, [index]))

        groups = []
        for group in _GROUP_TYPES:
            arrays = []
            for kind in group.types:
                memory = numbers if kind.dtype == types.float64 else integers
                data = builder.gep(memory.data, [entry(0)])
                shape = [entry(1 + axis) for axis in range(kind.ndim)]
                arrays.append(_array(context, builder, kind, data, shape))
                place += 1
            groups.append(context.make_tuple(builder, group, arrays))
        return context.make_tuple(builder, _TYPE, groups)

    return _TYPE(layout, numbers, integers), generate


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


@compiled(short=True, python=False)
def _tables_of(memory):
    return _opened(memory.layout, memory.numbers, memory.integers)


def _plain_tables_of(memory):
    return memory.tables


tables_of: Any = _plain_tables_of if config.DISABLE_JIT else _tables_of
"""``tables_of(memory)``: the arrays by their names, in compiled code."""
