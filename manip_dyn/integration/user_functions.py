"""Functions of the user: compilation, checks and error messages."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core import errors
from numba.core.dispatcher import Dispatcher

from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled, is_compiled
from manip_dyn.core.errors import ManipDynError

COMPILING = (
    errors.NumbaError,
    getattr(errors, "UnsupportedBytecodeError", errors.NumbaError),  # numba 0.58 has none
    NotImplementedError,
    *(AttributeError, TypeError, ValueError),
)
"""What numba raises for functions that it cannot compile."""
ECHOED = ("File", "During:", "There are", "There is")
"""How lines begin after which numba shows the code, or what else it tried."""


def jitted(function: Any) -> Any:
    """Return a function that compiled code can call; what is compiled already stays as it is."""
    return function if is_compiled(function) else compiled(merge=True, keep=False)(function)


def right_hand_side(function: Any, t: float, y: Vector) -> Dispatcher:
    """Return ``rhs(t, y, p, out)``, compiled, of what the user gave.

    Args:
        function: ``rhs(t, y, p, out)`` that writes the derivative into `out` (m,), or
            ``f(t, y)`` that returns it; numba-compiled or plain Python.
        t: A time to try ``f(t, y)`` at, s.
        y: A state (m,) to try it with.
    """
    if _number_of_arguments("rhs", function) == 2:
        inner, rhs = _writing(function, len(y))
        try:
            shape = np.shape(inner(t, y.copy()))
        except Exception as error:
            expected = "numpy functions of t and y that return an array (m,)"
            raise refused({"rhs": function}, error, expected, (t, y)) from error
        if shape != y.shape:
            raise ManipDynError(f"rhs returns an array of shape {shape}; expected {y.shape}")
        return rhs
    return checked_function("rhs", function, "rhs(t, y, p, out) or f(t, y)", 4)


def first_trial(name: str, function: Any, t: float, y: Vector, p: Any) -> Vector | None:
    """Try a right-hand side in Python once: there an index out of range is an error.

    Compiled code would read whatever lies behind the array. Return the derivative (m,), or None
    where Python cannot tell it.
    """
    plain = getattr(function, "py_func", function)
    try:
        p = tuple(np.copy(each) for each in p) if isinstance(p, tuple) else np.copy(p)
        arguments = (t, y.copy(), p, np.zeros_like(y))
        with np.errstate(all="ignore"):
            count = _number_of_arguments(name, function)
            returned = plain(*arguments[:count])
        found = np.asarray(returned if count == 2 else arguments[3], dtype=np.float64)
    except IndexError as error:
        raise ManipDynError(
            f"{name} uses an index out of range: {error}; y has {len(y)} numbers, p "
            f"{_described(p)}"
        ) from error
    except Exception:  # what works only compiled, or fails there too and is told then
        return None
    return found if found.shape == y.shape else None


def _described(p: Any) -> str:
    if isinstance(p, tuple):
        return f"is a tuple of {len(p)}"
    return f"{np.size(p)}"


@lru_cache(maxsize=256)
def checked_function(name: str, function: Any, signature: str, arguments: int) -> Dispatcher:
    """Return `function` as a numba function; it is compiled when its caller is."""
    if _number_of_arguments(name, function) != arguments:
        raise ManipDynError(f"{name} is {_named(function)}; expected a function {signature}")
    return jitted(function)


def refused(
    functions: Mapping[str, Any], error: Exception, expected: str, arguments: tuple[Any, ...] = ()
) -> Exception:
    """Return the error that says which function cannot be compiled, or what it raised itself.

    Args:
        functions: The user's, by what they are for.
        error: What was raised where they were called.
        expected: What they should have been.
        arguments: Some that the function may be called with, if there is one only.
    """
    if isinstance(error, ManipDynError):
        return error
    ran = [*traceback.walk_tb(error.__traceback__)]
    modules = [str(frame.f_globals.get("__name__", "")) for frame, _ in ran]
    if any(module.startswith("numba.core.") for module in modules):
        (function,) = functions.values() if len(functions) == 1 else (None,)
        return not_compilable(" or ".join(functions), function, error, expected, arguments)
    places = [(frame.f_code.co_filename, line) for frame, line in ran]
    found = [name for name, each in functions.items() if any(_holds(each, at) for at in places)]
    if not found and modules[-1].startswith("manip_dyn."):
        return error  # of ours
    name = found[0] if found else " or ".join(functions)
    return failing(name, functions.get(name), error, "numbers for every time and state")


def _holds(function: Any, place: tuple[str, int]) -> bool:
    """Return whether a line of a file is one of a function: compiled code tells no more."""
    code, (file, line) = getattr(function, "py_func", function).__code__, place
    last = max(each for *_, each in code.co_lines() if each)
    return file == code.co_filename and code.co_firstlineno <= line <= last


def not_compilable(
    name: str, function: Any, error: Exception, expected: str, arguments: tuple[Any, ...] = ()
) -> ManipDynError:
    """Return the error that says what numba could not compile: what, in which line, and why.

    Args:
        name: What the function is for.
        function: The user's.
        error: What was raised where it was compiled into something of ours.
        expected: What it should have been.
        arguments: Some that it may be called with.
    """
    plain = getattr(function, "py_func", function)
    text = str(_error_of(plain, arguments) or error)
    place = ""
    if isinstance(plain, FunctionType):
        file = re.escape(Path(plain.__code__.co_filename).name)
        lines = re.findall(rf'{file}"?,? (?:line |\()(\d+)', text)
        place = _place(plain, int(lines[-1]) if lines else plain.__code__.co_firstlineno)
    told = [line.strip() for line in text.splitlines() if line.strip()]
    if told[1:] and told[0].startswith("Failed in"):
        told = told[1:]
    words = " ".join(takewhile(lambda line: not line.startswith(ECHOED), told)) or told[0]
    words = re.sub(r"\.*\s*Raised from .*", "", words.replace(" >>> ", " "))[:300]
    return ManipDynError(
        f"{name} cannot be compiled by numba: {words}{place}; expected {expected}"
    )


def failing(name: str, function: Any, error: Exception, expected: str) -> ManipDynError:
    """Return the error that says where a function of the user's failed in Python, and how."""
    plain = getattr(function, "py_func", function)
    frames = traceback.extract_tb(error.__traceback__)
    code = getattr(plain, "__code__", None)
    own = [each for each in frames if code and each.filename == code.co_filename]
    place = _place(plain, own[-1].lineno or 0) if own and code else ""
    why = " ".join(str(error).split())[:300]
    return ManipDynError(
        f"{name} fails: {type(error).__name__}: {why}{place}; expected {expected}"
    )


def _place(function: FunctionType, line: int) -> str:
    return f" ('{function.__name__}', line {line} of {function.__code__.co_filename})"


def _error_of(function: Any, arguments: tuple[Any, ...]) -> Exception | None:
    """Return what numba says of a function alone, without the functions of ours that call it."""
    if not arguments or not isinstance(function, FunctionType):
        return None
    try:
        numba.njit(function).compile(tuple(numba.typeof(each) for each in arguments))
    except Exception as error:
        return error
    return None


@lru_cache(maxsize=256)
def _writing(function: Any, size: int) -> tuple[Dispatcher, Dispatcher]:
    """Return ``f(t, y)``, compiled, and its in-place form for states of `size`."""
    inner = checked_function("rhs", function, "f(t, y)", 2)

    @jitted
    def rhs(t, y, p, out):
        derivative = inner(t, y)
        for i in range(size):
            out[i] = derivative[i]

    return inner, rhs


@lru_cache(maxsize=256)
def _number_of_arguments(name: str, function: Any) -> int:
    plain: Callable[..., Any] | Any = getattr(function, "py_func", function)
    if not isinstance(plain, FunctionType):
        raise ManipDynError(
            f"{name} is {_named(function)}; expected a Python function or one compiled by numba"
        )
    return len(inspect.signature(plain).parameters)


def _named(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if name is None:
        return repr(function)
    return f"{name}{inspect.signature(getattr(function, 'py_func', function))}"
