"""Call functions from Python that are compiled for compiled callers only."""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from numba import njit


@cache
def called(function: Any) -> Callable[..., Any]:
    """Return a compiled wrapper for Python, or the function itself without the compiler."""
    if isinstance(function, FunctionType):
        return function

    @njit
    def call(*arguments):
        return function(*arguments)

    return call
