"""What may differ from motion to motion: one value for all, or a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, finite_array
from manip_dyn.core.errors import ManipDynError


def rows_of(name: str, value: Any, size: int, alike: bool = True) -> Matrix:
    """Return a value as rows (1, size), or (N, size) where it has a row per motion.

    Args:
        name: For messages.
        value: A row (size,), or rows (N, size).
        size: Of a row.
        alike: Whether a number stands for `size` equal ones, and (N, 1) for a number per motion.

    Raises:
        ManipDynError: If it is none of these, or not finite.
    """
    try:
        shape = np.shape(value)
    except ValueError:
        shape = (-1,)
    if alike and shape == () and np.asarray(value).dtype.kind in "iuf":
        return np.full((1, size), finite_array(name, value, ()))
    if shape == (size,):
        return finite_array(name, value, shape)[None]
    if len(shape) == 2 and shape[0] > 0 and (shape[1] == size or (alike and shape[1] == 1)):
        numbers = np.asarray(value)
        if numbers.dtype.kind == "f":
            finite = np.isfinite(numbers)
            if not finite.all():
                wrong = np.flatnonzero(~finite.all(axis=1))
                row = numbers[wrong[0]].tolist()
                raise ManipDynError(
                    f"{name} of motion {wrong[0]} is {row}; expected finite numbers"
                )
        rows = finite_array(name, value, shape)
        return np.ascontiguousarray(np.broadcast_to(rows, (shape[0], size)))
    shown = f"has shape {shape}" if shape else f"is {value!r}"
    if -1 in shape:
        shown = "has rows of different lengths"
    few = "a number, " if alike else ""
    each = "(N, 1) or " if alike and size > 1 else ""
    raise ManipDynError(
        f"{name} {shown}; expected {few}({size},), or {each}(N, {size}) for N motions"
    )


def width_of(parameters: Any) -> int:
    """Return how many parameters there are for each motion."""
    try:
        shape = np.shape(parameters)
    except ValueError:
        shape = (-1,) * 3
    if len(shape) not in (1, 2):
        shown = f"has shape {shape}" if shape else f"is {parameters!r}"
        shown = "has rows of different lengths" if -1 in shape else shown
        raise ManipDynError(f"parameters {shown}; expected numbers (k,), or (N, k) for N motions")
    return int(shape[-1])


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
