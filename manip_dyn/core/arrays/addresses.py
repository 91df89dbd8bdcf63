"""Compiled functions by their addresses: what calls them need not be compiled for each.

An indirect call costs two nanoseconds. With ``NUMBA_DISABLE_JIT=1`` the functions themselves stand
for their addresses.
"""

from __future__ import annotations

from typing import Any

from numba import typeof
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from manip_dyn.core.plain import PLAIN


def address_for(function: Any, signature: tuple) -> Any:
    """Return the address of a compiled function for arguments of these types."""
    if PLAIN:
        return function
    function.compile(signature)
    compiled = function.overloads[signature]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def address_of(function: Any, *arguments: Any) -> Any:
    """Return the address of a compiled function for arguments like these."""
    return address_for(function, tuple(typeof(each) for each in arguments))


def _caller(returned: Any) -> Any:
    """Return a function for compiled code that calls what lies at an address with a tuple."""

    def call(_context, address, arguments):
        if not isinstance(address, types.Integer) or not isinstance(arguments, types.BaseTuple):
            raise TypingError(f"expected an address and a tuple, not {address} and {arguments}")

        def generate(context, builder, signature, values):
            kinds = tuple(signature.args[1])
            place, packed = values
            parts = [builder.extract_value(packed, i) for i in range(len(kinds))]
            convention = context.call_conv
            pointer = convention.get_function_type(returned, kinds).as_pointer()
            function = builder.inttoptr(place, pointer)
            status, result = convention.call_function(builder, function, returned, kinds, parts)
            if returned is types.none:  # kernels raise nothing
                return context.get_dummy_value()
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result

        return returned(address, arguments), generate

    return intrinsic(call)


def _plain(function: Any, arguments: Any) -> Any:
    """Call a function that stands for its own address."""
    return function(*arguments)


call_returning: Any = _plain if PLAIN else _caller(types.int64)
"""``call_returning(address, arguments)``: call a compiled function, and return its integer."""
call_writing: Any = _plain if PLAIN else _caller(types.none)
"""``call_writing(address, arguments)``: call a compiled function that returns nothing."""
