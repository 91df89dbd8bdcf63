"""Elements of C-contiguous arrays in compiled code, read and written in few instructions.

Numba lays an array's words down in memory, takes a view of it, and reads the view: some forty
instructions for each element, which have to be made, printed, parsed and optimized away again.
These compute the same place from the words themselves.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import types
from numba.extending import lower_builtin
from numba.np import arrayobj


def element(array: Any, index: Any) -> Any:
    """Stand for an element that is read."""


def set_element(array: Any, index: Any, value: Any) -> None:
    """Stand for an element that is written."""


in_few = False
"""Whether the function that is being compiled has it so; loops that LLVM unrolls and turns into
vectors are quicker by a few per cent as numba has them."""
_KEYS = {operator.getitem: element, operator.setitem: set_element}


def key_of(function: Any, signature: Any) -> Any:
    """Return `element` or `set_element` for what they can do, or None."""
    if not in_few or function not in _KEYS:
        return None
    array, index, *value = signature.args
    fits = (
        isinstance(array, types.Array)
        and array.layout == "C"
        and array.ndim > 0
        and isinstance(array.dtype, (types.Number, types.Boolean))
        and all(isinstance(each, (types.Number, types.Boolean)) for each in value)
        and len(_kinds(index)) == array.ndim
        and all(isinstance(each, types.Integer) for each in _kinds(index))
    )
    return _KEYS[function] if fits else None


def _kinds(index: Any) -> tuple:
    """Return the types of one index or several."""
    several: Any = index
    return tuple(several.types) if isinstance(index, types.BaseTuple) else (index,)


def _place(context: Any, builder: Any, array: Any, kind: Any, index: Any, index_kind: Any) -> Any:
    """Emit the pointer to an element."""
    fields = context.data_model_manager[kind]
    shape = fields.get_field_position("shape")
    indices = [index]
    if isinstance(index_kind, types.BaseTuple):
        indices = [builder.extract_value(index, i) for i in range(kind.ndim)]
    place = None
    for axis, (each, number) in enumerate(zip(_kinds(index_kind), indices, strict=True)):
        extent = builder.extract_value(array, [shape, axis])
        number = arrayobj.fix_integer_index(context, builder, each, number, extent)
        place = number if place is None else builder.add(builder.mul(place, extent), number)
    return builder.gep(builder.extract_value(array, fields.get_field_position("data")), [place])


@lower_builtin(element, types.Array, types.Any)
def _emit_element(context, builder, signature, values):
    kind, index = signature.args
    if context.enable_boundscheck:
        several = isinstance(index, types.BaseTuple)
        emit = arrayobj.getitem_array_tuple if several else arrayobj.getitem_arraynd_intp
        return emit(context, builder, signature, values)
    place = _place(context, builder, values[0], kind, values[1], index)
    return arrayobj.load_item(context, builder, kind, place)


@lower_builtin(set_element, types.Array, types.Any, types.Any)
def _emit_set_element(context, builder, signature, values):
    kind, index, given = signature.args
    if context.enable_boundscheck:
        return arrayobj.setitem_array(context, builder, signature, values)
    place = _place(context, builder, values[0], kind, values[1], index)
    value = context.cast(builder, values[2], given, kind.dtype)
    return arrayobj.store_item(context, builder, kind, value, place)
