"""What may differ from motion to motion: one value for all, or a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, finite_array
from manip_dyn.core.errors import ManipDynError


def rows_of(name: str, value: Any, size: int) -> Matrix:
    """Return a value as rows (1, size), or (N, size) where it has a row per motion.

    A number stands for `size` equal ones, a list for a row.

    Raises:
        ManipDynError: If it is neither, or not finite.
    """
    try:
        shape = np.shape(value)
    except ValueError:
        shape = (-1,) * 3
    if shape == () and np.asarray(value).dtype.kind in "iuf":
        return np.full((1, size), finite_array(name, value, ()))
    if len(shape) == 1:
        return finite_array(name, value, (size,))[None]
    if len(shape) == 2 and shape[0] > 0:
        numbers = np.asarray(value)
        if numbers.dtype.kind == "f" and numbers.shape[1] == size:
            finite = np.isfinite(numbers)
            if not finite.all():
                wrong = np.flatnonzero(~finite.all(axis=1))
                row = numbers[wrong[0]].tolist()
                raise ManipDynError(
                    f"{name} of motion {wrong[0]} is {row}; expected finite numbers"
                )
        return finite_array(name, value, (shape[0], size))
    shown = f"has shape {shape}" if shape else f"is {value!r}"
    if -1 in shape:
        shown = "has rows of different lengths"
    raise ManipDynError(f"{name} {shown}; expected ({size},), or (N, {size}) for N motions")


def number_of_motions(counts: dict[str, int]) -> int:
    """Return how many motions there are, where each argument has 1 row or as many as motions."""
    first: tuple[str, int] | None = None
    for name, count in counts.items():
        if count > 1 and first is None:
            first = (name, count)
        if first and count not in (1, first[1]):
            raise ManipDynError(
                f"{name} has {count} rows and {first[0]} {first[1]}; expected as many in both, "
                "one for each motion, or a single one for all"
            )
    return first[1] if first else 1


def listed(value: Any, kind: type) -> Sequence[Any] | None:
    """Return what is one `kind`, or a sequence of that kind, as a sequence; else None."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(e, kind) for e in value):
        return value
    return None
