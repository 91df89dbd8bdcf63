"""The start of a timing with limited jerk: that without its limits, begun gently and slower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

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


def gentle_start(
    measure_of: Callable[[Counts], Measure],
    ends: tuple[float, float],
    free: tuple[Vector, Vector],
    breaks: Vector,
    k: int,
) -> tuple[Pieces, Counts]:
    """Return a motion, and the phases (k,) of its intervals; see `jerk_timing.jerk_limited`.

    Between two ends at rest it is slow enough for all limits, if it can be. An end that is passed
    is passed at its speed, however slow the rest; then the best by `Measure.merit` is taken, or
    the fastest if none moves on everywhere.
    """
    times, places = free
    held = (ends[0] == 0.0, ends[1] == 0.0)
    best, least = None, np.inf
    for count in range(STARTS):
        factor = SLOWER**count
        tau, warped = _warp(held, factor)
        s = np.interp(warped, times / times[-1], places)
        passed = np.concatenate([[0.0], np.interp(breaks[1:-1], s, tau), [1.0]])
        counts = np.maximum(np.ceil(k * np.diff(passed)), FEWEST).astype(int)
        phase = np.repeat(np.arange(len(counts)), counts)
        knots = np.append(split(passed, counts)[:-1], 1.0)
        grid, t = np.interp(knots, tau, s), factor * times[-1] * knots
        speed = np.gradient(grid, t)
        speed[[0, -1]] = ends
        y = Pieces(grid, np.diff(t), speed, np.gradient(speed, t))
        measure = measure_of(phase)
        y = measure.joined(y)
        merit = measure.merit(y)
        if best is None or merit < least:
            best, least = (y, phase), merit
        if all(held) and merit < np.inf and np.abs(measure.at(y).value).max() <= 1.0:
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
