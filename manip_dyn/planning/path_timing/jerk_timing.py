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

from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing.grid import Counts, split
from manip_dyn.planning.path_timing.jerk_pieces import Pieces
from manip_dyn.planning.path_timing.jerk_program import Program
from manip_dyn.planning.path_timing.jerk_rows import Course
from manip_dyn.planning.path_timing.joint_path import JointPath
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
FEWEST = 4
"""Intervals between two breaks."""
ROOM, ROUNDS = 1e-7, 8
SLOWER = 1.25
"""Factor between the slower starts that are tried."""
GENTLE = 0.5
"""Share of a start's time in which it speeds up."""
READ = 2000
"""At how many times the motion without limits of jerk is read for a start."""


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
    y, phase = _start(course, ends, free, breaks, k)
    margins = np.full((len(y.times), course.read(y).shape[2]), ROOM)

    def solved(y: Pieces, phase: Counts, margins: Matrix) -> tuple[Pieces, bool]:
        limits, whole = 1.0 - np.minimum(margins, 0.5), float(y.times.sum())
        return _solved(Program(course.at_ends, limits, whole, phase, breaks[1:], held), y)

    y, converged = solved(y, phase, margins)
    for count in range(REFINEMENTS):
        found = course.read(y)
        idle = (np.abs(found).max(axis=2).min(axis=1) < IDLE) & (count < FIRST)
        coarse = np.any(_bounded(found) > COARSE, axis=1)
        brief = y.times < BRIEF * y.times.sum()
        parts = np.where(idle & ~brief, PARTS, np.where(coarse, 2, 1))
        if np.all(parts == 1):
            break
        y, phase, margins = y.split(parts), np.repeat(phase, parts), margins.repeat(parts, axis=0)
        y, converged = solved(y, phase, margins)
    relaxed = float(y.times.sum())
    for _ in range(ROUNDS):
        found = course.read(y)
        beyond = _bounded(found) - 1.0
        if not np.any(beyond > 0.0):
            return JerkProfile(y, relaxed, _most(found), found[..., 0].size, converged)
        margins += np.where(beyond > 0.0, 1.02 * beyond + ROOM, 0.0)
        y, converged = solved(y, phase, margins)
    return _slowed(course, y, relaxed, converged, held)


def check_third(path: JointPath, n: int) -> None:
    """Refuse a path without a third derivative, or whose second one jumps."""
    breaks = path.breaks
    places = 0.5 * (breaks[1:] + breaks[:-1])
    try:
        third = np.asarray(path(places, 3), dtype=np.float64)
    except Exception as why:  # it is the user's
        raise ManipDynError(
            f"path has no third derivative ({type(why).__name__}: {why}); expected path(s, 3) "
            "beside the first two where jerk_limits are given"
        ) from why
    if third.shape != (len(places), n) or not np.isfinite(third).all():
        raise ManipDynError(
            f"path(s, 3) has shape {third.shape}; expected finite third derivatives (m, {n}) "
            "where jerk_limits are given"
        )
    width = np.diff(breaks)
    before = path(breaks[1:-1] - 1e-9 * width[:-1], 2)
    after = path(breaks[1:-1] + 1e-9 * width[1:], 2)
    greatest = max(np.abs(path(np.concatenate([places, breaks]), 2)).max(), 1e-9)
    for k in np.flatnonzero(np.any(np.abs(after - before) > 1e-5 * greatest, axis=1)):
        raise ManipDynError(
            f"d2q/ds2 of the path jumps at s = {breaks[k + 1]:.6g} of {breaks[-1]:.6g}, which no "
            "limit of jerk allows; expected a path with a continuous one: a spline through the "
            "waypoints, without blend"
        )


def _start(
    course: Course, ends: tuple[float, float], free: tuple[Vector, Vector], breaks: Vector, k: int
) -> tuple[Pieces, Counts]:
    """Return the motion `free`, begun and ended gently, and slow, and its intervals' phases."""
    times, places = free
    held = (ends[0] == 0.0, ends[1] == 0.0)
    best, least = None, np.inf
    for count in range(STEPS):
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
        program = Program(course.at_ends, np.ones((1, 1)), 1.0, phase, breaks[1:], held)
        y = program.joined(y)
        if program.merit(y) == np.inf:
            continue
        most = float(np.abs(program.at(y).value).max())
        if most < least:
            best, least = (y, phase), most
        if most <= 1.0:
            break
    if best is None:
        raise NoTimingError("jerk", breaks[0])
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
            share = (merit - found) / (merit - expected)
            if share > 0.1:
                y, merit = there, found
            trust = min(2.0 * trust, WIDEST) if share > 0.75 else trust * (0.25, 1.0)[share > 0.25]
        if trust < NARROWEST:
            break
    return y, False


def _bounded(found: Tensor) -> Matrix:
    """Return the bounds (k, r) of rows read at equal distances (k, p, r).

    A parabola is greater in between by an eighth of its second difference; here by a quarter.
    """
    return np.abs(found).max(axis=1) + np.abs(np.diff(found, 2, axis=1)).max(axis=1) / 4.0


def _most(found: Tensor) -> float:
    return float(np.abs(found).max())


def _slowed(
    course: Course, y: Pieces, relaxed: float, converged: bool, held: tuple[bool, bool]
) -> JerkProfile:
    """Return the motion slowed until no limit is exceeded."""
    for factor in 1.0 + 1e-6 * 2.0 ** np.arange(20) if all(held) else ():
        slower = y.slowed(factor)
        found = course.read(slower)
        if np.all(_bounded(found) <= 1.0):
            return JerkProfile(slower, relaxed, _most(found), found[..., 0].size, converged)
    worst = np.argmax(_bounded(course.read(y)).max(axis=1))
    raise NoTimingError("jerk", y.grid[worst])
