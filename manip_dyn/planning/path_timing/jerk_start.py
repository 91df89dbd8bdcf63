"""The start of a timing with limited jerk: that without its limits, begun gently and slower."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from manip_dyn.core.checks import Counts, Vector
from manip_dyn.planning.path_timing.grid import split
from manip_dyn.planning.path_timing.jerk_pieces import Pieces, Slopes

STARTS, SLOWER = 60, 1.25
"""How many starts are tried, and the factor between their times."""
FEWEST = 4
"""Intervals between two breaks."""
GENTLE = 0.5
"""Share of its time in which a start speeds up."""
READ = 2000
"""At how many times the motion without limits of jerk is read."""


class Measure(Protocol):
    """Motions measured by what they miss; see `jerk_program.Program`."""

    def joined(self, y: Pieces) -> Pieces:
        """Return the motion led back to where its pieces fit."""

    def merit(self, y: Pieces) -> float:
        """Return the time in shares of the whole, and the price of what is missed."""

    def at(self, y: Pieces) -> Slopes:
        """Return what the limits come to."""


class Free(NamedTuple):
    """What starts are made from: the motion without limits of jerk.

    Attributes:
        ends: Speeds ds/dt at both ends.
        times: At which it is read (m,), s.
        places: s there (m,).
        breaks: Where the path is not smooth, or a joint turns back.
        k: How many intervals a start has at least.
    """

    ends: tuple[float, float]
    times: Vector
    places: Vector
    breaks: Vector
    k: int

    @property
    def held(self) -> tuple[bool, bool]:
        """Whether it rests at the begin and at the end."""
        return self.ends[0] == 0.0, self.ends[1] == 0.0

    def slowed(self, factor: float) -> tuple[Pieces, Counts]:
        """Return it `factor` times as slow, and the phases (k,) of its intervals.

        An end that is passed is passed at its speed, however slow the rest.
        """
        times = self.times
        tau, warped = _warp(self.held, factor)
        s = np.interp(warped, times / times[-1], self.places)
        passed = np.concatenate([[0.0], np.interp(self.breaks[1:-1], s, tau), [1.0]])
        counts = np.maximum(np.ceil(self.k * np.diff(passed)), FEWEST).astype(int)
        phase = np.repeat(np.arange(len(counts)), counts)
        knots = np.append(split(passed, counts)[:-1], 1.0)
        grid, t = np.interp(knots, tau, s), factor * times[-1] * knots
        speed = np.gradient(grid, t)
        speed[[0, -1]] = self.ends
        return Pieces(grid, np.diff(t), speed, np.gradient(speed, t)), phase


def gentle_start(measure_of: Callable[[Counts], Measure], free: Free) -> tuple[Pieces, Counts]:
    """Return a motion, and the phases (k,) of its intervals.

    Between two ends at rest it is slow enough for all limits, if it can be. Else the best by
    `Measure.merit` is taken, or the fastest if none moves on everywhere.
    """
    best, least = None, np.inf
    for count in range(STARTS):
        factor = SLOWER**count
        y, phase = free.slowed(factor)
        measure = measure_of(phase)
        y = measure.joined(y)
        merit = measure.merit(y)
        if best is None or merit < least:
            best, least = (y, phase), merit
        if all(free.held) and merit < np.inf and np.abs(measure.at(y).value).max() <= 1.0:
            return y, phase
        if factor > least:
            break
    assert best is not None
    return best


def _warp(held: tuple[bool, bool], factor: float) -> tuple[Vector, Vector]:
    """Return shares of the time of a slower motion, and shares of its own at which it is then.

    At an end that is not held it is as fast as the motion itself, at the others it rests.
    """
    tau = np.linspace(0.0, 1.0, READ + 1)
    slopes = [0.0 if each else factor for each in held]
    widths = [GENTLE if each else GENTLE / factor for each in held]
    between = (1.0 - np.dot(slopes, widths) / 3.0) / (1.0 - sum(widths) / 3.0)
    slope = np.full(READ + 1, between)
    for m, width, since in zip(slopes, widths, (tau, 1.0 - tau), strict=True):
        slope += (m - between) * np.maximum(1.0 - since / width, 0.0) ** 2
    warped = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]))])
    return tau, warped / warped[-1]
