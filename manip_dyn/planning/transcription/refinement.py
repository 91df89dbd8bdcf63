"""A motion on ever finer grids, until it keeps its limits between the nodes, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix
from manip_dyn.planning.interior_points.node_motion import efforts_at, inverse_kernels_of
from manip_dyn.planning.transcription.spline import Ends, Spline
from manip_dyn.planning.transcription.spline_grid import SETTLED, Solved, SplineGrid
from manip_dyn.robot import Robot

ROUGH, FINE = 128, (512, 2048)
"""Cells of the grids, the rough one for a comparison of motions."""
FIRST_WEIGHT, BARRIER = 1e-4, 1e-5
"""Weight of the barrier at first; its share of the duration at last, for every joint's efforts."""
ROUGHLY = 100.0
"""How much larger that share is on all grids but the last."""
INSIDE = 8
"""Between two nodes efforts are looked at in as many places less one."""
TIGHTENINGS, MORE = 5, 1.1
"""How often limits at the nodes beside are made tighter where efforts pass them in between, and
by how much more than what they pass them by."""
SLOWEST = 1e-2
"""What is left of that is met by a motion that is slower by this share at most."""
KEPT = 1e-10


class Refined(NamedTuple):
    """A motion that keeps its limits.

    Attributes:
        spline: The motion.
        solved: The fastest one on the finest grid, limits kept at its nodes.
        durations: The fastest on each grid, s.
        load: Largest effort over its limit, between the nodes, too.
    """

    spline: Spline
    solved: Solved
    durations: list[float]
    load: float


def rough(robot: Robot, ends: Ends, spline: Spline) -> Solved | None:
    """Return a motion of the coarse search on the rough grid."""
    return _finer(robot, ends, spline, ROUGH, FIRST_WEIGHT, ROUGHLY, SETTLED)[1]


def refined(robot: Robot, ends: Ends, begun: Solved) -> Refined | None:
    """Return a motion of the rough grid on the finest one, within its limits everywhere."""
    found, durations = begun, list[float]()
    for cells in FINE:
        roughly = 1.0 if cells == FINE[-1] else ROUGHLY
        grid, better = _finer(
            robot, ends, found.spline, cells, 10.0 * found.weight, roughly, SETTLED
        )
        if better is None:
            return None
        found = better
        durations.append(found.spline.duration)
    kept = found
    for _ in range(TIGHTENINGS):
        beyond = _beyond(robot, kept.spline)
        if beyond.max() <= KEPT:
            break
        grid.room[:-1] += MORE * beyond
        grid.room[1:] = np.maximum(grid.room[1:], grid.room[:-1])
        again = grid.solved(kept.spline, 10.0 * kept.weight, kept.weight, SETTLED)
        if again is None:
            break
        kept = again
    spline, load = _slower(robot, ends, kept.spline)
    return Refined(spline, found, durations, load)


def _finer(robot, ends, spline, cells, first, roughly, settled):
    while spline.cells < cells:
        spline = spline.halved()
    grid = SplineGrid(robot, ends, cells)
    last = roughly * BARRIER / (robot.n * cells)
    return grid, grid.solved(spline, max(first, last), last, settled)


def _slower(robot: Robot, ends: Ends, spline: Spline) -> tuple[Spline, float]:
    """Return a motion that is so much slower that efforts keep their limits, and their load."""
    beyond, share, slower = float(_beyond(robot, spline).max()), 0.0, spline
    best = slower, beyond
    while beyond > KEPT and share < SLOWEST:
        share = max(2.0 * share, 0.5 * beyond)
        slower = Spline.between(ends, spline.inner, spline.duration * (1.0 + share))
        beyond = float(_beyond(robot, slower).max())
        best = min(best, (slower, beyond), key=lambda each: each[1])
    return best[0], 1.0 + best[1]


def _beyond(robot: Robot, spline: Spline) -> Matrix:
    """Return by which share efforts pass their limits in every cell (cells, 2 n), if they do."""
    shares = efforts_of(robot, spline, spline.cells * INSIDE) / robot.tau_max
    passed = np.hstack([-shares, shares]) - 1.0
    inner = passed[:-1].reshape(spline.cells, INSIDE, -1).max(axis=1)
    return np.maximum(np.maximum(inner, passed[INSIDE::INSIDE]), 0.0)


def efforts_of(robot: Robot, spline: Spline, count: int) -> Matrix:
    """Return the efforts (count + 1, n) at equal steps."""
    q, v, a = spline.joints(np.linspace(0.0, spline.duration, count + 1))
    tau = np.empty_like(q)
    efforts_at(inverse_kernels_of(robot), q, v, a, tau)
    return tau
