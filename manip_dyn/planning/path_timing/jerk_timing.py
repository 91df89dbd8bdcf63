"""A fastest timing with limited jerk, beside the limits of `rows`.

The timing without them, begun and ended gently and slowed until its jerk is allowed, is the
start. Successive linear programs (see `jerk_program`) in trust regions lead to a motion from which
no small change is faster. As the jerk makes the problem not convex, it may not be the fastest of
all. An end that is passed at a speed is passed at it, however slow the rest: where slowing led to
no motion within the limits, or to one that turns back, limits of jerk are lowered from what the
timing without them needs.
Intervals without use of any limit are divided. What rows do between grid points is read and
bounded by second differences, and limits lowered where need be, as in `search`; intervals in which
that does not do it are halved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Tensor
from manip_dyn.planning.path_timing.jerk_pieces import Pieces
from manip_dyn.planning.path_timing.jerk_program import Program
from manip_dyn.planning.path_timing.jerk_rows import PLACES, Course
from manip_dyn.planning.path_timing.jerk_search import missed, solved, solved_by_lowering
from manip_dyn.planning.path_timing.jerk_start import Free, gentle_start
from manip_dyn.planning.path_timing.no_timing import NoTimingError

IDLE, BRIEF, PARTS, FIRST = 0.99, 3e-4, 4, 2
"""Intervals that use no limit to the first share and take more of the time than the second are
divided into parts, in the first rounds of all,"""
COARSE, REFINEMENTS = 1.01, 6
"""and halved where more of a limit than this share may be used between grid points."""
ROOM, ROUNDS = 1e-7, 8
HALVINGS = 3
"""How often intervals are halved in which lower limits, as often as that, do not do it."""
GROWTH = 1.2
"""By which margins grow faster then, round after round, once more with every time."""
MISSED = 0.1
"""A motion that misses limits by more than this share is refused."""
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


class _Gridded(NamedTuple):
    """A motion on its grid, and what it is measured by.

    Attributes:
        course: The arm on its path, with all limits.
        free: The motion without limits of jerk.
        y: The motion.
        phase: Of its intervals (k,).
        margins: By how much limits are lowered there (k, r).
        converged: Whether no step was faster any more.
    """

    course: Course
    free: Free
    y: Pieces
    phase: Counts
    margins: Matrix
    converged: bool = False

    @property
    def program(self) -> Program:
        """Its measure."""
        limits, whole = 1.0 - np.minimum(self.margins, 0.5), float(self.y.times.sum())
        breaks, held = self.free.breaks, self.free.held
        return Program(self.course.at_ends, limits, whole, self.phase, breaks[1:], held)

    def solved(self) -> _Gridded:
        """Return the motion that no step makes faster."""
        y, converged = solved(self.program, self.y)
        return self._replace(y=y, converged=converged)

    def solved_by_lowering(self) -> _Gridded:
        """Return the same by way of lower and lower limits of jerk."""
        y, converged = solved_by_lowering(self.program, self.y, self.course.robot.n)
        return self._replace(y=y, converged=converged)

    def split(self, parts: Counts) -> _Gridded:
        """Return the same motion with intervals divided into parts (k,)."""
        phase, margins = np.repeat(self.phase, parts), self.margins.repeat(parts, axis=0)
        return self._replace(y=self.y.split(parts), phase=phase, margins=margins)

    def missed(self) -> float:
        """Return by how much limits are missed, in shares; below 0: not."""
        return float(missed(self.program, self.y).max())

    def turns_back(self) -> bool:
        """Return whether it does somewhere between grid points, though at none of them."""
        _, speed, _ = self.y.at(PLACES[1:-1])
        return bool(speed.min() < 0.0)

    def check_missed(self) -> None:
        """Give up where limits are missed by more than `MISSED`.

        That happens where an end is to be passed at a speed that limits of jerk do not let it
        have.
        """
        beyond = missed(self.program, self.y)
        if beyond.max() > MISSED:
            raise NoTimingError("jerk", self.y.grid[np.argmax(beyond)])


def jerk_limited(course: Course, free: Free) -> JerkProfile:
    """Return a fastest timing; where it begins or ends at rest, it has no acceleration there.

    Args:
        course: The arm on its path, with all limits.
        free: The motion without limits of jerk.

    Raises:
        NoTimingError: If none was found.
    """
    motion = _refined(_first(course, free))
    y, program = motion.y, motion.program
    if program.merit(y) == np.inf:  # it does not move on everywhere
        raise NoTimingError("jerk", y.grid[np.argmin(y.speed[1:-1]) + 1])
    return _tightened(motion)


def _first(course: Course, free: Free) -> _Gridded:
    """Return the motion on the first grid."""

    def unmargined(phase: Counts) -> Program:
        whole = float(free.times[-1])
        return Program(course.at_ends, np.ones((1, 1)), whole, phase, free.breaks[1:], free.held)

    def gridded(y: Pieces, phase: Counts) -> _Gridded:
        margins = np.full((len(y.times), course.read(y).shape[2]), ROOM)
        return _Gridded(course, free, y, phase, margins)

    motion = gridded(*gentle_start(unmargined, free)).solved()
    if motion.missed() > MISSED or motion.turns_back():
        y, phase = free.slowed(1.0)
        other = gridded(unmargined(phase).joined(y), phase).solved_by_lowering()
        motion = min(other, motion, key=lambda each: max(each.missed(), MISSED))
        motion.check_missed()
    return motion


def _refined(motion: _Gridded) -> _Gridded:
    """Return the motion on a grid that is fine where it has to be."""
    for count in range(REFINEMENTS):
        y, found = motion.y, motion.course.read(motion.y)
        idle = (np.abs(found).max(axis=2).min(axis=1) < IDLE) & (count < FIRST)
        coarse = np.any(_bounded(found) > COARSE, axis=1)
        brief = y.times < BRIEF * y.times.sum()
        parts = np.where(idle & ~brief, PARTS, np.where(coarse, 2, 1))
        if np.all(parts == 1):
            break
        motion = motion.split(parts).solved()
        motion.check_missed()
    return motion


def _tightened(motion: _Gridded) -> JerkProfile:
    """Return the motion that keeps its limits between grid points, too."""
    relaxed = float(motion.y.times.sum())
    again = np.zeros(len(motion.phase), dtype=bool)
    for halvings in range(HALVINGS + 1):
        if again.any():
            margins = np.where(again[:, None], ROOM, motion.margins)
            motion = motion._replace(margins=margins).split(np.where(again, 2, 1)).solved()
        again = np.zeros(len(motion.phase), dtype=bool)
        for count in range(ROUNDS):
            found = motion.course.read(motion.y)
            beyond = _bounded(found) - 1.0
            if not np.any(beyond > 0.0):
                return _profile(motion, relaxed, found)
            again |= np.any((beyond > 0.0) & (motion.margins > ROOM), axis=1)
            # Where a margin holds back one end of an interval alone, it takes more.
            grown = GROWTH ** (halvings * count)
            step = np.where(beyond > 0.0, 1.02 * grown * beyond + ROOM, 0.0)
            motion = motion._replace(margins=motion.margins + step).solved()
        for factor in 1.0 + 1e-6 * 2.0 ** np.arange(SLOWINGS):
            slower = motion._replace(y=motion.program.slowed(motion.y, factor))
            found = motion.course.read(slower.y)
            if np.all(_bounded(found) <= 1.0) and motion.program.merit(slower.y) < np.inf:
                return _profile(slower, relaxed, found)
        if not motion.converged:
            break
    worst = np.argmax(_bounded(motion.course.read(motion.y)).max(axis=1))
    raise NoTimingError("jerk", motion.y.grid[worst])


def _profile(motion: _Gridded, relaxed: float, found: Tensor) -> JerkProfile:
    most = float(np.abs(found).max())
    return JerkProfile(motion.y, relaxed, most, found[..., 0].size, motion.converged)


def _bounded(found: Tensor) -> Matrix:
    """Return the bounds (k, r) of rows read at equal distances (k, p, r).

    A parabola is greater in between by an eighth of its second difference; here by a quarter.
    """
    return np.abs(found).max(axis=1) + np.abs(np.diff(found, 2, axis=1)).max(axis=1) / 4.0
