"""Tests in Python call what is compiled for compiled callers alone."""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from numba import njit


@cache
def called(function: Any) -> Callable[..., Any]:
    """Return what calls it from Python, compiled; itself where nothing is compiled."""
    if isinstance(function, FunctionType):
        return function

    @njit
    def call(*arguments):
        return function(*arguments)

    return call
