"""User functions: compilation, checks and error messages."""

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

from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled, is_compiled, plain_function
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.fingerprint import digest_of

COMPILING = (
    errors.NumbaError,
    getattr(errors, "UnsupportedBytecodeError", errors.NumbaError),  # missing in numba 0.58
    NotImplementedError,
    *(AttributeError, TypeError, ValueError),
)
"""Exceptions that numba raises for functions that it cannot compile."""
ECHOED = ("File", "During:", "There are", "There is")
"""Prefixes of lines in numba's messages that start a listing of code or of other attempts."""


def jitted(function: Any) -> Any:
    """Return a numba function for calls from compiled code; a numba function is returned as is."""
    return function if is_compiled(function) else compiled(merge=True, keep=False)(function)


def right_hand_side(function: Any, t: float, y: Vector) -> Any:
    """Return the numba function ``rhs(t, y, p, out)`` of a user function.

    Args:
        function: ``rhs(t, y, p, out)``, which writes the derivative into `out` (m,), or
            ``f(t, y)``, which returns it. It may be compiled by numba or plain Python.
        t: Time of a trial call of ``f(t, y)``, s.
        y: State (m,) of the trial call.

    Raises:
        ManipDynError: If the number of arguments is invalid, or if the trial call of ``f(t, y)``
            fails or returns another shape than (m,).
    """
    if _number_of_arguments("rhs", function) == 2:
        inner, rhs = _writing(function, values_in(function), len(y))
        try:
            shape = np.shape(inner(t, y.copy()))
        except Exception as error:
            expected = "numpy functions of t and y that return an array (m,)"
            raise user_error({"rhs": function}, error, expected, (t, y)) from error
        if shape != y.shape:
            raise ManipDynError(f"rhs must return an array of shape {y.shape}, got {shape}.")
        return rhs
    return checked_function("rhs", function, "rhs(t, y, p, out) or f(t, y)", 4)


def check_sizes(function: Any, y: Vector, p: Any) -> None:
    """Raise `ManipDynError` if a kernel with `sizes` is called with an unsuitable state or p.

    Kernels do not check indices. Numbers after the efforts in p are for a user's Jacobian.
    """
    states, efforts = getattr(function, "sizes", (len(y), None))
    if len(y) != states:
        raise ManipDynError(f"y0 must be {states} numbers for this kernel, got {len(y)}.")
    shape = p.shape if isinstance(p, np.ndarray) else ()
    if efforts is not None and (len(shape) != 1 or len(p) < efforts):
        raise ManipDynError(
            f"p must begin with {efforts} efforts for this kernel, got shape {shape}."
        )


def first_trial(name: str, function: Any, t: float, y: Vector, p: Any) -> Vector | None:
    """Return the derivative (m,) of a trial call in Python, or None if it fails or is not (m,).

    Python detects an index that is out of range; compiled code does not.

    Raises:
        ManipDynError: If an index is out of range.
    """
    plain = plain_function(function)
    try:
        p = tuple(np.copy(array) for array in p) if isinstance(p, tuple) else np.copy(p)
        arguments = (t, y.copy(), p, np.zeros_like(y))
        with np.errstate(all="ignore"):
            count = _number_of_arguments(name, function)
            returned = plain(*arguments[:count])
        values = np.asarray(returned if count == 2 else arguments[3])
        derivative = values.real.astype(np.float64)
    except IndexError as error:
        raise ManipDynError(
            f"{name} uses an index out of range: {error}. y has {len(y)} numbers, p "
            f"{_described(p)}."
        ) from error
    except Exception:  # works only when compiled, or fails there with a better message
        return None
    if np.iscomplexobj(values):
        raise ManipDynError(f"{name} must return real numbers, got complex ones.")
    return derivative if derivative.shape == y.shape else None


def _described(p: Any) -> str:
    if isinstance(p, tuple):
        return f"is a tuple of {len(p)}"
    return f"{np.size(p)}"


def checked_function(name: str, function: Any, signature: str, arguments: int) -> Any:
    """Return `function` as a numba function after checking its number of `arguments`."""
    if _number_of_arguments(name, function) != arguments:
        raise ManipDynError(f"{name} must be a function {signature}, got {_named(function)}.")
    return _jitted(function, values_in(function))


@lru_cache(maxsize=256)
def _jitted(function: Any, values: str) -> Any:
    """Return `function` as a numba function that contains the `values` that it refers to."""
    return jitted(function)


def values_in(function: Any) -> str:
    """Return a digest of a Python function and the values to which it refers.

    Compilation fixes these values. The result is "" if they cannot be identified, and for a
    function that the user compiled, because its values are fixed already.
    """
    return digest_of(function) if isinstance(function, FunctionType) else ""


def user_error(
    functions: Mapping[str, Any], error: Exception, expected: str, arguments: tuple[Any, ...] = ()
) -> Exception:
    """Return an error that names the failed user function, or `error` if this package raised it.

    Args:
        functions: User functions by argument name.
        error: The exception of the call.
        expected: Description of valid functions.
        arguments: Valid arguments of the function, if there is only one.
    """
    if isinstance(error, ManipDynError):
        return error
    frames = [*traceback.walk_tb(error.__traceback__)]
    modules = [str(frame.f_globals.get("__name__", "")) for frame, _ in frames]
    if any(module.startswith("numba.core.") for module in modules):
        (function,) = functions.values() if len(functions) == 1 else (None,)
        return not_compilable(" or ".join(functions), function, error, expected, arguments)
    lines = [(frame.f_code.co_filename, line) for frame, line in frames]
    names = [
        name
        for name, function in functions.items()
        if any(_contains(function, line) for line in lines)
    ]
    if not names and modules[-1].startswith("manip_dyn."):
        return error  # an error of this package
    name = names[0] if names else " or ".join(functions)
    return failing(name, functions.get(name), error, "numbers for every time and state")


def _contains(function: Any, location: tuple[str, int]) -> bool:
    """Return whether a location (file, line) is in the code of a function."""
    code, (file, line) = plain_function(function).__code__, location
    last = max(number for *_, number in code.co_lines() if number)
    return file == code.co_filename and code.co_firstlineno <= line <= last


def not_compilable(
    name: str, function: Any, error: Exception, expected: str, arguments: tuple[Any, ...] = ()
) -> ManipDynError:
    """Return an error with the function, line and reason of a failed compilation.

    Args:
        name: Name of the argument.
        function: The user function, or None if it is unknown.
        error: The exception of the compilation.
        expected: Description of valid functions.
        arguments: Valid arguments, with which the function is compiled alone, or ().
    """
    plain = plain_function(function)
    text = str(_error_of(plain, arguments) or error)
    location = ""
    if isinstance(plain, FunctionType):
        file = re.escape(Path(plain.__code__.co_filename).name)
        lines = re.findall(rf'{file}"?,? (?:line |\()(\d+)', text)
        location = _location(plain, int(lines[-1]) if lines else plain.__code__.co_firstlineno)
    report = [line.strip() for line in text.splitlines() if line.strip()]
    if report[1:] and report[0].startswith("Failed in"):
        report = report[1:]
    words = " ".join(takewhile(lambda line: not line.startswith(ECHOED), report)) or report[0]
    words = re.sub(r"\.*\s*Raised from .*", "", words.replace(" >>> ", " "))[:300]
    return ManipDynError(f"{name} cannot be compiled by numba: {words}{location}. Use {expected}.")


def failing(name: str, function: Any, error: Exception, expected: str) -> ManipDynError:
    """Return an error with the line and exception of a function that raised an exception."""
    plain = plain_function(function)
    frames = traceback.extract_tb(error.__traceback__)
    code = getattr(plain, "__code__", None)
    # Cached machine code refers to the file in the folder where it was compiled.
    file = Path(code.co_filename).name if code else ""
    own = [frame for frame in frames if Path(frame.filename).name == file]
    location = _location(plain, own[-1].lineno or 0) if own and code else ""
    reason = " ".join(str(error).split())[:300]
    return ManipDynError(
        f"{name} fails: {type(error).__name__}: {reason}{location}. Use {expected}."
    )


def _location(function: FunctionType, line: int) -> str:
    return f" ('{function.__name__}', line {line} of {function.__code__.co_filename})"


def _error_of(function: Any, arguments: tuple[Any, ...]) -> Exception | None:
    """Compile a Python function alone; return numba's exception, or None."""
    if not arguments or not isinstance(function, FunctionType):
        return None
    try:
        numba.njit(function).compile(tuple(numba.typeof(argument) for argument in arguments))
    except Exception as error:
        return error
    return None


@lru_cache(maxsize=256)
def _writing(function: Any, values: str, size: int) -> tuple[Any, Any]:
    """Compile ``f(t, y)``; return it and its in-place form for states (size,). See `_jitted`."""
    inner = checked_function("rhs", function, "f(t, y)", 2)

    @jitted
    def rhs(t, y, p, out):
        derivative = inner(t, y)
        for i in range(size):
            out[i] = derivative[i]

    return inner, rhs


def _number_of_arguments(name: str, function: Any) -> int:
    plain: Callable[..., Any] | Any = plain_function(function)
    if not isinstance(plain, FunctionType):
        raise ManipDynError(
            f"{name} must be a Python function or one compiled by numba, got {_named(function)}."
        )
    return _number_of_parameters(plain)


@lru_cache(maxsize=256)
def _number_of_parameters(plain: FunctionType) -> int:
    return len(inspect.signature(plain).parameters)


def _named(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if name is None:
        return repr(function)
    return f"{name}{inspect.signature(getattr(function, 'py_func', function))}"
