"""Grids over a path: every break is a grid point."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector


def first_grid(breaks: Vector, intervals: int) -> Vector:
    """Return a grid with every break, its intervals of nearly the same length."""
    widths = np.diff(breaks)
    counts = np.maximum(np.ceil(intervals * widths / widths.sum() - 1e-9), 1).astype(int)
    return split(breaks, counts)


def split(grid: Vector, parts: Vector) -> Vector:
    """Return a grid (k + 1,) with its intervals divided into parts (k,)."""
    begins, widths = np.repeat(grid[:-1], parts), np.repeat(np.diff(grid) / parts, parts)
    count = np.arange(len(begins)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(begins + count * widths, grid[-1])
