"""Templates: compiled functions with parameters, which LLVM links with their arguments.

Without templates, a time loop would be compiled again for each right-hand side, although most of
the work, type inference and code generation, is the same. Therefore such a function calls
*template parameters*. Its first compilation creates a template, the unoptimized LLVM code, which
is stored on disk. `instantiate` links the template and its arguments to one LLVM module, which
LLVM optimizes as a whole.

If some parameters have no arguments, the result is another template.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import itertools
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, is_jitted

from manip_dyn.core import machine_code
from manip_dyn.core.callables import (
    PARAMETER_PREFIX,
    CallableType,
    call_of,
    has_callable_type,
)
from manip_dyn.core.compiled import (
    OPTIONS,
    PLAIN,
    Function,
    Part,
    inlined,
    library_of,
    plain_function,
)
from manip_dyn.core.fingerprint import digest_of, names_of, qualified_name
from manip_dyn.core.private_numba import STOCK, emit_return, function_type

_INDEX = ir.IntType(64)
_ROW = ir.ArrayType(ir.DoubleType(), 16)
"""LLVM type of a row of a `table_parameter`. It has a fixed length, so that code which reads a
table does not depend on the number of columns, at most 16."""
_unknown = itertools.count()


class Call(NamedTuple):
    """A use of a template parameter in compiled code.

    Attributes:
        parameter: Qualified name of the parameter.
        arguments: Numba types of the arguments; None for a number or a table.
        returns: Numba type of the result, of the number, or of the entries of the table.
    """

    parameter: str
    arguments: tuple | None
    returns: Any


calls: dict[str, Call] = {}
"""Calls of template parameters by symbol."""


@has_callable_type
class Parameter:
    """A template parameter that is a function.

    Attributes:
        py_func: The default, a Python function.
        default: The compiled default.
    """

    def __init__(self, function: Callable[..., Any], returns: Any):
        """Initialize from the default function and the numba type of its result."""
        self.py_func, self.default = function, inlined(function)
        self.dependencies = function, str(returns)
        self._name, self._returns = qualified_name(function), returns
        self.callable_type = CallableType(self._name, function, self._declare)

    def _declare(self, _typing: Any, arguments: tuple) -> None:
        kinds = hashlib.sha256(repr([str(argument) for argument in arguments]).encode())
        symbol = f"{PARAMETER_PREFIX}{self._name}/{kinds.hexdigest()[:24]}"
        calls[symbol] = Call(self._name, arguments, self._returns)
        emit = call_of(symbol, self._returns, arguments)
        self.callable_type.define(arguments, self._returns, emit)


def function_parameter(returns: Any = types.none) -> Callable[[Function], Function]:
    """Return a decorator that declares a function as a template parameter.

    With stock numba (see `private_numba`), the decorator is `inlined`.

    Args:
        returns: Numba type of the result.
    """

    def decorated(function: Any) -> Any:
        return inlined(function) if STOCK else Parameter(function, returns)

    return decorated


def number_parameter(kind: Any = types.int64) -> Callable[[Function], Function]:
    """Return a decorator that declares a number as a template parameter.

    The decorated function has no arguments. With stock numba (see `private_numba`), its result is
    the default of the parameter. Otherwise the parameter has no default.

    Args:
        kind: Numba type of the number.
    """

    def decorated(function: Any) -> Any:
        if STOCK:
            return inlined(function)
        name = f"{PARAMETER_PREFIX}{qualified_name(function)}"
        calls[name] = Call(qualified_name(function), None, kind)

        def read(_context):
            def generate(context, builder, _signature, _values):
                return builder.load(_constant(builder.module, name, context.get_value_type(kind)))

            return kind(), generate

        parameter: Any = intrinsic(read)
        parameter.py_func = function
        return parameter

    return decorated


def table_parameter(function: Any) -> Any:
    """Declare a table with up to 16 columns as a template parameter, and return it.

    Args:
        function: Function of row and column. With stock numba (see `private_numba`), its results
            are the default of the parameter. Otherwise the parameter has no default.
    """
    if STOCK:
        return inlined(function)
    name = f"{PARAMETER_PREFIX}{qualified_name(function)}"
    calls[name] = Call(qualified_name(function), None, types.float64)

    def read(_context, row, column):
        def generate(context, builder, signature, values):
            table = _constant(builder.module, name, ir.ArrayType(_ROW, 0))
            row, column = (
                context.cast(builder, value, kind, types.intp)
                for value, kind in zip(values, signature.args, strict=True)
            )
            return builder.load(builder.gep(table, [ir.Constant(_INDEX, 0), row, column]))

        return types.float64(row, column), generate

    parameter: Any = intrinsic(read)
    parameter.py_func = function
    return parameter


def _constant(module: Any, name: str, kind: Any) -> Any:
    """Return a global constant of an LLVM module, which is declared if necessary."""
    if name not in module.globals:
        module.globals[name] = constant = ir.GlobalVariable(module, kind, name)
        constant.global_constant = True
    return module.globals[name]


_instances: dict[tuple[Any, str], Any] = {}


def instantiate(program: Any, arguments: Mapping[Any, Any]) -> Any:
    """Return a compiled function with arguments in place of its template parameters.

    Args:
        program: A `compiled` function that uses template parameters directly or indirectly.
        arguments: Mapping of template parameters to compiled functions, numbers or tables (r, c).
            A `Parameter` as an argument selects its default.
    """
    values = tuple(
        (qualified_name(plain_function(key)), getattr(value, "default", value))
        for key, value in arguments.items()
    )
    try:
        mark = _mark(values)
    except TypeError:  # a table cannot be hashed
        mark = _mark.__wrapped__(values)
    if (program, mark) not in _instances:
        if STOCK:
            _instances[program, mark] = _Rebinding(arguments).of(program)
        else:
            function = _forwarding(program.py_func, Instance(program, values), f"_{mark}")
            _instances[program, mark] = program.like(function)
    return _instances[program, mark]


@lru_cache(maxsize=1024)
def _mark(values: tuple) -> str:
    """Return a suffix for the name of an instance that identifies its arguments."""
    return digest_of(values)[:24] or f"in_memory_{next(_unknown)}"


def _forwarding(function: Any, callee: Any, mark: str) -> Any:
    """Return a function with the parameters of `function` that calls `callee`.

    Args:
        function: The function whose name and parameters are used.
        callee: The function to call.
        mark: Suffix of the qualified name.
    """
    names = ", ".join(inspect.signature(function).parameters)
    source = f"def {function.__name__}({names}):\n    return callee({names})\n"
    namespace = {"callee": callee, "__name__": function.__globals__["__name__"]}
    exec(compile(source, function.__code__.co_filename, "exec"), namespace)
    forwarding: Any = namespace[function.__name__]
    forwarding.__qualname__ = function.__qualname__ + mark
    return forwarding


_templates: dict[Any, Part] = {}


def _template(program: Any, arguments: tuple) -> tuple[bytes, str, Any, dict[str, Call]]:
    """Return a template for argument types, which is loaded or compiled.

    Returns:
        LLVM bitcode, symbol, result type, and the calls of template parameters by symbol.
    """
    if program not in _templates:
        _templates[program] = program.as_part()
    part = _templates[program]
    stored = machine_code.load(part, arguments, ".template")
    if stored is None:
        code, symbol, returns = part.bitcode(arguments)
        module = part.module_of(arguments)
        stored = code, symbol, returns, _open_calls(module)
        machine_code.save(part, arguments, stored, module, ".template")
    calls.update(stored[3])
    return stored


def _open_calls(module: Any) -> dict[str, Call]:
    """Return the calls of template parameters in an LLVM module, by symbol."""
    values = itertools.chain(module.functions, module.global_variables)
    return {
        value.name: calls[value.name]
        for value in values
        if value.is_declaration and value.name in calls
    }


@has_callable_type
class Instance:
    """A template with arguments, which a compiled function calls.

    Attributes:
        dependencies: The compiled function, and pairs of parameter names and arguments.
    """

    def __init__(self, program: Any, values: tuple[tuple[str, Any], ...]):
        """Initialize from a compiled function, and pairs of qualified names and arguments."""
        self.dependencies = program, values
        self._program, self._values = program, dict(values)
        name = qualified_name(program.py_func)
        self.callable_type = CallableType(name, program.py_func, self._declare)

    def __call__(self, *arguments: Any) -> Any:
        """Raise an error, because only compiled code can call an instance."""
        raise TypeError("a template can only be called by compiled code.")

    def _declare(self, typing: Any, arguments: tuple) -> None:
        """Define the call of this instance for argument types.

        Functions that are linked may call other template parameters, whose arguments are linked,
        too. Calls of parameters without an argument remain.
        """
        code, symbol, returns, opened = _template(self._program, arguments)
        libraries = [library_of(code, symbol)]
        constants: dict[str, Any] = {}
        functions: dict[str, str] = {}
        while unresolved := {s for s in opened if opened[s].parameter in self._values} - {
            *constants,
            *functions,
        }:
            for open_symbol in unresolved:
                call = opened[open_symbol]
                value = self._values[call.parameter]
                if call.arguments is None or _is_constant(value, call):
                    constants[open_symbol] = value
                    continue
                functions[open_symbol], linked = _resolved(value, call, typing)
                libraries += linked
                for library in linked:
                    opened |= _open_calls(library.module)
        emit_call = call_of(symbol, returns, arguments, libraries)

        def emit(context, builder, signature, values):
            for name, value in constants.items():
                define = _define_number if calls[name].arguments is None else _define_constant
                define(context, builder.module, name, value)
            for name, target in functions.items():
                _define_function(context, builder.module, name, target)
            return emit_call(context, builder, signature, values)

        emit.libs = emit_call.libs  # type: ignore[attr-defined]
        self.callable_type.define(arguments, returns, emit)


def _resolved(value: Any, call: Call, typing: Any) -> tuple[str, list[Any]]:
    """Return the symbol of a function with the signature of a call, and the libraries to link.

    If the signatures differ, the symbol is that of a new function, which calls the function.
    """
    if hasattr(value, "symbol_for"):
        kind = value.callable_type
        signature = kind.get_call_type(typing, call.arguments, {})
        returns = types.unliteral(signature.return_type)  # literals have the same representation
        if tuple(signature.args) == call.arguments and returns == call.returns:
            return value.symbol_for(call.arguments)
    names = ", ".join(f"x{i}" for i in range(len(call.arguments or ())))
    result = f"value({names})" if callable(value) else "value"
    body = result if call.returns is types.none else f"return returns({result})"
    namespace = {"value": value, "returns": call.returns, "__name__": __name__}
    exec(f"def argument({names}):\n    {body}\n", namespace)
    part: Any = inlined(namespace["argument"])
    part.callable_type.get_call_type(typing, call.arguments, {})
    return part.symbol_for(call.arguments)


def _define_number(context: Any, module: Any, symbol: str, value: Any) -> None:
    """Define a number or a table as a constant in an LLVM module."""
    if isinstance(value, np.ndarray):
        rows = np.zeros((len(value), _ROW.count))
        rows[:, : value.shape[1]] = value
        constant = ir.Constant(ir.ArrayType(_ROW, len(rows)), rows.tolist())
    else:
        constant = context.get_constant(calls[symbol].returns, value)
    variable = _constant(module, symbol, constant.type)
    variable.initializer = constant
    variable.linkage = "weak_odr"


def _is_constant(value: Any, call: Call) -> bool:
    """Return whether a function with the signature of a call only returns a constant.

    Many defaults do. They need not be compiled, which takes 10 to 50 ms with many array arguments.
    """
    kinds = {types.none: (type(None),), types.float64: (float, int)}.get(call.returns, (int,))
    if not isinstance(value, Part) or type(_constant_of(value)) not in kinds:
        return False
    operations = {operation.opname for operation in dis.get_instructions(value.py_func)}
    fits = value.py_func.__code__.co_argcount == len(call.arguments or ())
    return fits and operations <= {"RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


def _constant_of(function: Part) -> Any:
    """Return the last constant of a function: the result if it only returns a constant."""
    return (function.py_func.__code__.co_consts or (None,))[-1]


def _define_constant(context: Any, module: Any, symbol: str, value: Any) -> None:
    """Define a function in an LLVM module that returns the constant of the function `value`."""
    builder = _new_function(context, module, symbol)
    emit_return(context, builder, calls[symbol].returns, _constant_of(value))


def _define_function(context: Any, module: Any, symbol: str, target: str) -> None:
    """Define a function in an LLVM module that calls `target` with the same arguments."""
    builder = _new_function(context, module, symbol)
    called = cgutils.get_or_insert_function(module, builder.function.function_type, target)
    builder.ret(builder.call(called, builder.function.args))


def _new_function(context: Any, module: Any, symbol: str) -> ir.IRBuilder:
    """Return the builder of a new function in an LLVM module, which is inlined into its caller."""
    call = calls[symbol]
    function = ir.Function(module, function_type(context, call.returns, call.arguments), symbol)
    function.linkage = "weak_odr"
    function.attributes.add("alwaysinline")
    return ir.IRBuilder(function.append_basic_block())


def constant_function(value: Any) -> Any:
    """Return a compiled function that returns a number or the entries of a table.

    A function is returned unchanged.
    """
    if callable(value):
        return value
    if isinstance(value, np.ndarray):
        return inlined(lambda row, column: value[row, column])
    return inlined(lambda: value)


class _Rebinding:
    """Copies functions and replaces template parameters with arguments, without linking."""

    def __init__(self, arguments: Mapping[Any, Any]):
        """Initialize from a mapping of template parameters to arguments."""
        self._arguments = {id(key): constant_function(x) for key, x in arguments.items()}
        self._copies: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """Return a value in which template parameters are replaced.

        A parameter results in its argument, and a function that uses parameters in a copy. Other
        values are returned unchanged.
        """
        if id(value) not in self._copies and id(value) in self._arguments:
            argument = self._copies[id(value)] = self._arguments[id(value)]
            self._copies[id(value)] = self.of(argument)
        function = plain_function(value)
        if id(value) in self._copies or not isinstance(function, FunctionType):
            return self._copies.get(id(value), value)
        if not (PLAIN or is_jitted(value)):
            return value
        self._copies[id(value)] = value
        globals_ = function.__globals__
        names = {name for name in names_of(function.__code__) if name in globals_}
        changed = {name: self.of(globals_[name]) for name in names}
        if any(changed[name] is not globals_[name] for name in names):
            copy = FunctionType(
                function.__code__,
                globals_ | changed,
                function.__name__,
                function.__defaults__,
                function.__closure__,
            )
            self._copies[id(value)] = copy if PLAIN else numba.njit(**OPTIONS)(copy)
        return self._copies[id(value)]
