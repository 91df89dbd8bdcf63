"""The minimum of a convex quadratic function within a box, by coordinate descent."""

from __future__ import annotations

from manip_dyn.core.compiled import compiled

MOST_SWEEPS = 1000
ENOUGH = 1e-12
"""Sweeps end when none changed a coordinate by more than this part of the largest one."""


@compiled
def box_minimum(hessian, slope, low, high, x):
    """Move x (n,) from where it is, within the box, to the minimum of x' H x / 2 + slope' x.

    Every step makes the function smaller, so x is better than at first even where the sweeps
    end early. Hildreth, "A quadratic programming procedure", 1957.

    Args:
        hessian: H (n, n), symmetric and positive definite.
        slope: (n,).
        low: Smallest values (n,).
        high: Largest values (n,), not below `low`.
        x: Changed in place.
    """
    n = x.size
    for _ in range(MOST_SWEEPS):
        change = largest = 0.0
        for i in range(n):
            gradient = slope[i]
            for j in range(n):
                gradient += hessian[i, j] * x[j]
            new = min(max(x[i] - gradient / hessian[i, i], low[i]), high[i])
            change = max(change, abs(new - x[i]))
            largest = max(largest, abs(new))
            x[i] = new
        if change <= ENOUGH * largest:
            return
