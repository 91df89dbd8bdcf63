"""Checks of arguments, and numbers in messages.

Each check returns the converted value or raises `ManipDynError`.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.errors import ManipDynError, shortened

MOST_DIGITS = 17
"""Number of digits that is sufficient to distinguish any two floats."""


def distinct_digits(value: float, *others: float, digits: int = 6) -> list[str]:
    """Return numbers as strings, with enough digits to distinguish `value` from the others.

    The magnitudes are compared: -3.14161 must not be printed as -3.1416 next to a limit of 3.1416.

    Args:
        value: The first number.
        others: The other numbers, such as limits.
        digits: Smallest number of significant digits. The largest is `MOST_DIGITS`.
    """
    strings: list[str] = []
    for count in range(digits, MOST_DIGITS + 1):
        strings = [f"{number:.{count}g}" for number in (value, *others)]
        first, *rest = (string.lstrip("-") for string in strings)
        if [string == first for string in rest] == [abs(x) == abs(value) for x in others]:
            break
    return strings


def rounded_down(value: float, digits: int = 6) -> float:
    """Return a positive number rounded down to `digits` significant digits."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return float(f"{math.floor(value * scale) / scale:.{digits}g}")


def rounded_up(value: float, digits: int = 6) -> float:
    """Return a positive number rounded up to `digits` significant digits."""
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    return float(f"{math.ceil(value * scale) / scale:.{digits}g}")


Array = NDArray[np.float64]
Vector = Array
"""Array with one axis, such as (n,)."""
Matrix = Array
"""Array with two axes, such as (4, 4) or (m, n)."""
FLOAT = np.dtype(np.float64)
FEW = 1000
"""Largest number of entries of an array that is checked by its norm."""
MOST_NANOSECONDS = 2**62
"""Longest duration, ns: half the range of positive signed 64-bit integers."""
MOST_ROWS = 10_000_000
"""Largest number of rows of samples, which require a few gigabytes."""
Tensor = Array
"""Array with three or more axes, such as (k, 4, 4)."""
Counts = NDArray[np.int64]
"""Array of integers, such as numbers of subintervals (k,)."""


def finite_vector(name: str, value: Any, size: int) -> Vector:
    """Return `value` as a new float64 array of shape (size,) without NaN or infinity."""
    return finite_array(name, value, (size,))


def finite_array(name: str, value: Any, shape: tuple[int, ...]) -> Vector:
    """Return `value` as a new C-contiguous float64 array of `shape` without NaN or infinity."""
    new = type(value) in (list, tuple) and len(value) <= FEW and {*map(type, value)} == {float}
    if new:
        value = np.array(value)  # faster than the general path
    if _is_small_array(value, shape):
        array = value if new else value.copy()
        # Faster than `np.isfinite`; unlike `array.dot`, this does not warn of an overflow.
        if math.isfinite(np.vdot(array, array)):
            return array
    try:
        masked = isinstance(value, np.ma.MaskedArray)
        content = value if masked else np.asarray(value)
        if content.dtype.kind == "c":
            raise ManipDynError(_wrong(name, "real numbers", shortened(value)))
        if content.dtype.kind not in "iufO" or (masked and np.ma.is_masked(content)):
            raise TypeError(f"dtype {content.dtype}")
        array = np.array(content, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ManipDynError(_wrong(name, _amount(shape), shortened(value))) from error
    if array.shape == () != shape:
        raise ManipDynError(_wrong(name, _amount(shape), shortened(value)))
    if array.shape != shape:
        raise ManipDynError(f"{name} must have shape {shape}, got {array.shape}.")
    if not np.isfinite(array).all():
        absent = np.equal(content, np.array(None))  # which converts to NaN
        if absent.any():
            value_text = f"{shortened(value)} with None at {_first(absent)}"
            raise ManipDynError(_wrong(name, _amount(shape), value_text))
        value_text = array.tolist() if array.size <= 30 else f"an array with {_not_finite(array)}"
        raise ManipDynError(_wrong(name, "finite numbers", value_text))
    return array


def _is_small_array(value: Any, shape: tuple[int, ...]) -> bool:
    if type(value) is not np.ndarray or value.dtype is not FLOAT or value.shape != shape:
        return False
    return value.size <= FEW  # BLAS uses threads for long vectors


def _wrong(name: str, condition: str, value: object) -> str:
    """Return the message about an argument that does not satisfy a condition."""
    return f"{name} must be {condition}, got {value}."


def rotation_matrix(name: str, value: Any) -> Matrix:
    """Return a rotation matrix (3, 3), orthonormal to 1e-6, as a new float64 array."""
    matrix = finite_array(name, value, (3, 3))
    (a, b, c), (d, e, f), (g, h, i) = rows = matrix.tolist()  # floats: faster than numpy
    products = (
        *(a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, g * g + h * h + i * i - 1.0),
        *(a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i),
    )
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if max(map(abs, products)) >= 1e-6 or determinant < 0.0:
        raise ManipDynError(_wrong(name, "a rotation matrix (3, 3)", rows))
    return matrix


def finite(name: str, value: Any, unit: str = "") -> float:
    """Return `value` as a float that is neither NaN nor infinite."""
    number = _number(name, value, unit)
    if np.ndim(value) or not math.isfinite(number):
        raise ManipDynError(_wrong(name, "a finite number", f"{value}{_space(unit)}"))
    return number


def positive(name: str, value: Any, unit: str = "") -> float:
    """Return `value` as a finite float greater than zero."""
    number = _number(name, value, unit)
    if not (math.isfinite(number) and number > 0.0):
        condition = "finite" if number == math.inf else "above 0"
        raise ManipDynError(_wrong(name, condition, f"{number:g}{_space(unit)}"))
    return number


def not_negative(name: str, value: Any, unit: str = "") -> float:
    """Return `value` as a finite float that is zero or more."""
    number = _number(name, value, unit)
    if not (math.isfinite(number) and number >= 0.0):
        condition = "finite" if number == math.inf else "0 or more"
        raise ManipDynError(_wrong(name, condition, f"{number:g}{_space(unit)}"))
    return number


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return `value` as an int from `least` to `most`. Booleans and floats are rejected."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        interval = f", {least} or more" if most is None else f" from {least} to {most}"
        raise ManipDynError(_wrong(name, f"a whole number{interval}", shortened(value)))
    return int(value)


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def checked_threads(threads: Any) -> int:
    """Return the number of threads. None means one per available core."""
    return available_cores() if threads is None else whole_number("threads", threads, 1)


def truth(name: str, value: Any) -> bool:
    """Return `value` as a bool. Numbers and strings are rejected."""
    if not isinstance(value, (bool, np.bool_)):
        raise ManipDynError(_wrong(name, "true or false", shortened(value)))
    return bool(value)


def nanoseconds(name: str, seconds: Any) -> int:
    """Return a duration in s as an int in ns, from 1 to `MOST_NANOSECONDS`."""
    duration = round(positive(name, seconds, "s") * 1e9)
    if duration < 1:
        raise ManipDynError(_wrong(name, "at least 1 nanosecond", f"{seconds:g} s"))
    if duration > MOST_NANOSECONDS:
        longest = 1e-9 * MOST_NANOSECONDS
        raise ManipDynError(_wrong(name, f"at most {longest:g} s", f"{seconds:g} s"))
    return duration


def sampled(period: Any, duration: float) -> float:
    """Return a sample period, s, as a positive float.

    The duration, s, must not contain more than `MOST_ROWS` periods.
    """
    step = positive("period", period, "s")
    if duration > MOST_ROWS * step:
        least = rounded_up(duration / MOST_ROWS, 2)
        raise ManipDynError(
            f"period must be at least {least:g} s for at most {MOST_ROWS} rows in {duration:g} s, "
            f"got {step:g} s ({duration / step:.3g} rows)."
        )
    return step


def _amount(shape: tuple[int, ...]) -> str:
    if shape == (1,):
        return "an array (1,) of one number"
    return f"{shape[0]} numbers" if len(shape) == 1 else f"numbers of shape {shape}"


def _not_finite(array: Vector) -> str:
    bad = ~np.isfinite(array)
    return f"{array[bad][0]} at {_first(bad)}"


def _first(condition: NDArray[np.bool_]) -> int | tuple[int, ...]:
    """Return the first index at which a condition holds: a number, or a tuple for many axes."""
    index = tuple(np.argwhere(condition)[0].tolist())
    return index[0] if len(index) == 1 else index


def _number(name: str, value: Any, unit: str) -> float:
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)):
            raise TypeError("a truth value or a string")
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        condition = f"a number in {unit}" if unit else "a number"
        raise ManipDynError(_wrong(name, condition, shortened(value))) from error


def _space(unit: str) -> str:
    return f" {unit}" if unit else ""
