"""Decorators for compiled functions: one set of options, machine code on disk.

`compiled` functions are ordinary functions of ordinary modules. Each is compiled once for the
types of its arguments, and its machine code is stored on disk. Compiled code calls machine code
by its symbol, like a function of a C library, instead of compiling it again. A call takes a
nanosecond or two, plus some for each array.

Small functions are `inlined`: they have no separate machine code, and LLVM optimizes them
together with their callers. Functions that Python calls and that belong into compiled loops, such
as a right-hand side, are both: ``compiled(merge=True)``.

With ``NUMBA_DISABLE_JIT=1`` everything runs as plain Python, for a debugger.
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
"""Whether everything runs as plain Python: with ``NUMBA_DISABLE_JIT=1``."""
Function = TypeVar("Function", bound=Callable[..., Any])
OPTIONS: dict[str, Any] = {
    "boundscheck": None,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "nogil": True,
}
"""Division by zero gives infinity or NaN; a product and a sum may be fused; numbers that are not
finite stay so."""


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
    """Compile a function at its first call; its machine code is stored on disk.

    Args:
        function: A function in the subset of Python that numba compiles.
        merge: Whether compiled callers link its code instead of calling it.
        short: Whether loops are neither unrolled nor vectorized. That halves the time of
            compiling, and short loops of unknown length run no slower.
        python: Whether Python can call it. A function of many arrays compiles several times as
            fast without.
        counted: Whether references to the memory of arrays are counted. A function that creates
            and returns no arrays can do without.
        keep: Whether machine code is stored on disk. A user's function may refer to objects that
            cannot be stored.
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
    """Compile a function into its compiled callers; Python cannot call it.

    Args:
        function: A function in the subset of Python that numba compiles.
        always: Whether LLVM must inline it even if it is long.
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
    """Compile by numba alone; with the compiler off it returns the function."""
    return numba.njit(**OPTIONS)(function)


def is_compiled(function: Any) -> bool:
    """Return whether compiled code can call a function."""
    return (
        hasattr(function, "callable_type") or is_jitted(function) or (PLAIN and callable(function))
    )
