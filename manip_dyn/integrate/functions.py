"""The user's functions: compiled if they are not, and known to the disk cache if they can be."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import OPTIONS, is_compiled
from manip_dyn.core.errors import ManipDynError


def jitted(function: Any) -> Any:
    """Return a function that compiled code can call; what is compiled already stays as it is."""
    return function if is_compiled(function) else numba.jit(**OPTIONS)(function)


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
        except NumbaError as error:
            raise not_compilable("rhs", error) from error
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


def not_compilable(name: str, error: Exception) -> ManipDynError:
    """Return the error that says what numba could not compile."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Failed in", "During:", "File"))]
    return ManipDynError(f"{name} cannot be compiled by numba: {' '.join(told)[:600]}")


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
