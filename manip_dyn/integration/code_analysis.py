"""Properties of user functions that follow from their bytecode, including compiled callees.

Bytecode is read instead of source code, which functions of `exec` do not have. It differs between
versions of Python. Only the instructions in `HARMLESS` are smooth, so an unknown instruction of a
later version causes more inspections, not fewer.
"""

from __future__ import annotations

import builtins
import dis
import re
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from manip_dyn.core.cache import GENERATED
from manip_dyn.core.compiled import is_compiled, plain_function
from manip_dyn.core.fingerprint import names_of

SMOOTH_NAMES = re.compile(
    "sinh?|cosh?|sqrt|sum|dot|pi|range|enumerate|zip|len|shape|size|T|float(64)?|array|asarray|arange"
    "|concatenate|copy|eye|(empty|ones|zeros)(_like)?"
)
"""Names of functions, attributes and modules that do not make a function change rapidly."""
SUMS = ("+", "-", "*", "@", "[]", "ADD", "SUBTRACT", "MULTIPLY", "MATRIX_MULTIPLY", "SUBSCR")
"""Operators, and the ends of their opcode names in Python 3.10, that keep a function smooth."""
HARMLESS = re.compile(
    "(LOAD|STORE|DELETE|CALL|PRECALL|RETURN|JUMP|BUILD|UNPACK|COPY|MAKE|GET_ITER|FOR_ITER|LIST)"
    "(_.*)?|END_FOR|POP_(TOP|ITER)|PUSH_NULL|SET_FUNCTION_ATTRIBUTE|UNARY_(NEGATIVE|POSITIVE)"
    "|KW_NAMES|(ROT|DUP)_.*|SWAP|NOP|NOT_TAKEN|RERAISE|RESUME|EXTENDED_ARG|(BINARY|STORE)_SLICE"
)
"""Names of instructions that move values, call functions, or repeat a loop."""
CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
"""Names of instructions for constants; the second one since Python 3.14."""
QUOTIENTS, POWERS = ("/", "TRUE_DIVIDE"), ("**", "POWER")
HIGHEST_POWER = 8
"""Largest exponent of a smooth power. High powers of smooth functions are short peaks."""


def _cached(analysis: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Cache the results of an analysis. Callable objects, also unhashable ones, count as None."""
    cached = lru_cache(maxsize=256)(analysis)

    @wraps(analysis)
    def of_function(function: Any) -> bool:
        plain = plain_function(function)
        return cached(plain if isinstance(plain, FunctionType) else None)

    return of_function


@_cached
def reads_time(function: Any) -> bool:
    """Return whether a function reads its first argument, the time."""
    code = getattr(next(_closure(function), None), "__code__", None)
    if code is None or not code.co_argcount:
        return False
    names = {x.argval for x in _instructions(code) if "LOAD" in x.opname}
    return any(code.co_varnames[0] in (n if isinstance(n, tuple) else (n,)) for n in names)


def has_conditions(function: Any) -> bool:
    """Return whether a function uses its argument for the time and compares numbers.

    The comparison may be in a compiled function that it calls.
    """
    return compares(function) and reads_time(function)


@_cached
def compares(function: Any) -> bool:
    """Return whether a function compares numbers, also in compiled functions that it calls."""
    return any(_compares(callee.__code__) for callee in _closure(function))


def may_have_peaks(function: Any) -> bool:
    """Return whether a function that is not smooth reads the time or compares numbers."""
    return not is_smooth(function) and (reads_time(function) or compares(function))


@_cached
def is_smooth(function: Any) -> bool:
    """Return whether a function cannot change in a short time only.

    This is the case if it consists of sums, products, small powers, quotients with constants, sine
    and cosine, without conditions. The same holds for compiled functions that it calls; generated
    kernels of robots are smooth. Otherwise the function may be smooth, but the result is False.
    """
    return all(
        _is_smooth_code(callee.__code__) and all(map(_is_smooth_value, _values(callee).values()))
        for callee in _closure(function)
    )


def in_python(function: Any, is_traced: Callable[[Any], bool]) -> Any:
    """Return a Python function that calls compiled functions in Python if an argument is traced.

    Args:
        function: A Python function, or one compiled by numba. It is not changed.
        is_traced: Function of a value that returns whether compiled code does not accept it.
    """
    return _copied(plain_function(function), is_traced, {})


def _copied(plain: Any, is_traced: Callable[[Any], bool], copies: dict[Any, Any]) -> Any:
    if plain in copies:
        return copies[plain]
    cells = tuple(CellType() for _ in plain.__closure__ or ())
    variables = dict(plain.__globals__)
    copy = FunctionType(plain.__code__, variables, plain.__name__, plain.__defaults__, cells)
    copies[plain] = copy
    own = dict(zip(plain.__code__.co_freevars, cells, strict=True))
    for name, value in _values(plain).items():
        if is_compiled(value) and _has_own_code(plain_function(value)):
            value = _selected(value, _copied(plain_function(value), is_traced, copies), is_traced)
        if name in own:
            own[name].cell_contents = value
        else:
            variables[name] = value
    return copy


def _selected(function: Any, copy: Any, is_traced: Callable[[Any], bool]) -> Any:
    """Return a function that calls `copy` if an argument is traced, otherwise `function`."""
    return lambda *arguments: (copy if any(map(is_traced, arguments)) else function)(*arguments)


def _closure(function: Any) -> Iterator[FunctionType]:
    """Yield a function and the compiled functions that it calls, as Python functions."""
    seen: set[FunctionType] = set()
    pending = [function]
    while pending:
        plain = plain_function(pending.pop())
        if _has_own_code(plain) and plain not in seen:
            seen.add(plain)
            yield plain
            pending += filter(is_compiled, _values(plain).values())


def _has_own_code(plain: Any) -> bool:
    """Return whether a value is a Python function, but not a generated one."""
    return isinstance(plain, FunctionType) and not (plain.__module__ or "").startswith(GENERATED)


def _values(plain: FunctionType) -> dict[str, Any]:
    """Return the values of global, built-in and closure variables of a function by name."""
    scope = vars(builtins) | plain.__globals__
    values = {name: scope[name] for name in names_of(plain.__code__) if name in scope}
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        values[name] = cell.cell_contents
    return values


def _is_smooth_value(value: Any) -> bool:
    plain = plain_function(value)
    if isinstance(plain, FunctionType):
        return is_compiled(value)  # its code is checked, or generated
    constant = (int, float, complex, np.generic, np.ndarray, tuple, ModuleType)
    return isinstance(value, constant) or _is_smooth_name(getattr(value, "__name__", ""))


def _is_smooth_name(name: str) -> bool:
    return bool(SMOOTH_NAMES.fullmatch(name))


@lru_cache(maxsize=256)
def _compares(code: CodeType) -> bool:
    return any(x.opname.startswith(("COMPARE", "CONTAINS")) for x in _instructions(code))


@lru_cache(maxsize=256)
def _is_smooth_code(code: CodeType) -> bool:
    """Return whether instructions and names in a code object are smooth, apart from globals."""
    before: Any = None
    for instruction in _instructions(code):
        if not _is_smooth_operation(instruction, before):
            return False
        before = instruction
    return True


def _is_smooth_operation(instruction: Any, before: Any) -> bool:
    """Return whether an instruction is smooth after the instruction `before`."""
    name, _, kind = instruction.opname.partition("_")
    if name == "LOAD" and kind in ("ATTR", "METHOD"):
        return _is_smooth_name(str(instruction.argval))
    if HARMLESS.fullmatch(instruction.opname):
        return "_IF_" not in instruction.opname
    if name not in ("BINARY", "INPLACE"):
        return False
    operator = instruction.argrepr.rstrip("=") if kind == "OP" else kind
    constant = before.opname in CONSTANTS
    if operator in POWERS:
        return constant and 0 <= before.argval <= HIGHEST_POWER
    constant = constant or before.opname in ("LOAD_GLOBAL", "LOAD_DEREF")
    return operator in SUMS or (operator in QUOTIENTS and constant)


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """Yield the instructions of a code object and of the functions inside it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)
