"""Which speeds the end of a path can be reached with, where the one that is asked for cannot.

Read from its end on, a path's rows (see `rows`) have the acceleration with the other sign. The
backward pass of `profile` over them, from the speed at the begin, finds the speeds at the end.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.digits import apart, rounded_down
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing.no_timing import NoTimingError
from manip_dyn.planning.path_timing.profile import controllable
from manip_dyn.planning.path_timing.rows import Rows
from manip_dyn.planning.path_timing.search import (
    FASTEST,
    ROOM,
    Problem,
    fastest_profile,
    stiff_intervals,
)

LOWER = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1)
"""Shares by which a speed is lowered until it leaves room for what happens between grid points."""


def refused_end(problem: Problem, grid: Vector, known: Rows) -> ManipDynError | None:
    """Return the refusal of a speed at the end that is too high, if that is what is wrong.

    Args:
        problem: The arm on its path; no timing of it was found.
        grid: A grid (k + 1,).
        known: Its rows.
    """
    begin, end = problem.ends
    if end == 0.0:
        return None
    most = _fastest_end(known, grid, begin)
    if most is None or not most > 0.0:
        return None
    for share in LOWER:
        lower = rounded_down(min(end, most) * (1.0 - share))
        try:
            fastest_profile(problem._replace(ends=(begin, lower)), grid, known)
        except NoTimingError:
            continue
        asked, told = apart(end, lower)
        return ManipDynError(
            f"speed at the end of the path is {asked}; expected at most {told} (ds/dt), to "
            f"which the path leads within the limits from {begin:.6g} at its begin"
        )
    return None


def _fastest_end(known: Rows, grid: Vector, begin: float) -> float | None:
    """Return the greatest speed at the end, limits between grid points apart; None: none."""
    turned = Rows(*(np.ascontiguousarray(each[::-1, ::-1]) for each in known))
    turned = turned._replace(a=-turned.a)
    widths = np.diff(grid)[::-1].copy()
    reach = np.zeros((2 * len(grid) - 1, 2))
    most = np.full((len(widths), known.a.shape[2]), 1.0 - ROOM)
    fastest = FASTEST * (grid[-1] - grid[0]) ** 2
    stiff = stiff_intervals(turned, widths)
    lost = controllable(turned, most, turned.rough, stiff, widths, begin**2, fastest, reach)
    return None if lost >= 0 else float(np.sqrt(reach[0, 1]))
