"""What a small step of a motion with limited jerk does: to how its pieces fit, and to its limits.

A step has the times of the phases, then places, speeds and accelerations at the grid points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Tensor, Vector

if TYPE_CHECKING:
    from manip_dyn.planning.path_timing.jerk_pieces import Pieces, Slopes

ASIDE = 1e-3
"""Share of an interval over which rows are differenced."""


def equations(y: Pieces, phase: Counts, scale: Vector) -> Any:
    """Return the derivatives of what place and speed come to in the intervals (2 k, ..)."""
    n, p = len(y.times), int(phase[-1]) + 1
    k, fast, h = np.arange(n), y.speed.max(), y.times
    s, v, u = p + k, p + n + 1 + k, p + 2 * n + 2 + k
    before, after = y.acceleration[:-1], y.acceleration[1:]
    one = np.ones(n)
    entries = [
        (k, v + 1, one),
        (k, v, -one),
        (k, u, -h / 2.0),
        (k, u + 1, -h / 2.0),
        (k, phase, -h * (before + after) / 2.0),
        (n + k, s + 1, one / h),
        (n + k, s, -one / h),
        (n + k, v, -one),
        (n + k, u, -h / 3.0),
        (n + k, u + 1, -h / 6.0),
        (n + k, phase, -y.speed[:-1] - (2.0 * before + after) * h / 3.0),
    ]
    scaled = [(row, column, x * scale[column] / fast) for row, column, x in entries]
    return _matrix(scaled, 2 * n, len(scale) + n)


def misfit(y: Pieces) -> Vector:
    """Return by how much speeds and places differ from what the pieces come to (2 k,)."""
    h, before, after = y.times, y.acceleration[:-1], y.acceleration[1:]
    speeds = np.diff(y.speed) - h * (before + after) / 2.0
    places = np.diff(y.grid) / h - y.speed[:-1] - h * (2.0 * before + after) / 6.0
    return np.concatenate([speeds, places])


def limits_of_steps(
    y: Pieces,
    phase: Counts,
    limits: Matrix,
    here: Slopes,
    aside: Slopes,
    trust: float,
    sizes: tuple[float, ...],
) -> tuple[Any, Vector, Any]:
    """Return the rows that a step within the trust region may meet, and their room.

    Args:
        y: The motion.
        phase: Of its intervals (k,).
        limits: Of the rows (k, r).
        here: What these come to at the ends of the intervals.
        aside: The same, a share `ASIDE` inside.
        trust: How far a step may lead, in shares of `sizes`.
        sizes: Of places, speeds and accelerations.

    Returns:
        The rows; their room; and intervals, ends, which limits they are of, and on which side.
    """
    n, p = len(y.times), int(phase[-1]) + 1
    h = y.times[:, None, None]
    way = ASIDE * np.diff(y.grid)[:, None, None] * np.array([1.0, -1.0])[:, None]
    by_s = (aside.value - here.value) / way * sizes[0]
    by_v, by_u = here.speed * sizes[1], here.acceleration * sizes[2]
    by_step = here.jerk / h * sizes[2]
    by_time = -here.jerk * y.jerk[:, None, None]
    parts: tuple[Tensor, ...] = (by_s, by_v, by_u, 2.0 * by_step, by_time)
    reach = trust * sum(np.abs(each) for each in parts)
    size, most = np.abs(here.value), limits[:, None, :]
    side = np.where(here.value < 0.0, -1.0, 1.0)
    ahead, behind = np.nonzero(size + reach > most), np.nonzero(reach - size > most)
    sign = np.concatenate([side[ahead], -side[behind]])
    at = tuple(np.concatenate(each) for each in zip(ahead, behind, strict=True))
    k, place, row = at
    count = np.arange(len(k))
    s, v, u = p + k, p + n + 1 + k, p + 2 * n + 2 + k
    entries = [
        (count, s + place, sign * by_s[at]),
        (count, v + place, sign * by_v[at]),
        (count, u + place, sign * by_u[at]),
        (count, u, -sign * by_step[at]),
        (count, u + 1, sign * by_step[at]),
        (count, phase[k], sign * by_time[at]),
        (count, p + 3 * n + 3 + k, -np.ones(len(k))),
    ]
    below = _matrix(entries, len(k), p + 4 * n + 3)
    return below, limits[k, row] - sign * here.value[at], (*at, sign)


def _matrix(entries: list[tuple[Any, Any, Any]], rows: int, columns: int) -> Any:
    """Return a sparse matrix of rows, columns and values, in pieces."""
    from scipy.sparse import coo_array

    row, column, value = (np.concatenate(each) for each in zip(*entries, strict=True))
    return coo_array((value, (row, column)), shape=(rows, columns)).tocsr()
