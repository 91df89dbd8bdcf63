"""Grids over a path: every break is a grid point; how long their intervals take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Vector

READ = 8
"""How often in an interval one looks whether a joint has turned back."""
INSIDE = 1e-9
"""Ends of an interval are read this share of it inside: q'' may jump there."""


def first_grid(breaks: Vector, intervals: int) -> Vector:
    """Return a grid with every break, its intervals of nearly the same length."""
    widths = np.diff(breaks)
    counts = np.maximum(np.ceil(intervals * widths / widths.sum() - 1e-9), 1).astype(int)
    return split(breaks, counts)


def with_reversals(
    path: Callable[[Vector, int], Matrix], breaks: Vector, intervals: int
) -> Vector:
    """Return the breaks and where a joint turns back: friction changes its side there."""
    grid = first_grid(breaks, READ * intervals)
    inside = (1.0 - INSIDE) * grid[1:] + INSIDE * grid[:-1]
    low, high = np.concatenate([grid[:1], inside[:-1]]), inside
    turned = path(low, 1) * path(high, 1) < 0.0
    k, joint = np.nonzero(turned)
    low, high = low[k], high[k]
    rising = path(high, 1)[np.arange(len(k)), joint] > 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        after = (path(middle, 1)[np.arange(len(k)), joint] > 0.0) == rising
        low, high = np.where(after, low, middle), np.where(after, middle, high)
    apart = np.abs(high[:, None] - breaks).min(axis=1) > 1e-7 * (breaks[-1] - breaks[0])
    found = np.unique(high[apart])
    found = found[np.diff(found, prepend=-np.inf) > 1e-7 * (breaks[-1] - breaks[0])]
    return np.sort(np.concatenate([breaks, found]))


def split(grid: Vector, parts: Counts) -> Vector:
    """Return a grid (k + 1,) with its intervals divided into parts (k,)."""
    begins, widths = np.repeat(grid[:-1], parts), np.repeat(np.diff(grid) / parts, parts)
    count = np.arange(len(begins)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(begins + count * widths, grid[-1])


def durations(widths: Vector, squares: Vector) -> Vector:
    """Return the times (k,) of intervals, s.

    Args:
        widths: Of the intervals (k,).
        squares: Control points (2 k + 1,) of the squared speed, see `profile`.

    With s'' = u + w^2 (s - s_k) the speeds at the ends obey (v0 + v1) tanh(w t / 2) = w h.
    """
    speed = np.sqrt(squares[::2])
    share = widths / (speed[:-1] + speed[1:])
    z = np.diff(squares, 2)[::2] / widths**2 * share**2
    root = np.sqrt(np.abs(z))
    small = root < 1e-3
    safe = np.where(small, 0.5, root)
    exact = np.where(z > 0.0, np.arctanh(np.minimum(safe, 1.0 - 1e-16)), np.arctan(safe)) / safe
    return 2.0 * share * np.where(small, 1.0 + z / 3.0 + z * z / 5.0, exact)
