"""Functions that compiled code calls before anybody has said what they do, see `linked`.

A slot is a stand-in: an ordinary function with the arguments that will be given, and what it does
as long as nothing else is put in its place. Compiled code that calls it only declares a name for
each combination of argument types; `fill` defines what stands behind such a name. Where all that
is open is a `number` or a `table` of them, the name is that of a constant.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types, typing
from numba.core.compiler import Flags
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic

from manip_dyn.core.cache.fingerprint import home
from manip_dyn.core.compiled.decorators import Function, Inlined
from manip_dyn.core.compiler.declaration import declaration
from manip_dyn.core.plain import PLAIN

_INDEX = ir.IntType(64)
_ROW = ir.ArrayType(ir.DoubleType(), 16)
"""A row of a `table`: where it is read nobody knows how many columns there are."""


class Call(NamedTuple):
    """What is known of a call: the slot's `home`, and types; no arguments of numbers."""

    slot: str
    arguments: tuple | None
    returns: Any


calls: dict[str, Call] = {}
"""All calls of slots by their names in LLVM's code."""


class Slot(Inlined):
    """A stand-in whose calls are left open."""

    def __init__(self, py_func: Callable[..., Any], returns: Any):
        """Take what it does until it is filled, and the type of what it returns."""
        super().__init__(py_func, always=False, counted=True)
        self.default = Inlined(py_func, always=False, counted=True)
        self._returns = returns
        self._declared: dict[tuple, Any] = {}
        self._compiler: Any

    def get_call_template(self, args, kws):
        """Tell a compiled caller the type of a call, without compiling."""
        pysig, folded = self._compiler.fold_argument_types(args, kws)
        arguments = tuple(types.unliteral(each) for each in folded)
        if arguments not in self._declared:
            self._declare(arguments)
        signature = typing.signature(self._returns, *arguments)
        name = self.py_func.__name__
        template = typing.make_concrete_template(f"Slot({name})", name, [signature])
        return template, pysig, arguments, {}

    def get_overload(self, sig):
        """Return what stands for the function in compiled callers."""
        return self._declared[tuple(sig)]

    def _declare(self, arguments: tuple) -> None:
        call = Call(home(self.py_func), arguments, self._returns)
        kinds = hashlib.sha256(repr([str(each) for each in arguments]).encode())
        symbol = f"slot/{call.slot}/{kinds.hexdigest()[:24]}"
        calls[symbol] = call
        entry = self._declared[arguments] = functools.partial(self, symbol)
        self.targetctx.insert_user_function(entry, declaration(symbol, arguments, self._returns))


def slot(returns: Any = types.none) -> Callable[[Function], Function]:
    """Leave open what a function does in compiled callers, until they are `linked`.

    Args:
        returns: The type of what it returns.
    """

    def decorated(function: Any) -> Any:
        return function if PLAIN else Slot(function, returns)

    return decorated


def number(kind: Any = types.int64) -> Callable[[Function], Function]:
    """Leave open a number that a function without arguments returns, until it is `linked`.

    Args:
        kind: Its type.
    """

    def decorated(function: Any) -> Any:
        if PLAIN:
            return function
        slot = home(function)
        calls[slot] = Call(slot, None, kind)

        def read(_context):
            def generate(context, builder, _signature, _values):
                place = builder.module.globals.get(slot)
                if place is None:
                    place = _constant(builder.module, slot, context.get_value_type(kind))
                return builder.load(place)

            return typing.signature(kind), generate

        made: Any = intrinsic(read)
        made.py_func = function
        return made

    return decorated


def table(function: Any) -> Any:
    """Leave open a table whose elements a function of row and column returns, until `linked`."""
    if PLAIN:
        return function
    slot = home(function)
    calls[slot] = Call(slot, None, types.float64)

    def read(_context, row, column):
        def generate(context, builder, signature, values):
            place = builder.module.globals.get(slot)
            if place is None:
                place = _constant(builder.module, slot, ir.ArrayType(_ROW, 0))
            row, column = (
                context.cast(builder, value, kind, types.intp)
                for value, kind in zip(values, signature.args, strict=True)
            )
            return builder.load(builder.gep(place, [ir.Constant(_INDEX, 0), row, column]))

        return types.float64(row, column), generate

    made: Any = intrinsic(read)
    made.py_func = function
    return made


def _constant(module: Any, name: str, kind: Any) -> Any:
    """Declare a constant that is defined elsewhere."""
    made = ir.GlobalVariable(module, kind, name)
    made.global_constant = True
    return made


def open_calls(module: Any) -> dict[str, Call]:
    """Return the calls of slots in LLVM's code that nothing has filled, by their names."""
    known = itertools.chain(module.functions, module.global_variables)
    return {each.name: calls[each.name] for each in known if _is_open(each)}


def _is_open(value: Any) -> bool:
    return value.is_declaration and value.name in calls


def fill(library: Any, values: Mapping[str, Any], caller: Any) -> None:
    """Define what calls do, as a part of their callers in a library.

    Args:
        library: Where the callers are.
        values: For names of calls, see `calls`, a compiled function each, or the number that is
            returned, or the table (r, c).
        caller: The compiled function that the callers belong to.
    """
    module = library.create_ir_module("slots")
    with caller.targetctx.push_code_library(library):  # which takes in what is called
        for symbol, value in values.items():
            define = _define_number if calls[symbol].arguments is None else _define_function
            define(module, symbol, value, caller)
    library.add_ir_module(module)
    final = library._final_module
    for each in dict.fromkeys(library._linking_libraries):
        final.link_in(each._get_module_for_linking(), preserve=True)
        getattr(library, "_reload_init", set()).update(getattr(each, "_reload_init", ()))
    library._linking_libraries.clear()
    for symbol in values:
        is_number = calls[symbol].arguments is None
        find = final.get_global_variable if is_number else final.get_function
        find(symbol).linkage = "internal"


def _define_number(module: Any, symbol: str, value: Any, caller: Any) -> None:
    if isinstance(value, np.ndarray):
        rows = np.zeros((len(value), _ROW.count))
        rows[:, : value.shape[1]] = value
        constant = ir.Constant(ir.ArrayType(_ROW, len(rows)), rows.tolist())
    else:
        constant = caller.targetctx.get_constant(calls[symbol].returns, value)
    made = _constant(module, symbol, constant.type)
    made.initializer = constant
    made.linkage = "linkonce_odr"


def _define_function(module: Any, symbol: str, value: Any, caller: Any) -> None:
    call, convention = calls[symbol], caller.targetctx.call_conv
    arguments: Any = call.arguments
    function = ir.Function(module, convention.get_function_type(call.returns, arguments), symbol)
    function.linkage = "linkonce_odr"
    function.attributes.add("alwaysinline")
    convention.decorate_function(function, [f"x{i}" for i in range(len(arguments))], arguments)
    builder = ir.IRBuilder(function.append_basic_block())
    convention.return_value(builder, _emitted(builder, function, call, value, caller))


def _emitted(builder: Any, function: Any, call: Call, value: Any, caller: Any) -> Any:
    """Emit a function's call; return its result."""
    context, arguments = caller.targetctx, call.arguments
    if isinstance(value, (int, float)):
        return context.get_constant(call.returns, value)
    kind: Any = caller.typingctx.resolve_value_type(value)
    flags = Flags()
    caller.targetdescr.options.parse_as_flags(flags, caller.targetoptions)
    with ConfigStack().enter(flags):  # what a function of a user leaves open, its caller says
        called = kind.get_call_type(caller.typingctx, arguments, {})
    packer = context.get_arg_packer(arguments)
    given = packer.from_arguments(builder, context.call_conv.get_arguments(function))
    result = context.get_function(kind, called)(builder, given)
    if call.returns is not types.none:
        return context.cast(builder, result, called.return_type, call.returns)
    if context.enable_nrt:
        context.nrt.decref(builder, called.return_type, result)
    return context.get_dummy_value()
