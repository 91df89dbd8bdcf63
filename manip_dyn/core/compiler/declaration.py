"""What numba has to know of a function that compiled code calls by a name."""

from __future__ import annotations

from typing import Any

from numba.core.funcdesc import FunctionDescriptor


def declaration(symbol: str, arguments: tuple, returns: Any, told: str = "") -> FunctionDescriptor:
    """Return it for a name and types; `told` is what messages call the function."""
    made = FunctionDescriptor(
        native=True,
        modname=__name__,
        qualname=told or symbol,
        unique_name=symbol,
        doc="",
        typemap={},
        restype=returns,
        calltypes={},
        argtypes=arguments,
        args=[f"x{i}" for i in range(len(arguments))],
        kws=(),
    )
    made.mangled_name = symbol
    return made
