"""Checks of arguments: each returns the clean value or raises `ManipDynError`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.errors import ManipDynError, shortened

MOST_DIGITS = 17
"""Digits that tell any two numbers apart."""


def distinct_digits(value: float, *others: float, digits: int = 6) -> list[str]:
    """Return numbers as texts, with `digits` digits, or more where `value` were like another.

    Sizes are told apart: -3.1416 is beyond a limit of 3.1416 by digits that are not there.
    """
    shown: list[str] = []
    for count in range(digits, MOST_DIGITS + 1):
        shown = [f"{each:.{count}g}" for each in (value, *others)]
        sizes = [each.lstrip("-") for each in shown]
        alike = [abs(each) == abs(value) for each in others]
        if alike == [each == sizes[0] for each in sizes[1:]]:
            break
    return shown


def rounded_down(value: float, digits: int = 6) -> float:
    """Return what a number above 0 is with `digits` digits, not more than it."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return float(f"{math.floor(value * scale) / scale:.{digits}g}")


def rounded_up(value: float, digits: int = 6) -> float:
    """Return what a number above 0 is with `digits` digits, not less than it."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return float(f"{math.ceil(value * scale) / scale:.{digits}g}")


Array = NDArray[np.float64]
Vector = Array
"""One axis, such as (n,)."""
Matrix = Array
"""Two axes, such as (4, 4) or (m, n)."""
MOST_NANOSECONDS = 2**62
"""Nanoseconds that whole numbers of 64 bits can count, and add."""
MOST_ROWS = 10_000_000
"""Of what is sampled: some GB."""
Tensor = Array
"""Three axes or more, such as (k, 4, 4)."""
Counts = NDArray[np.int64]
"""Whole numbers, such as how many parts (k,) intervals have."""


def finite_vector(name: str, value: Any, size: int) -> Vector:
    """Return `value` as a new float64 array of shape (size,) without NaN or infinity."""
    return finite_array(name, value, (size,))


def finite_array(name: str, value: Any, shape: tuple[int, ...]) -> Vector:
    """Return `value` as a new C-contiguous float64 array of `shape` without NaN or infinity."""
    try:
        masked = isinstance(value, np.ma.MaskedArray)
        given = value if masked else np.asarray(value)
        if given.dtype.kind not in "iufO" or (masked and np.ma.is_masked(given)):
            raise TypeError(f"dtype {given.dtype}")
        array = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ManipDynError(f"{name} is {shortened(value)}; expected {_amount(shape)}") from error
    if array.shape == () != shape:
        raise ManipDynError(f"{name} is {shortened(value)}; expected {_amount(shape)}")
    if array.shape != shape:
        raise ManipDynError(f"{name} has shape {array.shape}; expected {shape}")
    if not np.isfinite(array).all():
        absent = np.equal(given, np.array(None))  # which converts to NaN
        if absent.any():
            what = f"whose entry {_first(absent)} is None"
            raise ManipDynError(f"{name} is {shortened(value)}, {what}; expected {_amount(shape)}")
        shown = array.tolist() if array.size <= 30 else f"an array with {_not_finite(array)}"
        raise ManipDynError(f"{name} is {shown}; expected finite numbers")
    return array


def rotation_matrix(name: str, value: Any) -> Matrix:
    """Return `value` as a (3, 3) float64 array that is a rotation to 1e-6."""
    matrix = np.array(value, dtype=np.float64)
    proper = matrix.shape == (3, 3) and np.abs(matrix @ matrix.T - np.eye(3)).max() < 1e-6
    if not proper or np.linalg.det(matrix) < 0.0:
        raise ManipDynError(f"{name} is {matrix.tolist()}; expected a rotation matrix (3, 3)")
    return matrix


def finite(name: str, value: Any, unit: str = "") -> float:
    """Return `value` as a float that is neither NaN nor infinite."""
    number = _number(name, value, unit)
    if np.ndim(value) or not math.isfinite(number):
        raise ManipDynError(f"{name} is {value}{_space(unit)}; expected a finite number")
    return number


def positive(name: str, value: Any, unit: str = "") -> float:
    """Return `value` as a finite float greater than zero."""
    number = _number(name, value, unit)
    if not (math.isfinite(number) and number > 0.0):
        raise ManipDynError(f"{name} is {number:g}{_space(unit)}; expected a number above 0")
    return number


def not_negative(name: str, value: Any, unit: str = "") -> float:
    """Return `value` as a finite float that is zero or more."""
    number = _number(name, value, unit)
    if not (math.isfinite(number) and number >= 0.0):
        raise ManipDynError(f"{name} is {number:g}{_space(unit)}; expected 0 or more")
    return number


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return `value` as an int from `least` to `most`; truth values and 3.0 are none."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        wanted = f"{least} or more" if most is None else f"from {least} to {most}"
        raise ManipDynError(f"{name} is {shortened(value)}; expected a whole number, {wanted}")
    return int(value)


def truth(name: str, value: Any) -> bool:
    """Return `value` as a bool; numbers and texts are none."""
    if not isinstance(value, (bool, np.bool_)):
        raise ManipDynError(f"{name} is {shortened(value)}; expected true or false")
    return bool(value)


def nanoseconds(name: str, seconds: Any) -> int:
    """Return a positive duration in seconds as a whole number of nanoseconds, at least 1."""
    duration = round(positive(name, seconds, "s") * 1e9)
    if duration < 1:
        raise ManipDynError(f"{name} is {seconds:g} s; expected at least 1 nanosecond")
    if duration > MOST_NANOSECONDS:
        raise ManipDynError(
            f"{name} is {seconds:g} s; expected {1e-9 * MOST_NANOSECONDS:g} s at most"
        )
    return duration


def sampled(period: Any, duration: float) -> float:
    """Return a period, s, above 0, in which `duration` s give at most `MOST_ROWS` rows."""
    step = positive("period", period, "s")
    if duration > MOST_ROWS * step:
        raise ManipDynError(
            f"period is {step:g} s, {duration / step:.3g} rows in {duration:g} s; expected at "
            f"most {MOST_ROWS} rows, a period of {rounded_up(duration / MOST_ROWS, 2):g} s or more"
        )
    return step


def _amount(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} numbers" if len(shape) == 1 else f"numbers of shape {shape}"


def _not_finite(array: Vector) -> str:
    bad = ~np.isfinite(array)
    return f"{array[bad][0]} at {_first(bad)}"


def _first(condition: NDArray[np.bool_]) -> int | tuple[int, ...]:
    """Return where a condition holds first: an index, or one of each axis."""
    place = tuple(np.argwhere(condition)[0].tolist())
    return place[0] if len(place) == 1 else place


def _number(name: str, value: Any, unit: str) -> float:
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)):
            raise TypeError("a truth value, or a text")
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        wanted = f"a number in {unit}" if unit else "a number"
        raise ManipDynError(f"{name} is {shortened(value)}; expected {wanted}") from error


def _space(unit: str) -> str:
    return f" {unit}" if unit else ""
