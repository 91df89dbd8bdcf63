"""Access to undocumented names of numba, which are checked at import.

`numba.njit` optimizes every helper function twice, once separately and once inside its caller, and
resolves the same operators again for every use. This module uses undocumented names so that
helpers are optimized only inside their callers, and machine code is stored on disk and called by
symbol. If one of these names is missing or different, or with ``MANIP_DYN_STOCK_NUMBA=1``, `STOCK`
is true. The package then uses plain `numba.njit`: results are correct, but compilation is slower
and machine code is not cached.

This module does not change objects that other numba code uses.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import BuiltinFunctionType
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import cgutils
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass

from manip_dyn.core.callables import MARK, check_parameters
from manip_dyn.core.operators import KnownFunction

PRIVATE = {
    "numba.core.registry:CPUDispatcher": "",
    "numba.core.registry:CPUDispatcher.compile": "self, sig",
    "numba.core.registry:CPUDispatcher()._cache": "",
    "numba.core.codegen:JITCodeLibrary": "codegen, name",
    "numba.core.codegen:JITCodeLibrary._optimize_functions": "self, ll_module",
    "numba.core.codegen:JITCodeLibrary._optimize_final_module": "self",
    "numba.core.codegen:JITCodeLibrary._finalize_final_module": "self",
    "numba.core.codegen:JITCodeLibrary._finalized": "",
    "numba.core.compiler:CompileResult._reduce": "self",
    "numba.core.compiler:CompileResult._rebuild": "",
    "numba.core.compiler:Flags.no_compile": "",
    "numba.core.options:DefaultOptions._nrt": "",
    "numba.core.typing.context:BaseContext.resolve_value_type": "self, val",
    "numba.core.cpu:CPUContext.call_conv": "",
    "numba.core.runtime:rtsys.initialize": "ctx",
}
"""Private names in use, with the parameters that they must have ("": not checked)."""
UNDOCUMENTED_OPTIONS = ("no_cpython_wrapper", "no_cfunc_wrapper")
"""Undocumented options of `numba.jit` that omit the wrappers for calls from Python and C."""


def missing_name() -> str:
    """Return the first name in `PRIVATE` that is missing or different in this numba, or ""."""
    for name, parameters in PRIVATE.items():
        module, _, path = name.partition(":")
        try:
            value: Any = import_module(module)
            for part in path.split("."):
                value = numba.njit(missing_name) if part.endswith("()") else getattr(value, part)
            if parameters and ", ".join(inspect.signature(value).parameters) != parameters:
                return name
        except (ImportError, AttributeError, TypeError, ValueError):
            return name
    return ""


def _is_stock() -> bool:
    """Return whether plain `numba.njit` must be used. Log a warning if a name is missing."""
    if os.environ.get("MANIP_DYN_STOCK_NUMBA", "") not in ("", "0"):
        return True
    if missing := missing_name():
        logging.getLogger(__name__).warning(
            "numba %s has no %s: functions compile more slowly and are not cached",
            numba.__version__,
            missing,
        )
    return bool(missing)


STOCK = bool(getattr(numba.config, "DISABLE_JIT", 0)) or _is_stock()
"""Whether functions are compiled by `numba.njit` alone."""

CompileResult: Any = object
CPUDispatcher: Any = object
JITCodeLibrary: Any = object
if not STOCK:
    CompileResult = import_module("numba.core.compiler").CompileResult
    CPUDispatcher = import_module("numba.core.registry").CPUDispatcher
    JITCodeLibrary = import_module("numba.core.codegen").JITCodeLibrary
    from numba.core.runtime import rtsys


LINKED = llvm.Linkage.linkonce_odr, llvm.Linkage.weak_odr
"""Linkage types of the functions and constants that numba links with a function."""


class _Library(JITCodeLibrary):
    """Code library that LLVM does not optimize function by function.

    Attributes:
        short: Whether loops are neither unrolled nor vectorized, if llvmlite supports this.
        always: Whether callers must inline the function, if llvmlite supports this.
    """

    short = always = False

    @property
    def module(self) -> Any:
        """Return the LLVM module."""
        return next(self.get_defined_functions()).module

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = str(_Pipeline.context.codegen().target_data)


class WholeLibrary(_Library):
    """Machine code of a function. Functions that are linked with it get internal linkage."""

    def _optimize_final_module(self):
        _edit(self, internal=True)
        check_parameters(self.module)
        super()._optimize_final_module()


class MergedLibrary(_Library):
    """Optimized code that is linked into callers, without machine code."""

    def _finalize_final_module(self):
        self._finalized = True


class PartLibrary(MergedLibrary):
    """Unoptimized code that is linked into callers and optimized there."""

    def _optimize_final_module(self):
        _edit(self, internal=False)


@cache
def _has_function_attributes() -> bool:
    """Return whether llvmlite can set function attributes such as ``optsize``."""
    function = llvm.parse_assembly("declare double @f()").get_function("f")
    function.add_function_attribute("optsize")
    return b"optsize" in function.attributes


def _edit(library: Any, internal: bool) -> None:
    """Set attributes of the functions in a library.

    Args:
        library: A `_Library`.
        internal: Whether the names of linked functions and constants become internal.
    """
    functions = [*library.get_defined_functions()]
    short, always = library.short, library.always
    if not _has_function_attributes():
        short = always = False
    for function in functions if short or internal or always else ():
        if short:
            function.add_function_attribute("optsize")
        if function.linkage not in LINKED:
            if always and b"noinline" not in function.attributes:
                function.add_function_attribute("alwaysinline")
        elif internal and not function.name.startswith("NRT_"):  # numba's passes require these
            function.linkage = "internal"
    for variable in functions[0].module.global_variables if internal else ():
        if variable.linkage in LINKED and variable.name != MARK:
            variable.linkage = "internal"


class _Remembering:
    """Mix-in for typing contexts that replaces built-in functions with `KnownFunction`."""

    _known_functions: dict[Any, tuple[Any, KnownFunction]]
    _short: bool

    def resolve_value_type(self, val):
        """Return the type of a constant."""
        kind = super().resolve_value_type(val)  # type: ignore[misc]
        if type(kind) is not numba.types.Function or not isinstance(val, BuiltinFunctionType):
            return kind
        if val not in self._known_functions or self._known_functions[val][0] is not kind:
            self._known_functions[val] = kind, KnownFunction(kind, self._short)
        return self._known_functions[val][1]


_contexts: dict[tuple[int, bool], Any] = {}


def _remembering(context: Any, short: bool) -> Any:
    """Return a copy of a typing context that uses `KnownFunction`. Declarations are shared."""
    context = getattr(context, "_original", context)
    if (id(context), short) not in _contexts:
        own = copy.copy(context)
        own.__class__ = type("Remembering", (_Remembering, type(context)), {})
        own._original, own._known_functions, own._short = context, {}, short
        _contexts[id(context), short] = own
    return _contexts[id(context), short]


class _Pipeline(CompilerBase):
    """Numba's compiler pipeline with the library and the typing context of this package."""

    library: type = WholeLibrary
    short = always = False
    context: Any = None

    def define_pipelines(self):
        """Set the library and the typing context of this compilation, and return its passes."""
        state = self.state
        # The target context of a pipeline is also a copy.
        typing = _remembering(state.typingctx, self.short)
        state.typingctx = state.targetctx.typing_context = typing
        _Pipeline.context = state.targetctx
        name = f"library_{os.urandom(7).hex()}"
        state.library = self.library(state.targetctx.codegen(), name)
        state.library.short, state.library.always = self.short, self.always
        is_whole = self.library is WholeLibrary
        if is_whole:
            state.library.enable_object_caching()
        else:
            state.flags.no_compile = True
        passes = DefaultPassBuilder.define_nopython_pipeline(state)
        if not is_whole:
            passes.add_pass(_WithoutEntry, "compiled code without an entry for Python")
            passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=True)
class _WithoutEntry(AnalysisPass):
    """Pass that sets a dummy entry point for the dispatcher. `Part.__call__` prevents its use."""

    _name = "manip_dyn_without_entry"

    def __init__(self):
        """Initialize the base class. Numba requires this method."""
        AnalysisPass.__init__(self)

    def run_pass(self, state):
        """Set the entry point of the result to a dummy function."""
        state.cr = state.cr._replace(entry_point=[].append)  # any C function
        return False


@cache
def pipeline(library: type, short: bool, always: bool) -> type:
    """Return a class of compiler pipelines with a subclass of `_Library` and its attributes."""
    return type("Pipeline", (_Pipeline,), {"library": library, "short": short, "always": always})


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Pause garbage collection, because compilation retains most of its many objects."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


class Dispatcher(CPUDispatcher):
    """A function that numba compiles, and its own cache.

    Subclasses cache results by overriding `load_overload` and `save_overload`.
    """

    def __init__(self, py_func, locals=None, targetoptions=None, pipeline_class=None):  # noqa: A002
        """Initialize from a function and options, with the parameters of numba's class."""
        pipeline_class = pipeline_class or pipeline(WholeLibrary, False, False)
        super().__init__(py_func, locals or {}, targetoptions or {}, pipeline_class=pipeline_class)
        self._cache = self

    def load_overload(self, sig, context):
        """Store the target context, and return None: there is no cached result."""
        _Pipeline.context = context

    def compile_by_numba(self, arguments: tuple) -> None:
        """Compile for argument types, or load a stored result."""
        with _collection_paused():
            super().compile(arguments)


def target_context() -> Any:
    """Return the target context of the last compilation, or None before the first one."""
    return _Pipeline.context


def symbol_in(result: Any) -> str:
    """Return the name in LLVM of the function of a compilation result."""
    return result.fndesc.llvm_func_name


def module_of(result: Any) -> Any:
    """Return the LLVM module that contains the function of a compilation result."""
    return result.library.get_function(symbol_in(result)).module


def address(function: Any, arguments: tuple) -> int:
    """Return the address of the machine code of a compiled function for argument types."""
    result = function.results[arguments]
    return result.library.get_pointer_to_function(symbol_in(result))


def stored(result: Any) -> tuple:
    """Return a compilation result as plain data, and set its pointers to environments."""
    content = result._reduce()
    for environment in content[-1]:
        # Compiled code accesses Python objects by the address of its environment.
        pointer = result.library.get_pointer_to_function(environment.env_name)
        if pointer:
            ctypes.c_void_p.from_address(pointer).value = id(environment)
    return content


def restored(context: Any, content: tuple) -> Any:
    """Return the compilation result from the plain data of `stored`."""
    rtsys.initialize(context)  # otherwise done by the first compilation
    return CompileResult._rebuild(context, *content)


def function_type(context: Any, returns: Any, arguments: Any) -> Any:
    """Return the LLVM type of a compiled function with the numba types of its signature."""
    return context.call_conv.get_function_type(returns, arguments)


def emit_return(context: Any, builder: Any, returns: Any, value: Any) -> None:
    """Emit the return of a number, or of None, in numba's calling convention."""
    constant = context.get_dummy_value() if value is None else context.get_constant(returns, value)
    context.call_conv.return_value(builder, constant)


def call_at(context, builder, location, returns, kinds, values, raises):
    """Emit a call in numba's calling convention and return the result, see `arrays.emit_call`."""
    function = builder.inttoptr(location, function_type(context, returns, kinds).as_pointer())
    convention = context.call_conv
    status, result = convention.call_function(builder, function, returns, kinds, values)
    if raises:
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
    return result
