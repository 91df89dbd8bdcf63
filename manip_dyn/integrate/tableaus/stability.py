"""Real stability intervals, computed from the coefficients.

On y' = -s y a Runge-Kutta step multiplies y by R(-s h); the interval is where |R| <= 1
(Hairer, Wanner, Solving ODEs II, section IV.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.polynomial import Polynomial

from manip_dyn.integrate.tableaus.tableau import Tableau

_SLACK = 1e-9
"""Growth that is rounding: |R(-s)| touches 1 at s = 0."""


def growth_polynomial(table: Tableau) -> list[float]:
    """Return the coefficients of R(z) = 1 + sum_k z^k b^T A^(k-1) 1, lowest first."""
    coefficients, powers = [1.0], [Fraction(1)] * table.stages
    for _ in range(table.stages):
        coefficients.append(float(sum(b * x for b, x in zip(table.b, powers, strict=True))))
        powers = [
            sum((a * x for a, x in zip(row, powers, strict=True)), Fraction(0)) for row in table.a
        ]
    return coefficients


def stability_interval(coefficients: Sequence[float]) -> float:
    """Return the largest x such that |R(-s)| <= 1 for 0 <= s <= x."""
    growth = Polynomial(coefficients)
    return first_growth(lambda s: abs(growth(-s)))


def first_growth(growth: Callable[[float], float], longest: float = 100.0) -> float:
    """Return the first s > 0 at which growth(s), at most 1 before, exceeds 1."""
    before = 0.0
    for s in np.arange(0.01, longest, 0.01):
        if growth(s) > 1.0 + _SLACK:
            from scipy.optimize import brentq  # takes longer to load than all of this folder

            return float(brentq(lambda x: growth(x) - 1.0 - _SLACK, before, s))
        before = float(s)
    return longest
