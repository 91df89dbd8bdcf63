"""Checks of what differentiable functions are called with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from manip_dyn.core.errors import ManipDynError


def check_count(kernel: str, names: Iterable[str], arguments: Sequence) -> None:
    """Refuse a wrong number of arguments."""
    expected = list(names)
    if len(arguments) != len(expected):
        raise ManipDynError(
            f"{kernel} got {len(arguments)} arguments; expected {', '.join(expected)}"
        )


def not_numbers(name: str, given: Any, size: int) -> ManipDynError:
    """Return the error of an argument that is no array of real numbers."""
    return ManipDynError(f"{name} is {str(given)[:80]!r}; expected numbers (..., {size})")


def check_size(name: str, shape: Sequence[int], size: int) -> None:
    """Refuse an argument whose last axis is not of `size` entries."""
    if not shape or shape[-1] != size:
        raise ManipDynError(f"{name} has shape {tuple(shape)}; expected (..., {size})")
