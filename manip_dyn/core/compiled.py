"""Compiled functions: decorators with common options, and machine code on disk.

`compiled` functions are ordinary functions in ordinary modules. Each is compiled once for each
combination of argument types, and its machine code is stored on disk. Compiled code calls this
machine code by its symbol, like a function of a C library, instead of compiling it again. A call
takes one or two nanoseconds, and more for each array argument.

Small functions are `inlined`: they have no separate machine code, and LLVM optimizes them
together with their callers. Some functions are called by Python and also belong in compiled loops,
such as a right-hand side. They use ``compiled(merge=True)``.

Both kinds have a `callable_type`, by which compiled code calls them, instead of numba's type. With
``NUMBA_DISABLE_JIT=1`` everything runs as plain Python, for use with a debugger.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

import llvmlite.binding as llvm
import numba
from numba.extending import is_jitted

from manip_dyn.core import machine_code
from manip_dyn.core.cache import announced, cache_directory, file_locks
from manip_dyn.core.callables import CallableType, call_of, has_callable_type, marked
from manip_dyn.core.fingerprint import qualified_name
from manip_dyn.core.interruption import run_uninterrupted
from manip_dyn.core.machine_code import is_cacheable
from manip_dyn.core.private_numba import (
    STOCK,
    UNDOCUMENTED_OPTIONS,
    Dispatcher,
    MergedLibrary,
    PartLibrary,
    WholeLibrary,
    address,
    module_of,
    pipeline,
    restored,
    stored,
    symbol_in,
    target_context,
)

__all__ = [
    "OPTIONS",
    "PLAIN",
    "STOCK",
    "Function",
    "Part",
    "compiled",
    "inlined",
    "is_cacheable",
    "is_compiled",
    "library_of",
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

WRAPPERS = dict.fromkeys(UNDOCUMENTED_OPTIONS, True)
"""Options of functions that only compiled code calls."""


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
    """Compile a function on its first call with each combination of argument types.

    The machine code is stored on disk. With stock numba (see `private_numba`), it is not stored,
    and the options have no effect.

    Args:
        function: A function in the subset of Python that numba compiles. If it is None, the result
            is a decorator.
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
        kind = Whole if python else WithoutEntry
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

    With stock numba (see `private_numba`), the options have no effect, and Python can call it.

    Args:
        function: A function in the subset of Python that numba compiles. If it is None, the result
            is a decorator.
        always: Whether LLVM must inline the function even if it is long.
        short: Whether loops are neither unrolled nor vectorized, see `compiled`.
        counted: See `compiled`.
    """

    def decorated(function: Any) -> Any:
        if STOCK:
            return _njit(function)
        options = {**OPTIONS, **WRAPPERS, "_nrt": counted}
        return Part.new(function, options, PartLibrary, short, always)

    return decorated if function is None else decorated(function)


def _njit(function: Any) -> Any:
    """Compile a function with `numba.njit`, which returns it unchanged if the JIT is disabled."""
    return numba.njit(**OPTIONS)(function)


def plain_function(function: Any) -> Any:
    """Return the Python function of a compiled one; other values are returned unchanged."""
    return getattr(function, "py_func", function)


def is_compiled(function: Any) -> bool:
    """Return whether compiled code can call a function."""
    return (
        hasattr(function, "callable_type") or is_jitted(function) or (PLAIN and callable(function))
    )


def _renamed(function: FunctionType) -> FunctionType:
    """Return a copy of a function with a unique name, on which numba bases names in machine code.

    Forked processes would give the same machine code name to different functions with the same
    Python name. A process that loads both from disk would then call the wrong function.
    """
    copied = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__module__ = function.__module__
    copied.__qualname__ = f"{function.__qualname__}_{os.urandom(7).hex()}"
    return copied


class _Compiled(Dispatcher):
    """A compiled function whose compiled callers use its `callable_type`."""

    def __init__(self, py_func, locals=None, targetoptions=None, pipeline_class=None):  # noqa: A002
        """Initialize from a function and options, with the parameters of numba's class."""
        super().__init__(_renamed(py_func), locals, targetoptions, pipeline_class)
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.results: dict[tuple, Any] = {}
        name = qualified_name(py_func)
        self.callable_type = CallableType(name, py_func, lambda _, types: self.declare(types))

    @classmethod
    def new(
        cls, function: Any, options: dict, library: type, short: bool = False, always: bool = False
    ) -> Any:
        """Create a function of this class without compiling it.

        Args:
            function: The Python function.
            options: Numba options.
            library: `WholeLibrary`, `MergedLibrary` or `PartLibrary`.
            short: Whether loops are neither unrolled nor vectorized.
            always: Whether callers must inline the function.
        """
        options = {"nopython": True, **options}
        passes = pipeline(library, short, always)
        dispatcher = cls(function, targetoptions=options, pipeline_class=passes)
        dispatcher.kind, dispatcher.short = f"{library.__name__} {short} {always}", short
        return dispatcher

    def __repr__(self) -> str:
        """Return a string with name, parameters, file and id."""
        code = self.py_func.__code__
        parameters = ", ".join(code.co_varnames[: code.co_argcount])
        call = f"{self.py_func.__name__}({parameters})"
        return f"<compiled {call} of '{code.co_filename}' at {id(self):#x}>"

    def declare(self, arguments: tuple) -> None:
        """Compile for argument types, and define the call for compiled callers."""
        self.compile(arguments)

    def compile(self, sig):
        """Compile for argument types or load the machine code; return the entry point."""
        arguments = tuple(getattr(sig, "args", sig))
        if arguments not in self.results:
            with announced(self.py_func):
                run_uninterrupted(self._compile, arguments)
        return self.results[arguments].entry_point

    def _compile(self, arguments: tuple) -> None:
        with file_locks():
            self.compile_by_numba(arguments)

    @property
    def cache_path(self) -> str:
        """The cache folder, for numba's `stats`."""
        return str(cache_directory())

    def save_overload(self, sig, result):
        """Store a compilation result in memory."""
        self.results[tuple(sig)] = result


class Part(_Compiled):
    """A function that is linked into its callers."""

    def symbol_for(self, arguments: tuple) -> tuple[str, list[Any]]:
        """Return the symbol for compiled argument types and the library to link with a caller."""
        result = self.results[arguments]
        return symbol_in(result), [result.library]

    def module_of(self, arguments: tuple) -> Any:
        """Return the LLVM module for argument types."""
        return module_of(self.results[arguments])

    def bitcode(self, arguments: tuple) -> tuple[bytes, str, Any]:
        """Return LLVM bitcode, symbol and result type for argument types, compiling if needed."""
        self.compile(arguments)
        result = self.results[arguments]
        return module_of(result).as_bitcode(), symbol_in(result), result.signature.return_type

    def __call__(self, *arguments, **keywords):
        """Raise an error, because Python cannot call a function without an entry point."""
        raise TypeError(f"{self.py_func.__qualname__} can only be called by compiled code.")

    def save_overload(self, sig, result):
        """Store a compilation result and define calls in compiled code."""
        super().save_overload(sig, result)
        result.library.finalize()
        name, arguments = symbol_in(result), tuple(sig)
        returns = result.signature.return_type
        emit = call_of(name, returns, arguments, [result.library])
        self.callable_type.define(arguments, returns, emit)


class Whole(_Compiled):
    """A compiled function with its own machine code.

    Attributes:
        cached: Whether the machine code is stored on disk.
        part: Version that is linked into compiled callers. If None, callers call the machine code.
    """

    cached = True
    part: Part | None = None

    def like(self, function: Any) -> Whole:
        """Return a compiled function for another Python function, with the same numba options."""
        whole = type(self).new(function, self.targetoptions, WholeLibrary, self.short)
        return whole if self.part is None else whole.merged()

    def as_part(self) -> Part:
        """Return the same function as a `Part`, which is not optimized before linking."""
        options = self.targetoptions | WRAPPERS
        return Part.new(self.py_func, options, PartLibrary, self.short)

    def merged(self) -> Whole:
        """Let compiled callers link this function instead of calling its code; return it."""
        self.part = Part.new(self.py_func, self.targetoptions | WRAPPERS, MergedLibrary)
        self.callable_type = self.part.callable_type
        return self

    def symbol_for(self, arguments: tuple) -> tuple[str, list[Any]]:
        """Return the symbol for compiled argument types, and libraries to link with a caller.

        Without `part`, callers link no library.
        """
        if self.part is not None:
            return self.part.symbol_for(arguments)
        return machine_code.symbol_of(self, arguments), []

    def load_overload(self, sig, context):
        """Return the stored result for argument types, or None."""
        super().load_overload(sig, context)
        arguments = tuple(sig)
        content = machine_code.load(self, arguments) if self.cached else None
        if content is None:
            return None
        try:
            result = restored(context, content)
        except machine_code.UNREADABLE:
            return None
        self._take(arguments, result)
        return result

    def save_overload(self, sig, result):
        """Store a compilation result in memory and on disk, and define calls in compiled code."""
        arguments = tuple(sig)
        result = result._replace(type_annotation="")  # formatting it is as slow as compiling
        content = stored(result)
        self._take(arguments, result)
        if self.cached:
            machine_code.save(self, arguments, content, module_of(result))

    def _take(self, arguments: tuple, result: Any) -> None:
        self.results[arguments] = result
        if self.part is not None:
            return
        returns = result.signature.return_type
        symbol = machine_code.symbol_of(self, arguments)
        llvm.add_symbol(symbol, address(self, arguments))
        machine_code.symbols[symbol] = (self, arguments)
        emit = marked(call_of(symbol, returns, arguments))
        self.callable_type.define(arguments, returns, emit)


class WithoutEntry(Whole):
    """A function with machine code that Python cannot call."""

    __call__ = Part.__call__


for _kind in (Part, Whole, WithoutEntry):
    has_callable_type(_kind)


def library_of(bitcode: bytes, name: str) -> Any:
    """Return LLVM bitcode as a library that can be linked with compiled functions."""
    library = PartLibrary(target_context().codegen(), name)
    library.add_llvm_module(llvm.parse_bitcode(bitcode))
    library.finalize()
    return library
