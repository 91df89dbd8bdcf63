"""Braking curve for scalar evaluation, which is faster than SciPy's array-based dense output."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate
from scipy.integrate import OdeSolution
from scipy.optimize import brentq

DEGREE = 7
"""Degree of the polynomials of DOP853's dense output."""


class BrakingTrace:
    """Position and velocity as functions of the remaining time, and the inverse function.

    In each integration step, both are polynomials, which are stored as Chebyshev series.
    """

    def __init__(self, solution: OdeSolution, sign: float):
        """Convert a solution that was integrated backwards in time from the goal.

        Args:
            solution: Dense output (q, v) of DOP853.
            sign: Direction of the braking motion: 1 for increasing positions, -1 for decreasing.
        """
        self._times = solution.ts.tolist()
        self._sign = sign
        self._steps = [_series(interpolant) for interpolant in solution.interpolants]
        begins = range(len(self._steps))
        self._passed = [-sign * self._value(k, 0, self._times[k]) for k in begins]

    @property
    def duration(self) -> float:
        """Remaining time at the beginning of the curve, s."""
        return self._times[-1]

    def position(self, time: float) -> float:
        """Return the position `time` s before rest."""
        return self._value(self._step_at(time), 0, time)

    def velocity(self, time: float) -> float:
        """Return the velocity `time` s before rest."""
        return self._value(self._step_at(time), 1, time)

    def time_at(self, q: float) -> float:
        """Return the remaining time (s) at position `q`, which is clipped to the curve."""
        k = max(bisect_right(self._passed, -self._sign * q) - 1, 0)
        begin, end = self._times[k], self._times[k + 1]
        if self._sign * (self._value(k, 0, begin) - q) <= 0.0:
            return begin
        if self._sign * (self._value(k, 0, end) - q) >= 0.0:
            return end
        return brentq(lambda time: self._value(k, 0, time) - q, begin, end, xtol=1e-15, rtol=1e-14)

    def _step_at(self, time: float) -> int:
        return min(max(bisect_left(self._times, time) - 1, 0), len(self._steps) - 1)

    def _value(self, k: int, which: int, time: float) -> float:
        """Return position (0) or velocity (1) in step `k` by Clenshaw's recurrence."""
        middle, half, coefficients = self._steps[k]
        x = (time - middle) / half
        twice, one, two = 2.0 * x, 0.0, 0.0
        highest_first = coefficients[which]
        for coefficient in highest_first[:-1]:
            one, two = coefficient + twice * one - two, one
        return highest_first[-1] + x * one - two


def _series(dense) -> tuple[float, float, list[list[float]]]:
    """Return midpoint, half-width, and coefficients with the highest order first."""
    middle, half = 0.5 * (dense.t_min + dense.t_max), 0.5 * (dense.t_max - dense.t_min)
    series = chebinterpolate(lambda x: dense(middle + half * x).T, DEGREE)
    return float(middle), float(half), np.flip(series, axis=0).T.tolist()
