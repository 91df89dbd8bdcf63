"""A motion on ever finer grids, until it keeps its limits between the nodes, too."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix
from manip_dyn.planning.interior_points.node_scheme import drift
from manip_dyn.planning.transcription.efforts import efforts_of
from manip_dyn.planning.transcription.solved import Refined, Solved
from manip_dyn.planning.transcription.spline import Ends, Spline
from manip_dyn.planning.transcription.spline_grid import SplineGrid
from manip_dyn.robot import Robot

ROUGH, FINE = 128, (512, 2048)
"""Cells of the grids, the rough one for a comparison of motions."""
FIRST_WEIGHT, BARRIER = 1e-4, 1e-5
"""Weight of the barrier at first; its share of the duration at last, for every joint's efforts."""
ROUGHLY, NEARLY = 100.0, 10.0
"""How much larger that share is on the rough grid, and on the others but the last."""
HIGHER = 30.0
"""How much higher the barrier is at first where steps with curvature did not settle."""
INSIDE = 8
"""Between two nodes efforts are looked at in as many places less one."""
TIGHTENINGS, UNSETTLED_TIGHTENINGS, MORE = 5, 3, 1.1
"""How often limits at the nodes beside are made tighter where efforts pass them in between, how
often where the motion is not settled, and by how much more than what they pass them by."""
SLOWEST = 0.1
"""What is left of that is met by a motion that is slower by this share at most."""
KEPT = 1e-10


def rough(robot: Robot, ends: Ends, spline: Spline) -> Solved | None:
    """Return a motion of the coarse search on the rough grid."""
    return _finer(robot, ends, spline, ROUGH, FIRST_WEIGHT, ROUGHLY)[1]


def refined(robot: Robot, ends: Ends, begun: Solved) -> Refined | None:
    """Return a motion of the rough grid on the finest one, within its limits everywhere."""
    found, durations = begun, list[float]()
    for cells in FINE:
        roughly = 1.0 if cells == FINE[-1] else NEARLY
        grid, better = _finer(robot, ends, found.spline, cells, found.weight, roughly, found)
        if better is None:
            return None
        found = better
        durations.append(found.spline.duration)
    kept = found
    for _ in range(TIGHTENINGS if found.settled else UNSETTLED_TIGHTENINGS):
        beyond = _beyond(robot, kept.spline)
        if beyond.max() <= KEPT:
            break
        grid.room[:-1] += MORE * beyond
        grid.room[1:] = np.maximum(grid.room[1:], grid.room[:-1])
        again = _settled(grid, kept.spline, kept.weight, kept.weight, kept)
        if again is None or (kept.settled and not again.settled):
            break  # what is left is met by a slower motion
        kept = again
    spline, load = _slower(robot, ends, kept.spline)
    durations[-1] = min(durations[-1], kept.spline.duration)
    return Refined(spline, kept, durations, load)


def _finer(
    robot: Robot,
    ends: Ends,
    spline: Spline,
    cells: int,
    first: float,
    roughly: float,
    before: Solved | None = None,
) -> tuple[SplineGrid, Solved | None]:
    """Return a grid, and the fastest motion on it near another one of a coarser grid."""
    while spline.cells < cells:
        spline = spline.halved()
    grid = SplineGrid(robot, ends, cells)
    last = roughly * BARRIER / (robot.n * cells)
    return grid, _settled(grid, spline, max(first, last), last, before)


def _settled(
    grid: SplineGrid, spline: Spline, first: float, last: float, before: Solved | None
) -> Solved | None:
    """Return the fastest motion on a grid; where steps do not settle, with curvature.

    They are taken with curvature at once where they were before, and without it where even
    those did not settle.
    """
    if before is not None and before.curved and before.settled:
        found = grid.solved(spline, first, last, curved=True)
        if found is None or not found.settled:
            found = grid.solved(spline, HIGHER * first, last, curved=True)
        return found
    found = grid.solved(spline, 10.0 * first if before else first, last)
    if found is None or found.settled or (before is not None and not before.settled):
        return found
    again = grid.solved(spline, first, last, curved=True)
    return again if again is not None and again.settled else found


def _slower(robot: Robot, ends: Ends, spline: Spline) -> tuple[Spline, float]:
    """Return a motion that is so much slower that efforts keep their limits, and their load."""
    beyond, share, slower = float(_beyond(robot, spline).max()), 0.0, spline
    best, z = (slower, beyond), np.linspace(0.0, 1.0, spline.cells + 1)[1:-1]
    while beyond > KEPT and share < SLOWEST:
        share = max(2.0 * share, 0.5 * beyond)
        farther = drift(z, ends.v0, ends.vf) * spline.duration * share
        slower = Spline.between(ends, spline.inner + farther, spline.duration * (1.0 + share))
        beyond = float(_beyond(robot, slower).max())
        best = min(best, (slower, beyond), key=lambda each: each[1])
    return best[0], 1.0 + best[1]


def _beyond(robot: Robot, spline: Spline) -> Matrix:
    """Return by which share efforts pass their limits in every cell (cells, 2 n), if they do."""
    shares = efforts_of(robot, spline, spline.cells * INSIDE) / robot.tau_max
    passed = np.hstack([-shares, shares]) - 1.0
    inner = passed[:-1].reshape(spline.cells, INSIDE, -1).max(axis=1)
    return np.maximum(np.maximum(inner, passed[INSIDE::INSIDE]), 0.0)
