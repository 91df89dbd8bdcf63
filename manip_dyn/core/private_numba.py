"""All use of numba that its documentation does not describe, guarded by a check at import.

Plain `numba.njit` optimizes every helper function twice, once alone and once inside its caller,
and resolves the same operators again for every use. With the names below, helpers are optimized
only inside their callers, machine code is stored on disk and called by symbol. Where one of these
names is missing or different, or with ``MANIP_DYN_STOCK_NUMBA=1``, `STOCK` is true and the package
uses `numba.njit` as it is: correct, but slower to compile, and without a disk cache.

Nothing here changes objects that other numba code uses.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import gc
import inspect
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import BuiltinFunctionType, FunctionType
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass

from manip_dyn.core.cache import announced, cache_directory, file_locks
from manip_dyn.core.callables import CallableType, call_of, has_callable_type
from manip_dyn.core.fingerprint import qualified_name
from manip_dyn.core.interruption import run_uninterrupted
from manip_dyn.core.operators import KnownFunction

machine_code: Any = None
"""The module `machine_code`, which `compiled` sets."""
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
"""Private names in use, with the parameters that they must have where it matters."""
UNDOCUMENTED_OPTIONS = ("no_cpython_wrapper", "no_cfunc_wrapper")
"""Options of `numba.jit` in use that its documentation does not list."""


def missing_name() -> str:
    """Return the first private name that this numba lacks or defines differently, or ""."""
    for name, parameters in PRIVATE.items():
        module, _, path = name.partition(":")
        try:
            value: Any = import_module(module)
            for attribute in path.split("."):
                instance = attribute.endswith("()")
                value = numba.njit(_probe) if instance else getattr(value, attribute)
            if parameters and ", ".join(inspect.signature(value).parameters) != parameters:
                return name
        except (ImportError, AttributeError, TypeError, ValueError):
            return name
    return ""


def _probe() -> None:
    """Do nothing: a function whose dispatcher is examined."""


def _is_stock() -> bool:
    """Return whether numba is used as it is."""
    if os.environ.get("MANIP_DYN_STOCK_NUMBA", "") not in ("", "0"):
        return True
    missing = missing_name()
    if missing:
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


PARAMETER_PREFIX = "parameter/"
"""Prefix of the symbols of template parameters, see `linking`."""
LINKED = llvm.Linkage.linkonce_odr, llvm.Linkage.weak_odr
"""Linkage of functions and constants that are linked with a function."""


class _Library(JITCodeLibrary):
    """Code that LLVM optimizes once, as a whole."""

    short = always = False

    @property
    def module(self) -> Any:
        """Return the LLVM module."""
        return next(self.get_defined_functions()).module

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = str(_Pipeline.context.codegen().target_data)


class WholeLibrary(_Library):
    """Machine code of one function. Names of linked functions stay internal to it."""

    def _optimize_final_module(self):
        _edit(self, self.short, internal=True, always=False)
        _check_parameters(self.module)
        super()._optimize_final_module()


class MergedLibrary(_Library):
    """Optimized code without machine code, for its callers."""

    def _finalize_final_module(self):
        self._finalized = True


class PartLibrary(MergedLibrary):
    """Code that only its callers optimize."""

    def _optimize_final_module(self):
        _edit(self, self.short, internal=False, always=self.always)


def _check_parameters(module: Any) -> None:
    """Raise a `ValueError` for a template parameter without an argument."""
    for value in (*module.functions, *module.global_variables):
        if value.is_declaration and value.name.startswith(PARAMETER_PREFIX):
            name = value.name.split("/")[1]
            raise ValueError(f"the template parameter {name} must have an argument")


@cache
def _has_function_attributes() -> bool:
    """Return whether llvmlite sets attributes of functions; before 0.48, of results."""
    function = llvm.parse_assembly("declare double @f()").get_function("f")
    function.add_function_attribute("optsize")
    return b"optsize" in function.attributes


def _edit(library: Any, short: bool, internal: bool, always: bool) -> None:
    """Set attributes of the functions of a library, where llvmlite can.

    Args:
        library: The library.
        short: Whether their loops are neither unrolled nor vectorized.
        internal: Whether the names of linked functions become internal.
        always: Whether the function itself must be inlined.
    """
    functions = [*library.get_defined_functions()]
    if not _has_function_attributes():
        short = always = False
    for function in functions if short or internal or always else ():
        if short:
            function.add_function_attribute("optsize")
        if function.linkage not in LINKED:
            if always and b"noinline" not in function.attributes:
                function.add_function_attribute("alwaysinline")
        elif internal and not function.name.startswith("NRT_"):  # numba's passes look for these
            function.linkage = "internal"
    for variable in functions[0].module.global_variables if internal else ():
        if variable.linkage in LINKED and variable.name != machine_code.MARK:
            variable.linkage = "internal"


class _Remembering:
    """Typing with `KnownFunction`."""

    _known: dict[Any, tuple[Any, KnownFunction]]
    _short: bool

    def resolve_value_type(self, val):
        """Return the type of a constant."""
        kind = super().resolve_value_type(val)  # type: ignore[misc]
        if type(kind) is not types.Function or not isinstance(val, BuiltinFunctionType):
            return kind
        if val not in self._known or self._known[val][0] is not kind:
            self._known[val] = kind, KnownFunction(kind, self._short)
        return self._known[val][1]


_contexts: dict[tuple[int, bool], Any] = {}


def _remembering(context: Any, short: bool) -> Any:
    """Return a copy of a typing context, sharing its declarations, that uses `KnownFunction`."""
    context = getattr(context, "_original", context)
    if (id(context), short) not in _contexts:
        own = copy.copy(context)
        own.__class__ = type("Remembering", (_Remembering, type(context)), {})
        own._original, own._known, own._short = context, {}, short
        _contexts[id(context), short] = own
    return _contexts[id(context), short]


class _Pipeline(CompilerBase):
    """Numba's pipeline with a library, a typing context and a name of our own."""

    library: type = WholeLibrary
    short = always = False
    context: Any = None

    def define_pipelines(self):
        """Return the passes."""
        state = self.state
        # The target context of a pipeline is its own copy, too.
        state.typingctx = state.targetctx.typing_context = _remembering(
            state.typingctx, self.short
        )
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
    """Fill in the entry point, which a dispatcher requires; `Part.__call__` guards it."""

    _name = "manip_dyn_without_entry"

    def __init__(self):
        """Do nothing; numba requires it."""
        AnalysisPass.__init__(self)

    def run_pass(self, state):
        """Replace None."""
        state.cr = state.cr._replace(entry_point=[].append)  # any C function of its own
        return False


@cache
def _pipeline(library: type, short: bool, always: bool) -> type:
    settings = {"library": library, "short": short, "always": always}
    return type("Pipeline", (_Pipeline,), settings)


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Pause garbage collection: compilers create many objects, and keep most of them."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of functions that only compiled code calls."""


def _renamed(function: FunctionType) -> FunctionType:
    """Return a function under a unique name, of which numba makes the names of machine code.

    Processes that fork give the same names to functions of one name, and a process that loads the
    machine code of both from disk would call the first in place of the second.
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


class _Dispatcher(CPUDispatcher):
    """A compiled function whose compiled callers use its `callable_type`."""

    def __init__(self, py_func, locals=None, targetoptions=None, pipeline_class=None):  # noqa: A002
        """Take a function and options, as numba's class does."""
        pipeline_class = pipeline_class or _pipeline(WholeLibrary, False, False)
        renamed = _renamed(py_func)
        super().__init__(renamed, locals or {}, targetoptions or {}, pipeline_class=pipeline_class)
        functools.update_wrapper(self, py_func)
        self.py_func, self._cache = py_func, self
        self.results: dict[tuple, Any] = {}
        name = qualified_name(py_func)
        self.callable_type = CallableType(name, py_func, lambda _, types: self.declare(types))

    @classmethod
    def new(
        cls, function: Any, options: dict, library: type, short: bool = False, always: bool = False
    ) -> Any:
        """Return the compiled form of a function.

        Args:
            function: The Python function.
            options: Numba's options.
            library: One of the libraries above.
            short: Whether loops are neither unrolled nor vectorized.
            always: Whether it must be inlined.
        """
        pipeline = _pipeline(library, short, always)
        options = {"nopython": True, **options}
        dispatcher = cls(function, targetoptions=options, pipeline_class=pipeline)
        dispatcher.kind, dispatcher.short = f"{library.__name__} {short} {always}", short
        return dispatcher

    def __repr__(self) -> str:
        """Return name, parameters and file."""
        code = self.py_func.__code__
        parameters = ", ".join(code.co_varnames[: code.co_argcount])
        call = f"{self.py_func.__name__}({parameters})"
        return f"<compiled {call} of '{code.co_filename}' at {id(self):#x}>"

    def declare(self, arguments: tuple) -> None:
        """Define calls by compiled code for argument types."""
        self.compile(arguments)

    def compile(self, sig):
        """Compile for argument types, or load the machine code from disk."""
        arguments = tuple(getattr(sig, "args", sig))
        if arguments not in self.results:
            with announced(self.py_func):
                run_uninterrupted(self._compile, arguments)
        return self.results[arguments].entry_point

    def _compile(self, arguments: tuple) -> None:
        with _collection_paused(), file_locks():
            super().compile(arguments)

    @property
    def cache_path(self) -> str:
        """The cache folder, for numba's `stats`."""
        return str(cache_directory())

    def load_overload(self, sig, context):
        """Return a stored result for argument types, or None."""

    def save_overload(self, sig, result):
        """Take a result that has been compiled."""
        self.results[tuple(sig)] = result


class Part(_Dispatcher):
    """A function that is linked into its callers."""

    def symbol_for(self, arguments: tuple) -> tuple[str, list[Any]]:
        """Return the symbol for argument types and the libraries to link with a caller."""
        result = self.results[arguments]
        return result.fndesc.llvm_func_name, [result.library]

    def module_of(self, arguments: tuple) -> Any:
        """Return the LLVM module for argument types."""
        return _module(self.results[arguments])

    def __call__(self, *arguments, **keywords):
        """Raise: Python cannot call a function without an entry point."""
        raise TypeError(f"{self.py_func.__qualname__} can only be called by compiled code")

    def save_overload(self, sig, result):
        """Let compiled functions call it."""
        super().save_overload(sig, result)
        result.library.finalize()
        name, arguments = result.fndesc.llvm_func_name, tuple(sig)
        returns = result.signature.return_type
        emit = call_of(name, returns, arguments, [result.library])
        self.callable_type.define(arguments, returns, emit)


class Whole(_Dispatcher):
    """A function with machine code of its own.

    Attributes:
        cached: Whether machine code is stored on disk.
        part: The function that is linked into compiled callers; None: they call machine code.
    """

    cached = True
    part: Part | None = None

    def like(self, function: Any) -> Whole:
        """Return another function compiled with the same options."""
        whole = type(self).new(function, self.targetoptions, WholeLibrary, self.short)
        return whole if self.part is None else whole.merged()

    def as_part(self) -> Part:
        """Return the same function for linking, not optimized."""
        options = self.targetoptions | WRAPPERS
        return Part.new(self.py_func, options, PartLibrary, self.short)

    def merged(self) -> Whole:
        """Let compiled callers link the function instead of calling its machine code."""
        self.part = Part.new(self.py_func, self.targetoptions | WRAPPERS, MergedLibrary)
        self.callable_type = self.part.callable_type
        return self

    def symbol_for(self, arguments: tuple) -> tuple[str, list[Any]]:
        """Return the symbol for argument types and the libraries to link with a caller."""
        if self.part is not None:
            return self.part.symbol_for(arguments)
        return machine_code.symbol_of(self, arguments), []

    def load_overload(self, sig, context):
        """Return the stored result for argument types, or None."""
        arguments = tuple(sig)
        _Pipeline.context = context
        content = machine_code.load(self, arguments) if self.cached else None
        if content is None:
            return None
        rtsys.initialize(context)  # which compiling does anyway
        try:
            result = CompileResult._rebuild(context, *content)
        except machine_code.UNREADABLE:
            return None
        self._take(arguments, result)
        return result

    def save_overload(self, sig, result):
        """Store a result and let compiled functions call it."""
        arguments = tuple(sig)
        result = result._replace(type_annotation="")  # printing it takes as long as compiling
        content = result._reduce()
        for environment in content[-1]:
            _set_environment(result.library, environment)
        self._take(arguments, result)
        if self.cached:
            machine_code.save(self, arguments, content, _module(result))

    def _take(self, arguments: tuple, result: Any) -> None:
        self.results[arguments] = result
        if self.part is not None:
            return
        returns = result.signature.return_type
        symbol = machine_code.symbol_of(self, arguments)
        llvm.add_symbol(symbol, address(self, arguments))
        machine_code.symbols[symbol] = (self, arguments)
        emit = machine_code.marked(call_of(symbol, returns, arguments))
        self.callable_type.define(arguments, returns, emit)


class WithoutEntry(Whole):
    """A function with machine code that Python cannot call."""

    __call__ = Part.__call__


class Lazy(Whole):
    """A function that returns nothing and is compiled at its first call, also by compiled code.

    Compiled code calls a few instructions that load the address of the machine code, and call
    Python to compile it if there is none yet.
    """

    def __init__(self, *arguments, **options):
        """Take a function, as `Whole` does."""
        super().__init__(*arguments, **options)
        self._addresses: dict[tuple, ctypes.c_void_p] = {}
        self._alive: list[Any] = []

    def declare(self, arguments: tuple) -> None:
        """Define calls by compiled code for argument types."""
        if arguments in self._addresses:
            return
        self._addresses[arguments] = ctypes.c_void_p()
        symbol = machine_code.symbol_of(self, arguments)
        llvm.add_symbol(symbol, self._trampoline(arguments))
        machine_code.symbols[symbol] = (self, arguments)
        emit = machine_code.marked(call_of(symbol, types.none, arguments))
        self.callable_type.define(arguments, types.none, emit)

    def compile_declared(self) -> bool:
        """Compile for all types that compiled code calls with; return whether any were new."""
        missing = [each for each in self._addresses if each not in self.results]
        for arguments in missing:
            self.compile(arguments)
        return bool(missing)

    def _take(self, arguments: tuple, result: Any) -> None:
        self.results[arguments] = result
        self.declare(arguments)
        self._addresses[arguments].value = address(self, arguments)

    def _trampoline(self, arguments: tuple) -> int:
        """Return the address of the instructions that compiled code calls."""
        compiling = ctypes.CFUNCTYPE(None)(lambda: self.compile(arguments) and None)
        name = f"lazy_{self.py_func.__name__}_{os.urandom(7).hex()}"
        library = _Pipeline.context.codegen().create_library(name)
        module = library.create_ir_module(name)
        kind = function_type(_Pipeline.context, types.none, arguments)
        function = ir.Function(module, kind, name)
        builder = ir.IRBuilder(function.append_basic_block())
        word = ir.IntType(64)
        stored = ctypes.addressof(self._addresses[arguments])
        stored = builder.inttoptr(word(stored), word.as_pointer())
        procedure = ir.FunctionType(ir.VoidType(), ()).as_pointer()
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(stored))):
            callback = word(ctypes.cast(compiling, ctypes.c_void_p).value)
            builder.call(builder.inttoptr(callback, procedure), ())
            with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(stored))):
                builder.ret(kind.return_type(-1))  # the callback has printed the error
        target = builder.inttoptr(builder.load(stored), kind.as_pointer())
        builder.ret(builder.call(target, function.args))
        library.add_ir_module(module)
        library.finalize()
        self._alive += [library, compiling]
        return library.get_pointer_to_function(name)


for _kind in (Part, Whole, WithoutEntry, Lazy):
    has_callable_type(_kind)


def _module(result: Any) -> Any:
    """Return the LLVM module of a result."""
    return result.library.get_function(result.fndesc.llvm_func_name).module


def _set_environment(library: Any, environment: Any) -> None:
    """Give compiled code the Python objects that a function refers to."""
    place = library.get_pointer_to_function(environment.env_name)
    if place:
        ctypes.c_void_p.from_address(place).value = id(environment)


def address(function: Whole, arguments: tuple) -> int:
    """Return the address of the machine code of a compiled function for argument types."""
    result = function.results[arguments]
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


def function_type(context: Any, returns: Any, arguments: Any) -> Any:
    """Return the LLVM type of a compiled function."""
    return context.call_conv.get_function_type(returns, arguments)


def call_at(context: Any, builder: Any, place: Any, returns: Any, kinds: tuple, values: Any):
    """Emit a call of the function at an address; return its status and its result."""
    function = builder.inttoptr(place, function_type(context, returns, kinds).as_pointer())
    return context.call_conv.call_function(builder, function, returns, kinds, values)


class Bitcode:
    """Unoptimized code of a function, which can be stored and linked."""

    @staticmethod
    def of(part: Part, arguments: tuple) -> tuple[bytes, str, Any]:
        """Return the code of a compiled part, its symbol and its result type."""
        part.compile(arguments)
        result = part.results[arguments]
        name = result.fndesc.llvm_func_name
        return _module(result).as_bitcode(), name, result.signature.return_type

    @staticmethod
    def library(code: bytes, name: str) -> Any:
        """Return the code as a library that compiled functions link."""
        library = PartLibrary(_Pipeline.context.codegen(), name)
        library.add_llvm_module(llvm.parse_bitcode(code))
        library.finalize()
        return library
