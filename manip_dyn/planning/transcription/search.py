"""Different motions on a coarse grid, from many initial guesses."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, log
from time import monotonic

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.transcription.spline import Ends, Spline
from manip_dyn.planning.transcription.spline_grid import SplineGrid
from manip_dyn.robot import Robot

CELLS = 32
FIRST_WEIGHT, LEAST_WEIGHT = 1e-2, 1e-5
"""Of the barrier: the duration is above the least one by as much for every limit that matters."""
SAME_TIME, SAME_PLACE = 1e-3, 0.02
"""Ratio of durations and distance over the motion's, by which motions are the same."""


class CoarseSearch:
    """The search for one start and goal.

    Attributes:
        guesses: How many detours were tried.
        motions: The different motions found, the fastest first.
    """

    def __init__(self, robot: Robot, ends: Ends):
        """Plan between two states."""
        self.guesses, self.motions = 0, list[Spline]()
        self._grid = SplineGrid(robot, ends, CELLS)

    def search(self, swings: Iterable[Vector], budget: float = inf) -> None:
        """Try detours, for at most `budget` s, and keep the different motions they lead to."""
        until = monotonic() + budget
        for swing in swings:
            self.guesses += 1
            found = self._grid.from_guess(swing, FIRST_WEIGHT, LEAST_WEIGHT)
            if found is not None and not any(_alike(found.spline, each) for each in self.motions):
                self.motions.append(found.spline)
            if monotonic() > until:
                break
        self.motions.sort(key=lambda each: each.duration)


def _alike(one: Spline, other: Spline) -> bool:
    """Return whether both are the same motion but for the grid."""
    away = np.abs(one.control - other.control).max()
    size = max(float(np.ptp(one.control, axis=0).max()), 1e-30)
    return abs(log(one.duration / other.duration)) < SAME_TIME and away < SAME_PLACE * size
