"""Grids over a path: every break is a grid point; how long their intervals take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Vector

Counts = NDArray[np.int64]
INSIDE = 1e-9
"""Ends of an interval are read this share of it inside: q'' may jump there."""


def first_grid(breaks: Vector, intervals: int) -> Vector:
    """Return a grid with every break, its intervals of nearly the same length."""
    widths = np.diff(breaks)
    counts = np.maximum(np.ceil(intervals * widths / widths.sum() - 1e-9), 1).astype(int)
    return split(breaks, counts)


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
