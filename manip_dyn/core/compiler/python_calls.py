"""How Python calls machine code: functions of a type share what takes their arguments apart.

Numba writes that into each function, and all that can go wrong: half of a short function's code.
Here a function has an entry of two instructions that hands its address to a wrapper of its type,
which is compiled once and kept on disk. What is not made of numbers, arrays and tuples of such
still has its own.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.callwrapper import PyCallWrapper

from manip_dyn.core.cache import cache_directory, platform_of, warn_once
from manip_dyn.core.compiler.declaration import declaration
from manip_dyn.core.compiler.whole_library import WholeLibrary
from manip_dyn.core.files import read_checked, write_checked
from manip_dyn.core.fingerprint import type_name

PREFIX = "manip_dyn_call/"
"""What the wrappers' names begin with."""
SOURCE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
"""Tells versions of this file apart."""


class PythonCall(NamedTuple):
    """What a wrapper is for.

    Attributes:
        counted: Whether it counts references to the memory of arrays.
        arguments: The types of the function's arguments.
        returns: That of its result.
    """

    counted: bool
    arguments: tuple
    returns: Any


_shared: dict[str, PythonCall] = {}
"""The wrappers that are there, by their names."""
_kept_alive: list[Any] = []
_OBJECT = ir.IntType(8).as_pointer()


def add_entry(context: Any, library: Any, description: Any, environment: Any) -> None:
    """Add to a library what Python calls a function of it by; it lets others run meanwhile."""
    arguments, returns = tuple(description.argtypes), description.restype
    if not (all(map(_is_plain, arguments)) and _is_number(returns)):
        context.create_cpython_wrapper(library, description, environment, None, release_gil=True)
        return
    symbol = declare(context, PythonCall(context.enable_nrt, arguments, returns))
    module = library.create_ir_module("entry")
    kind = context.call_conv.get_function_type(returns, arguments)
    function = ir.Function(module, kind, description.llvm_func_name)
    wrapper = ir.Function(module, _wrapper_type(), symbol)
    entry_type = ir.FunctionType(_OBJECT, [_OBJECT] * 3)
    entry = ir.Function(module, entry_type, description.llvm_cpython_wrapper_name)
    builder = ir.IRBuilder(entry.append_basic_block())
    place = builder.bitcast(function, _OBJECT)
    builder.ret(builder.call(wrapper, [place, entry.args[1]], tail=True))
    library.add_ir_module(module)


def wrappers_of(library: Any) -> list[tuple[str, PythonCall]]:
    """Return the wrappers that a library calls, with their names."""
    names = [each.name for each in library._final_module.functions if each.is_declaration]
    return [(name, _shared[name]) for name in sorted(names) if name.startswith(PREFIX)]


def declare(context: Any, call: PythonCall) -> str:
    """Let machine code call a wrapper: load or compile it if it is not there; return its name."""
    symbol = wrapper_name(context, call)
    if symbol in _shared:
        return symbol
    path = cache_directory() / f"{symbol.replace('/', '-')}.wrapper"
    content = read_checked(path)
    codegen = context.codegen()
    if content is not None:
        library = codegen.unserialize_library(pickle.loads(content))
    else:
        context.refresh()  # as before all that numba compiles, but not before what it loads
        library = WholeLibrary(codegen, symbol)
        library.enable_object_caching()
        description = declaration(symbol, call.arguments, call.returns, "compiled function")
        module = library.create_ir_module(symbol)
        own = context.subtarget(enable_nrt=call.counted)  # what loads does not say whether
        _Wrapper(own, module, None, description, None, None, release_gil=True).build()
        library.add_ir_module(module)
        library.finalize()
        made = pickle.dumps(library.serialize_using_object_code(), protocol=-1)
        try:
            write_checked(path, made)
        except OSError as error:
            warn_once(f"a wrapper cannot be kept in '{path.parent}' ({error.strerror or error})")
    llvm.add_symbol(symbol, library.get_pointer_to_function(symbol))
    _kept_alive.append(library)
    _shared[symbol] = call
    return symbol


class _Wrapper(PyCallWrapper):
    """Numba's wrapper of a function, of any that it is given the address of."""

    def build(self):
        """Emit it."""
        wrapper: Any = ir.Function(self.module, _wrapper_type(), self.fndesc.mangled_name)
        builder = ir.IRBuilder(wrapper.append_basic_block("entry"))
        convention = self.context.call_conv
        kind = convention.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        self.func = builder.bitcast(wrapper.args[0], kind.as_pointer())
        api = self.context.get_python_api(builder)
        self.build_wrapper(api, builder, None, wrapper.args[1], None)
        return wrapper, api

    def get_env(self, api, builder):
        """Return nothing: plain arguments and results need no constants of Python's."""


def _wrapper_type() -> ir.FunctionType:
    """Return the type of a wrapper: the address of a function and a tuple to what it returns."""
    return ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT])


def _is_plain(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        return all(_is_plain(each) for each in parts.types)
    return isinstance(kind, types.Array) or _is_number(kind)


def _is_number(kind: Any) -> bool:
    numbers = (types.Integer, types.Float, types.Boolean, types.NoneType)
    return isinstance(kind, numbers) and not isinstance(kind, types.Literal)


def wrapper_name(context: Any, call: PythonCall) -> str:
    """Return a name that tells wrappers apart, also those of other machines."""
    kinds = [type_name(each) for each in (*call.arguments, call.returns)]
    text = f"{call.counted} {kinds} {SOURCE} {platform_of(context)}"
    return PREFIX + hashlib.sha256(text.encode()).hexdigest()[:24]
