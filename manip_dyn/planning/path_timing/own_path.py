"""A path of one's own: whether its derivatives are those of its positions, without corners.

What a derivative comes to over an interval, by Simpson's rule, is compared with the difference of
what it is the derivative of. Where they differ, the interval is halved, as the path may only be
too rich for it: towards the better half to see whether the derivative is another one wherever it
is read, towards the worse half to see whether something jumps.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing.grid import INSIDE, first_grid
from manip_dyn.planning.path_timing.joint_path import JointPath

INTERVALS = 60
WRONG = 1e-2
"""Share of the greatest derivative by which one may differ from differences."""
JUMP = 1e-3
"""Share of the greatest dq/ds by which it may change at once, and positions over an interval."""
HALVINGS = {"better": 8, "worse": 24}
TOLD = {1: "dq/ds", 2: "d2q/ds2", 3: "d3q/ds3"}


def check_derivatives(path: JointPath, *orders: int) -> None:
    """Refuse a path whose derivatives of some orders are not those of the orders below."""
    grid = first_grid(path.breaks, INTERVALS)
    width = np.diff(grid)
    begins, ends = grid[:-1] + INSIDE * width, grid[1:] - INSIDE * width
    for order in orders:
        scale = _scale(path, order, grid, begins, ends)
        if scale == 0.0:
            continue
        _check_jumps(path, order, begins, ends)
        low, high = _halved(path, order, begins, ends, WRONG * scale, "better")
        if len(low):
            s = 0.5 * (low[:1] + high[:1])
            read, difference = path(s, order)[0], _change(path, order, low[:1], high[:1])[0]
            i = int(np.argmax(np.abs(read - difference)))
            raise ManipDynError(
                f"path(s, {order}) is not the derivative of path(s, {order - 1}): at s = "
                f"{s[0]:.6g} it is {read[i]:.6g} for joint {i}, differences give "
                f"{difference[i]:.6g}; expected {TOLD[order]}"
            )


def _check_jumps(path: JointPath, order: int, begins: Vector, ends: Vector) -> None:
    """Refuse a path with a jump (order 1) or a corner (order 2) between its breaks."""
    if order > 2:
        return
    most = JUMP * np.abs(path(begins, 1)).max() * (np.mean(ends - begins) if order == 1 else 1.0)
    low, high = _halved(path, order, begins, ends, most, "worse")
    if len(low):
        what, s = ("jumps", "has a corner")[order - 1], 0.5 * (low[0] + high[0])
        raise ManipDynError(
            f"path {what} at s = {s:.6g} of "
            f"{path.breaks[-1]:.6g}, between its breaks; expected continuous positions and dq/ds: "
            "round it, or time the parts before and after apart"
        )


def _scale(path: JointPath, order: int, grid: Vector, begins: Vector, ends: Vector) -> float:
    """Return the greatest derivative, read or by differences (rounding apart)."""
    read = np.abs(path(np.concatenate([begins, ends]), order)).max()
    difference = np.abs(_change(path, order, begins, ends)).max()
    below = np.abs(path(begins, order - 1)).max()
    least = 1e-9 * below / (grid[-1] - grid[0])
    return float(max(read, difference)) if max(read, difference) > least else 0.0


def _change(path: JointPath, order: int, low: Vector, high: Vector) -> Matrix:
    """Return the mean derivative (k, n) in intervals (k,) by differences of the order below."""
    return (path(high, order - 1) - path(low, order - 1)) / (high - low)[:, None]


def _off(path: JointPath, order: int, low: Vector, high: Vector) -> Vector:
    """Return by how much the mean derivative (k,) in intervals differs from that."""
    middle = 0.5 * (low + high)
    mean = (path(low, order) + 4.0 * path(middle, order) + path(high, order)) / 6.0
    return np.asarray(np.abs(mean - _change(path, order, low, high)).max(axis=1))


def _halved(
    path: JointPath, order: int, low: Vector, high: Vector, most: float, half: str
) -> tuple[Vector, Vector]:
    """Return what is left of intervals (k,) in which a derivative differs by more than `most`.

    Towards their better halves it is that of the derivative, towards the worse ones that of what
    it comes to over the interval.
    """
    worse = half == "worse"
    for _ in range(HALVINGS[half]):
        off = _off(path, order, low, high)
        left = (off * (high - low) if worse else off) > most
        low, high = low[left], high[left]
        if not len(low):
            break
        middle = 0.5 * (low + high)
        second = _off(path, order, middle, high) > _off(path, order, low, middle)
        second = second == worse
        low, high = np.where(second, middle, low), np.where(second, high, middle)
    return low, high
