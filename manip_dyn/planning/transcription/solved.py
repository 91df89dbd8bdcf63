"""What the steps on grids find."""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.core.checks import Matrix
from manip_dyn.planning.transcription.spline import Spline

SETTLED = 1e-3
"""Promised fall over the barrier's weight by which steps to an exact motion are over."""


class Solved(NamedTuple):
    """The fastest motion on a grid.

    Attributes:
        spline: The motion.
        weight: Of the barrier at the end.
        promised: Share of the duration that one more step was to bring.
        limits: How many limits there are at all nodes.
        effort: Multipliers of the limits of effort (nodes, n), above 0 at upper ones.
        speed: Those of the limits of speed on the way to the next node (nodes, n).
        place: Those of the limits of position (nodes, n), of distances over `scale`.
        scale: Largest distance of a joint between start and goal, rad or m.
        curved: Whether steps counted the curvature of the limits.
    """

    spline: Spline
    weight: float
    promised: float
    limits: int
    effort: Matrix
    speed: Matrix
    place: Matrix
    scale: float
    curved: bool

    @property
    def settled(self) -> bool:
        """Whether the last step was to bring nearly nothing."""
        return abs(self.promised) <= SETTLED * self.weight


class Refined(NamedTuple):
    """A motion that keeps its limits.

    Attributes:
        spline: The motion.
        solved: What it is on the finest grid, before it was made slower.
        durations: The fastest on each grid with limits kept at its nodes, s.
        load: Largest effort over its limit, between the nodes, too.
    """

    spline: Spline
    solved: Solved
    durations: list[float]
    load: float
