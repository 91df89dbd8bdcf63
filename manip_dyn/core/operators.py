"""Built-in functions in compiled code, with cached signatures and fewer instructions.

Numba tries all registered signatures for each use of an operator, in typing and again in lowering.
It compiles `max` and `min` for each combination of types, and emits about forty instructions for
each access to an array element. `KnownFunction` replaces such functions, only in the typing
contexts of this package.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import lower_builtin, models, register_model

EXTREMES = {max: operator.gt, min: operator.lt}
"""Comparisons ``later, earlier`` that are true if the later argument replaces the earlier one."""
DATA, SHAPE = 4, 5
"""Indices of the fields of an array in LLVM."""
_NUMBERS = (types.Integer, types.Float)


class KnownFunction(types.Function):
    """Numba type of a built-in function that caches its signatures by argument types."""

    def __init__(self, function: types.Function, short: bool = False):
        """Initialize from numba's type of the function.

        Args:
            function: Numba's type of the function.
            short: Whether array elements are accessed with few instructions. LLVM vectorizes loops
                better with the instructions of numba.
        """
        super().__init__(function.templates)
        self.name, self._short = function.name, short
        self._signatures: dict[tuple, Any] = {}

    def get_call_type(self, context, args, kws):
        """Return the signature of a call."""
        args = tuple(args)
        signature = None if kws else self._signatures.get(args)
        if signature is None:
            signature = self._new_call_type(context, args, kws)
        return signature

    def _new_call_type(self, context: Any, args: tuple, kws: Any) -> Any:
        if self.typing_key in EXTREMES and not kws and _are_numbers(args):
            kinds = tuple(types.unliteral(kind) for kind in args)
            self._signatures[args] = context.unify_types(*kinds)(*kinds)
            return self._signatures[args]
        signature = super().get_call_type(context, args, kws)
        # With another key, the implementation depends on more than the types.
        if not kws and signature and super().get_impl_key(signature) is self.typing_key:
            self._signatures[args] = signature
        return signature

    def get_impl_key(self, sig):
        """Return the key of the implementation for a signature."""
        if self.typing_key in EXTREMES and _are_numbers(sig.args):
            return _emit_extreme[self.typing_key]
        if self._short and self.typing_key in _ELEMENTS and _is_element(sig.args):
            return _ELEMENTS[self.typing_key]
        return super().get_impl_key(sig)


register_model(KnownFunction)(models.OpaqueModel)


def _are_numbers(arguments: tuple) -> bool:
    """Return whether the argument types are two or more numbers."""
    return len(arguments) > 1 and all(isinstance(kind, _NUMBERS) for kind in arguments)


def _extreme(compares: Any) -> Any:
    """Return an emitter of `max` or `min`, depending on the comparison."""

    def emit(context, builder, signature, values):
        kind = signature.return_type
        numbers = [
            context.cast(builder, value, argument, kind)
            for value, argument in zip(values, signature.args, strict=True)
        ]
        compare = context.get_function(compares, types.boolean(kind, kind))
        return reduce(lambda a, b: builder.select(compare(builder, (b, a)), b, a), numbers)

    return emit


_emit_extreme = {function: _extreme(compares) for function, compares in EXTREMES.items()}
for _emit in _emit_extreme.values():
    lower_builtin(_emit, types.VarArg(types.Any))(_emit)


def _is_element(arguments: tuple) -> bool:
    """Return whether arguments read or write one number of a C-contiguous array.

    Args:
        arguments: Numba types of the array, of the index, and of the value if it is written.
    """
    array, index, *value = arguments
    return (
        isinstance(array, types.Array)
        and array.layout == "C"
        and all(isinstance(kind, (types.Number, types.Boolean)) for kind in (array.dtype, *value))
        and len(_indices(index)) == array.ndim
        and all(isinstance(kind, types.Integer) for kind in _indices(index))
    )


def _indices(index: Any) -> tuple:
    """Return the types of one or more indices as a tuple."""
    return tuple(getattr(index, "types", (index,)))


def _address(context: Any, builder: Any, arguments: tuple, values: tuple) -> Any:
    """Return the LLVM pointer to an array element. Negative indices count from the end."""
    kinds, indices = _indices(arguments[1]), [values[1]]
    if isinstance(arguments[1], types.BaseTuple):
        indices = [builder.extract_value(values[1], i) for i in range(len(kinds))]
    offset = None
    for axis, (kind, index) in enumerate(zip(kinds, indices, strict=True)):
        extent = builder.extract_value(values[0], [SHAPE, axis])
        index = context.cast(builder, index, kind, types.intp)
        if kind.signed and not (isinstance(index, ir.Constant) and index.constant >= 0):
            is_negative = builder.icmp_signed("<", index, index.type(0))
            index = builder.select(is_negative, builder.add(index, extent), index)
        offset = index if offset is None else builder.add(builder.mul(offset, extent), index)
    return builder.gep(builder.extract_value(values[0], DATA), [offset])


def _get_element(context, builder, signature, values):
    kind = signature.args[0]
    address = _address(context, builder, signature.args, values)
    return context.unpack_value(builder, kind.dtype, address, align=None if kind.aligned else 1)


def _set_element(context, builder, signature, values):
    kind = signature.args[0]
    address = _address(context, builder, signature.args, values)
    value = context.cast(builder, values[2], signature.args[2], kind.dtype)
    context.pack_value(builder, kind.dtype, value, address, align=None if kind.aligned else 1)


_ELEMENTS = {operator.getitem: _get_element, operator.setitem: _set_element}
lower_builtin(_get_element, types.Array, types.Any)(_get_element)
lower_builtin(_set_element, types.Array, types.Any, types.Any)(_set_element)
