"""Arrays and parts of arrays for compiled code that do not own their memory.

Numba counts the references to the memory of every array that a function is given or slices,
atomically, which takes longer than many a computation on it. Nothing counts these: the arrays that
they are, or are a part of, have to outlive them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.core.plain import PLAIN

VECTOR, MATRIX = types.float64[::1], types.float64[:, ::1]
_INDEX = ir.IntType(64)


def borrowed(context: Any, builder: Any, data: Any, shape: Sequence[Any]) -> Any:
    """Return a C-contiguous array of float64 at an address, in code that is being emitted."""
    eight = ir.Constant(_INDEX, 8)
    strides = [eight]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(extent, strides[0]))
    kind = VECTOR if len(shape) == 1 else MATRIX
    view = arrayobj.make_array(kind)(context, builder)
    arrayobj.populate_array(
        view, data=data, shape=list(shape), strides=strides, itemsize=eight, meminfo=None
    )
    return view._getvalue()


def _emitted(part: Any) -> Any:
    """Return the emitter of what ``part(builder, array, numbers)`` says: place and shape."""

    def generate(context, builder, signature, values):
        whole = arrayobj.make_array(signature.args[0])(context, builder, values[0])
        numbers = [
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(values[1:], signature.args[1:], strict=True)
        ]
        first, shape = part(builder, whole, numbers)
        return borrowed(context, builder, builder.gep(whole.data, [first]), shape)

    return generate


@intrinsic
def _row(_context, matrix, index):
    def part(builder, whole, numbers):
        width = builder.extract_value(whole.shape, 1)
        return builder.mul(numbers[0], width), [width]

    return VECTOR(matrix, index), _emitted(part)


@intrinsic
def _rows(_context, matrix, first, count):
    def part(builder, whole, numbers):
        width = builder.extract_value(whole.shape, 1)
        return builder.mul(numbers[0], width), [numbers[1], width]

    return MATRIX(matrix, first, count), _emitted(part)


@intrinsic
def _part(_context, vector, first, size):
    def part(_builder, _whole, numbers):
        return numbers[0], [numbers[1]]

    return VECTOR(vector, first, size), _emitted(part)


@intrinsic
def _place(_context, array):
    def generate(context, builder, signature, values):
        return arrayobj.make_array(signature.args[0])(context, builder, values[0]).data

    return types.CPointer(types.float64)(array), generate


@intrinsic
def _unowned(_context, value):
    def generate(context, builder, signature, values):
        return _without_owner(context, builder, signature.return_type, values[0])

    return value(value), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return an array, or a tuple of such, with nobody to count its references."""
    if isinstance(kind, types.Array):
        array = arrayobj.make_array(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if hasattr(kind, "types"):  # a tuple
        for i, each in enumerate(kind.types):
            inner = _without_owner(context, builder, each, builder.extract_value(value, i))
            value = builder.insert_value(value, inner, i)
    return value


def _plain(value):
    return value


def _plain_row(matrix, index):
    return matrix[index]


def _plain_part(array, first, count):
    return array[first : first + count]


row: Any = _plain_row if PLAIN else _row
"""``row(matrix, index)``: a row (m,) of a C-contiguous matrix (n, m) of float64."""
rows: Any = _plain_part if PLAIN else _rows
"""``rows(matrix, first, count)``: some of its rows (count, m)."""
part: Any = _plain_part if PLAIN else _part
"""``part(vector, first, size)``: some (size,) of a C-contiguous vector of float64."""
unowned: Any = _plain if PLAIN else _unowned
"""``unowned(value)``: the same array, or tuple of arrays."""
place: Any = _plain if PLAIN else _place
"""``place(array)``: where the numbers of a C-contiguous array lie, for code that takes no more."""
