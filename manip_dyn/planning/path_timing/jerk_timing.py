"""A fastest timing with limited jerk, beside the limits of `rows`.

The timing without them, begun and ended gently and slowed until its jerk is allowed, is the
start. Successive linear programs (see `jerk_program`) in trust regions lead to a motion from which
no small change is faster. As the jerk makes the problem not convex, it may not be the fastest of
all. Intervals without use of any limit are divided. What rows do between grid points is read and
bounded by second differences, and limits lowered where need be, as in `search`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Tensor, Vector
from manip_dyn.planning.path_timing.jerk_pieces import Pieces
from manip_dyn.planning.path_timing.jerk_program import Program
from manip_dyn.planning.path_timing.jerk_rows import Course
from manip_dyn.planning.path_timing.jerk_start import gentle_start
from manip_dyn.planning.path_timing.no_timing import NoTimingError

STEPS = 60
TRUST, WIDEST, NARROWEST = 0.3, 0.5, 1e-9
DONE = 1e-7
"""Share of the time by which no step is faster any more."""
IDLE, BRIEF, PARTS, FIRST = 0.99, 3e-4, 4, 2
"""Intervals that use no limit to the first share and take more of the time than the second are
divided into parts, in the first rounds of all,"""
COARSE, REFINEMENTS = 1.01, 6
"""and halved where more of a limit than this share may be used between grid points."""
ROOM, ROUNDS = 1e-7, 8
HOPELESS, MISSED = 1.0, 0.1
"""A motion that no step makes better is refused where it misses limits by more than the first
share on the first grid; on a finer one, any by more than the second."""
SLOWINGS = 20
"""How often a motion is slowed more, from a millionth on, twice as much each time."""


class JerkProfile(NamedTuple):
    """A timing: its pieces, and the numbers of `search.Profile`.

    Attributes:
        converged: Whether no step was faster any more.
    """

    pieces: Pieces
    relaxed: float
    load: float
    reads: int
    converged: bool


def jerk_limited(
    course: Course, ends: tuple[float, float], free: tuple[Vector, Vector], breaks: Vector, k: int
) -> JerkProfile:
    """Return a fastest timing on k intervals or more.

    Args:
        course: The arm on its path, with all limits.
        ends: Speeds ds/dt at both ends; where 0, there is no acceleration either.
        free: Times and places of the motion without limits of jerk.
        breaks: Where the path is not smooth, or a joint turns back.
        k: How many intervals.

    Raises:
        NoTimingError: If none was found.
    """
    held = (ends[0] == 0.0, ends[1] == 0.0)

    def unmargined(phase: Counts) -> Program:
        return Program(
            course.at_ends, np.ones((1, 1)), float(free[0][-1]), phase, breaks[1:], held
        )

    y, phase = gentle_start(unmargined, ends, free, breaks, k)
    margins = np.full((len(y.times), course.read(y).shape[2]), ROOM)

    def program(y: Pieces, phase: Counts, margins: Matrix) -> Program:
        limits, whole = 1.0 - np.minimum(margins, 0.5), float(y.times.sum())
        return Program(course.at_ends, limits, whole, phase, breaks[1:], held)

    y, converged = _solved(program(y, phase, margins), y)
    if converged:
        _check_missed(program(y, phase, margins), y, HOPELESS)
    for count in range(REFINEMENTS):
        found = course.read(y)
        idle = (np.abs(found).max(axis=2).min(axis=1) < IDLE) & (count < FIRST)
        coarse = np.any(_bounded(found) > COARSE, axis=1)
        brief = y.times < BRIEF * y.times.sum()
        parts = np.where(idle & ~brief, PARTS, np.where(coarse, 2, 1))
        if np.all(parts == 1):
            break
        y, phase, margins = y.split(parts), np.repeat(phase, parts), margins.repeat(parts, axis=0)
        y, converged = _solved(program(y, phase, margins), y)
        _check_missed(program(y, phase, margins), y, MISSED)
    relaxed = float(y.times.sum())
    if program(y, phase, margins).merit(y) == np.inf:  # it does not move on everywhere
        raise NoTimingError("jerk", y.grid[np.argmin(y.speed[1:-1]) + 1])
    for _ in range(ROUNDS):
        found = course.read(y)
        beyond = _bounded(found) - 1.0
        if not np.any(beyond > 0.0):
            return JerkProfile(y, relaxed, _most(found), found[..., 0].size, converged)
        margins += np.where(beyond > 0.0, 1.02 * beyond + ROOM, 0.0)
        y, converged = _solved(program(y, phase, margins), y)
    return _slowed(course, program(y, phase, margins), y, relaxed, converged)


def _solved(program: Program, y: Pieces) -> tuple[Pieces, bool]:
    """Return the motion that no step makes faster, and whether it was come to."""
    trust, merit = TRUST, program.merit(y)
    for _ in range(STEPS):
        made = program.step(y, trust)
        if made is None:
            trust *= 0.25
        else:
            there, expected = made
            found = program.merit(there)
            if merit - expected < DONE:
                return there if found <= merit else y, True
            if merit == np.inf:  # it turns back between points of a coarser grid
                share = float(found < merit)
            else:
                share = (merit - found) / (merit - expected)
            if share > 0.1:
                y, merit = there, found
            trust = min(2.0 * trust, WIDEST) if share > 0.75 else trust * (0.25, 1.0)[share > 0.25]
        if trust < NARROWEST:
            break
    return y, False


def _check_missed(program: Program, y: Pieces, share: float) -> None:
    """Give up on a motion that misses limits by more than a share of them: others are no better.

    That happens where an end is to be passed at a speed that limits of jerk do not let it have.
    """
    beyond = np.abs(program.at(y).value).max(axis=(1, 2)) - program.most.max(axis=1)
    if beyond.max() > share:
        raise NoTimingError("jerk", y.grid[np.argmax(beyond)])


def _bounded(found: Tensor) -> Matrix:
    """Return the bounds (k, r) of rows read at equal distances (k, p, r).

    A parabola is greater in between by an eighth of its second difference; here by a quarter.
    """
    return np.abs(found).max(axis=1) + np.abs(np.diff(found, 2, axis=1)).max(axis=1) / 4.0


def _most(found: Tensor) -> float:
    return float(np.abs(found).max())


def _slowed(
    course: Course, program: Program, y: Pieces, relaxed: float, converged: bool
) -> JerkProfile:
    """Return the motion slowed until no limit is exceeded."""
    for factor in 1.0 + 1e-6 * 2.0 ** np.arange(SLOWINGS):
        slower = program.slowed(y, factor)
        found = course.read(slower)
        if np.all(_bounded(found) <= 1.0) and program.merit(slower) < np.inf:
            return JerkProfile(slower, relaxed, _most(found), found[..., 0].size, converged)
    worst = np.argmax(_bounded(course.read(y)).max(axis=1))
    raise NoTimingError("jerk", y.grid[worst])
