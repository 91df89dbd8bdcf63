"""Calls of compiled functions by symbol: what calls them does not compile them in once more.

Numba compiles what a function calls into it, and LLVM optimizes all of it again. A linked
function is compiled once; its callers, also those from the cache on disk, find it in the process
by its symbol.
"""

from __future__ import annotations

import hashlib
from typing import Any

from llvmlite import binding
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic


def linked(function: Any, *kinds: types.Type) -> Any:
    """Return an intrinsic ``(arguments)`` that calls a jitted function which returns nothing.

    The function is compiled now, or loaded from the cache. `arguments` is a tuple of what
    converts to the types `kinds`.
    """
    function.compile(kinds)
    compiled = function.overloads[kinds]
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    name = f"{function.py_func.__module__}.{function.py_func.__qualname__}"
    # Types of tuples have names too long for symbols.
    symbol = f"{name}.{hashlib.sha256(repr(kinds).encode()).hexdigest()[:16]}"
    binding.add_symbol(symbol, address)

    @intrinsic
    def call(context, arguments: Any):
        if len(getattr(arguments, "types", ())) != len(kinds):
            raise TypingError(f"{name} takes a tuple of {len(kinds)} arguments, not {arguments}")
        for given, wanted in zip(arguments.types, kinds, strict=True):
            if context.can_convert(given, wanted) is None:
                raise TypingError(f"{name}: an argument is {given}; expected {wanted}")

        def generate(context, builder, signature, values):
            parts = [
                context.cast(builder, builder.extract_value(values[0], i), given, wanted)
                for i, (given, wanted) in enumerate(zip(signature.args[0], kinds, strict=True))
            ]
            shape = context.call_conv.get_function_type(types.none, kinds)
            target = cgutils.get_or_insert_function(builder.module, shape, symbol)
            context.call_conv.call_function(builder, target, types.none, kinds, parts)
            return context.get_dummy_value()

        return types.void(arguments), generate

    return call
