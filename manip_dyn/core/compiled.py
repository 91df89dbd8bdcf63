"""Decorators for compiled functions with common options and machine code on disk.

`compiled` functions are ordinary functions in ordinary modules. Each is compiled once for the
types of its arguments, and its machine code is stored on disk. Compiled code calls this machine
code by its symbol, like a function of a C library, instead of compiling it again. A call takes one
or two nanoseconds, and more for each array argument.

Small functions are `inlined`: they have no separate machine code, and LLVM optimizes them
together with their callers. Some functions are called by Python and also belong into compiled
loops, such as a right-hand side. They use ``compiled(merge=True)``.

With ``NUMBA_DISABLE_JIT=1`` everything runs as plain Python, for use with a debugger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba
from numba.extending import is_jitted

from manip_dyn.core import dispatchers
from manip_dyn.core.machine_code import is_cacheable
from manip_dyn.core.private_numba import STOCK, PartLibrary, WholeLibrary

__all__ = [
    "PLAIN",
    "STOCK",
    "compiled",
    "inlined",
    "is_cacheable",
    "is_compiled",
]

PLAIN = bool(getattr(numba.config, "DISABLE_JIT", 0))
"""Whether everything runs as plain Python, because ``NUMBA_DISABLE_JIT=1`` is set."""
Function = TypeVar("Function", bound=Callable[..., Any])
OPTIONS: dict[str, Any] = {
    "boundscheck": None,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "nogil": True,
}
"""Numba options. Division by zero results in infinity or NaN. A multiplication and an addition may
be fused. Infinity and NaN are propagated."""


@overload
def compiled(function: Function) -> Function: ...
@overload
def compiled(
    *,
    merge: bool = False,
    short: bool = False,
    python: bool = True,
    counted: bool = True,
    keep: bool = True,
) -> Callable[[Function], Function]: ...
def compiled(
    function: Any = None,
    *,
    merge: bool = False,
    short: bool = False,
    python: bool = True,
    counted: bool = True,
    keep: bool = True,
) -> Any:
    """Compile a function when it is first called, and store its machine code on disk.

    Args:
        function: A function in the subset of Python that numba compiles.
        merge: Whether compiled callers link the code of the function instead of calling it.
        short: Whether loops are neither unrolled nor vectorized. This halves the compilation time,
            and short loops of unknown length do not run slower.
        python: Whether Python can call the function. If not, functions with many array arguments
            compile several times faster.
        counted: Whether references to the memory of arrays are counted. Functions that neither
            create nor return arrays do not require it.
        keep: Whether the machine code is stored on disk. A user's function may refer to objects
            that cannot be stored.
    """

    def decorated(function: Any) -> Any:
        if STOCK:
            return _njit(function)
        options = {
            **OPTIONS,
            "no_cfunc_wrapper": True,
            "no_cpython_wrapper": not python,
            "_nrt": counted,
        }
        kind = dispatchers.Whole if python else dispatchers.WithoutEntry
        whole = kind.new(function, options, WholeLibrary, short)
        whole.cached = keep
        return whole.merged() if merge else whole

    return decorated if function is None else decorated(function)


@overload
def inlined(function: Function) -> Function: ...
@overload
def inlined(
    *, always: bool = False, short: bool = False, counted: bool = True
) -> Callable[[Function], Function]: ...
def inlined(
    function: Any = None, *, always: bool = False, short: bool = False, counted: bool = True
) -> Any:
    """Compile a function into its compiled callers. Python cannot call it.

    Args:
        function: A function in the subset of Python that numba compiles.
        always: Whether LLVM must inline the function even if it is long.
        short: Whether loops are neither unrolled nor vectorized, see `compiled`.
        counted: See `compiled`.
    """

    def decorated(function: Any) -> Any:
        if STOCK:
            return _njit(function)
        options = {**OPTIONS, **dispatchers.WRAPPERS, "_nrt": counted}
        return dispatchers.Part.new(function, options, PartLibrary, short, always)

    return decorated if function is None else decorated(function)


def _njit(function: Any) -> Any:
    """Compile a function with `numba.njit`, which returns it unchanged if the JIT is disabled."""
    return numba.njit(**OPTIONS)(function)


def is_compiled(function: Any) -> bool:
    """Return whether compiled code can call a function."""
    return (
        hasattr(function, "callable_type") or is_jitted(function) or (PLAIN and callable(function))
    )
