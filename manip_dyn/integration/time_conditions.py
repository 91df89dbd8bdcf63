"""Times at which conditions of a right-hand side change, such as ``5.0 < t < 5.1``.

The function is called in Python with a `TracedTime`. It records the times at which comparisons of
t, or of a linear function of t such as ``abs(t - p[0])``, change their results. Compiled functions
to which it passes the time are also called in Python. Further calls just after each of these times
find conditions in other branches. Steps then end at these times as at those of `t_switch`, so that
no step passes a short force. Conditions that also depend on the state are not found.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np

from manip_dyn.integration.code_analysis import in_python
from manip_dyn.integration.loop_arrays import Span

MOST_TIMES = 100
"""Number of times after which the search ends."""
DISTANCE = 1e-9
"""Distance of further calls from a time, and of different times, relative to the time span."""
OPERATIONS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.absolute: operator.abs,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


class TracedTime:
    """The value ``slope * t + offset`` at a time t; records comparisons and kinks in `roots`."""

    def __init__(self, t: float, roots: set[float], slope: float = 1.0, offset: float = 0.0):
        """Set the time t, s, the recorded times, and the linear function of time."""
        self.t, self.roots, self.slope, self.offset = t, roots, slope, offset

    def __float__(self) -> float:
        """Return the value."""
        return self.slope * self.t + self.offset

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """Return the value as an array without axes."""
        return np.array(float(self), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Trace `OPERATIONS` of numbers; apply other functions to the value."""
        operation = OPERATIONS.get(ufunc)
        if operation and all(np.ndim(x) == 0 for x in inputs):
            return operation(*(x if isinstance(x, TracedTime) else float(x) for x in inputs))
        values = (float(x) if isinstance(x, TracedTime) else x for x in inputs)
        return getattr(ufunc, method)(*values, **options)

    def _scaled(self, factor: float) -> TracedTime:
        return TracedTime(self.t, self.roots, factor * self.slope, factor * self.offset)

    def _plus(self, sign: float, term: Any) -> Any:
        if isinstance(term, TracedTime):
            slope, offset = self.slope + sign * term.slope, self.offset + sign * term.offset
            return TracedTime(self.t, self.roots, slope, offset)
        if np.ndim(term) > 0:
            return float(self) + sign * term
        return TracedTime(self.t, self.roots, self.slope, self.offset + sign * float(term))

    def _compared(self, compare: Callable[[Any, Any], Any], bound: Any) -> Any:
        if np.ndim(bound) > 0:
            return compare(float(self), bound)
        gap = self._plus(-1.0, bound)
        if gap.slope != 0.0:
            self.roots.add(-gap.offset / gap.slope)
        return compare(float(gap), 0.0)

    def __add__(self, term: Any) -> Any:
        return self._plus(1.0, term)

    __radd__ = __add__

    def __sub__(self, term: Any) -> Any:
        return self._plus(-1.0, term)

    def __rsub__(self, term: Any) -> Any:
        return self._scaled(-1.0)._plus(1.0, term)

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, TracedTime) or np.ndim(factor) > 0:
            return float(self) * (float(factor) if isinstance(factor, TracedTime) else factor)
        return self._scaled(float(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if isinstance(divisor, TracedTime) or np.ndim(divisor) > 0:
            return float(self) / (float(divisor) if isinstance(divisor, TracedTime) else divisor)
        return self._scaled(1.0 / float(divisor))

    def __neg__(self) -> TracedTime:
        return self._scaled(-1.0)

    def __pos__(self) -> TracedTime:
        return self

    def __abs__(self) -> TracedTime:
        if self.slope != 0.0:
            self.roots.add(-self.offset / self.slope)
        return self._scaled(1.0 if float(self) >= 0.0 else -1.0)

    def __lt__(self, bound: Any) -> Any:
        return self._compared(operator.lt, bound)

    def __le__(self, bound: Any) -> Any:
        return self._compared(operator.le, bound)

    def __gt__(self, bound: Any) -> Any:
        return self._compared(operator.gt, bound)

    def __ge__(self, bound: Any) -> Any:
        return self._compared(operator.ge, bound)

    def __rtruediv__(self, dividend: Any) -> Any:
        return dividend / float(self)

    def __pow__(self, exponent: Any) -> Any:
        return float(self) ** exponent

    def __mod__(self, divisor: Any) -> Any:
        return float(self) % divisor

    def __floordiv__(self, divisor: Any) -> Any:
        return float(self) // divisor

    def __int__(self) -> int:
        return int(float(self))


def condition_times(function: Any, span: Span, *others: Any) -> list[float]:
    """Return the times inside `span` at which conditions of a function change, s.

    The function is called in Python up to `MOST_TIMES` times. Its exceptions are ignored, because
    it may accept only floats, or work only when compiled.

    Args:
        function: A Python function of time, or one compiled by numba.
        span: Start and end time, s.
        others: Further arguments for all calls.
    """
    first, last = sorted(span)
    distance = DISTANCE * (last - first)
    plain, others = in_python(function, _is_traced), deepcopy(others)
    times: list[float] = []
    pending = [first]
    with np.errstate(all="ignore"):
        while pending and len(times) < MOST_TIMES:
            roots: set[float] = set()
            with suppress(Exception):
                plain(TracedTime(pending.pop(), roots), *others)
            for root in roots:
                limits = (first, last, *times)
                if first < root < last and all(abs(root - time) > distance for time in limits):
                    times.append(root)
                    pending.append(root + distance)
    return sorted(times)


def _is_traced(value: Any) -> bool:
    return isinstance(value, TracedTime)
