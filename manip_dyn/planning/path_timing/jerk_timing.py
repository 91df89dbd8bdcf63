"""The fastest timing of a path with limited jerk, by sequential linear programming.

The initial guess is the timing without jerk limits, eased in and out and slowed down until its
jerk is within the limits. Linear programs in a trust region lead to a motion from which no small
change is faster. Jerk limits make the problem nonconvex, so another timing may be faster. An end
with a nonzero speed is passed at that speed, however slow the rest. If slowing down leads to no
motion within the limits, or to one that reverses, the jerk limits are lowered step by step from
those that the timing without them needs.

Between its breaks the path is passed in phases, each divided into intervals of fixed fractions of
its time. Unknowns are the durations of the phases, and s, ds/dt and d2s/dt2 at the grid points.
For given durations these satisfy linear equations, onto which every step is projected
(`jerk_motion.projected`). Limits are linearized, and violations are penalized (exact penalties;
Fletcher 1987, chapter 14).

Intervals that use no limit are divided. Between grid points the rows are sampled and bounded by
second differences, and limits are lowered if necessary, as in `speed_profile`. Intervals for which
this is not enough are halved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Tensor, Vector
from manip_dyn.planning.path_timing.jerk_motion import (
    DIFFERENCE_STEP,
    READ_FRACTIONS,
    CubicProfile,
    JerkProblem,
    JerkRows,
    RowDerivatives,
    UnlimitedMotion,
    continuity_equations,
    continuity_residual,
    initial_guess,
    linearized_limits,
    projected,
    row_derivatives,
)
from manip_dyn.planning.path_timing.speed_profile import NoTimingError

PENALTY = 2.0
"""Of what is missed of the limits, in times of the whole motion per interval."""
TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
LEAST_SPEED = 0.2
"""Share of a speed that a step leaves."""
END_FRACTION = 0.3
"""Share of the time of a motion within which it is slowed less near an end that it passes."""
SUFFICIENT_DECREASE = 0.5
"""Share of what is expected that a step has to bring, or it is corrected to second order."""
NEGLIGIBLE_DECREASE = 1e-7
"""Expected shares of the time that are not worth that."""


class JerkProgram(NamedTuple):
    """Motions measured by their time and what they miss.

    Attributes:
        rows: Gives the rows at the ends of a grid's intervals, a share of them inside.
        most: Their limits (k, r).
        whole: A time, s, in shares of which the times are.
        phase: The phase (k,) of each interval.
        places: Where the phases end (p,).
        held: Whether the acceleration is 0 at the begin and at the end.
    """

    rows: Callable[..., JerkRows]
    most: Matrix
    whole: float
    phase: Counts
    places: Vector
    held: tuple[bool, bool]

    @property
    def ends(self) -> Counts:
        """The grid points (p,) at which the phases end."""
        return np.flatnonzero(np.diff(self.phase, append=-1)) + 1

    def merit(self, y: CubicProfile) -> float:
        """Return the time in shares of the whole, and the price of what is missed."""
        if y.speed[1:-1].min() <= 0.0 or np.diff(y.grid).min() <= 0.0:
            return np.inf
        beyond = (np.abs(self.at(y).value).max(axis=1) - self.most).max(axis=1)
        return float(y.times.sum() / self.whole + PENALTY * np.maximum(beyond, 0.0).sum())

    def joined(self, y: CubicProfile) -> CubicProfile:
        """Return the motion near y that fits together."""
        return projected(y, self.ends, self.places, self.held)

    def at(self, y: CubicProfile, *inside: float) -> RowDerivatives:
        """Return what the rows come to at both ends of the intervals (k, 2, r)."""
        v, u = (np.stack([x[:-1], x[1:]], axis=1) for x in (y.speed, y.acceleration))
        return row_derivatives(
            self.rows(y.grid, *inside), v, u, np.stack([y.jerk, y.jerk], axis=1)
        )

    def slowed(self, y: CubicProfile, factor: float) -> CubicProfile:
        """Return the motion `factor` times as slow; near ends that it passes, less and less."""
        if all(self.held):
            return y.slowed(factor)
        passed = np.concatenate([[0.0], np.cumsum(y.times)]) / y.times.sum()
        near = [
            np.ones(len(passed)) if held else np.minimum(each / END_FRACTION, 1.0)
            for held, each in zip(self.held, (passed, 1.0 - passed), strict=True)
        ]
        share = (
            near[0] * near[0] * (3.0 - 2.0 * near[0]) * near[1] * near[1] * (3.0 - 2.0 * near[1])
        )
        slower = 1.0 + (factor - 1.0) * share
        times = y.times * 0.5 * (slower[1:] + slower[:-1])
        return self.joined(
            CubicProfile(y.grid, times, y.speed / slower, y.acceleration / slower**2)
        )

    def _slowed(self, y: CubicProfile) -> CubicProfile:
        """Return the motion slowed by what is missed, as far as that goes by inertia alone."""
        found = self.at(y)
        share = np.abs(found.value) / self.most[:, None, :]
        factor = np.where(found.jerk != 0.0, np.cbrt(share), np.sqrt(share)).max()
        return self.slowed(y, max(float(factor), 1.0) + 1e-15)

    def step(self, y: CubicProfile, trust: float) -> tuple[CubicProfile, float] | None:
        """Return where the linear program leads and the merit it expects; None: it failed."""
        from scipy.optimize import linprog  # slow to load, and few timings limit the jerk

        n, p = len(y.times), len(self.places)
        fast, sharp = y.speed.max(), np.abs(y.acceleration).max()
        length = y.grid[-1] - y.grid[0]
        sizes = (length, fast, sharp)
        scale = np.concatenate([np.ones(p), *(np.full(n + 1, each) for each in sizes)])
        size = len(scale)
        cost = np.zeros(size + n)
        cost[:p] = np.bincount(self.phase, y.times) / self.whole
        cost[size:] = PENALTY
        box = np.zeros((size + n, 2))
        box[:size], box[size:, 1] = (-trust, trust), np.inf
        s, v, u = p, p + n + 1, p + 2 * n + 2
        box[v : v + n + 1, 0] = np.maximum(-trust, -(1.0 - LEAST_SPEED) * y.speed / fast)
        box[[s, *(s + self.ends), v, v + n]] = 0.0
        box[[each for each, held in zip((u, u + n), self.held, strict=True) if held]] = 0.0
        here = self.at(y)
        below, room, at = linearized_limits(
            y, self.phase, self.most, here, self.at(y, DIFFERENCE_STEP), trust, sizes
        )
        equal = continuity_equations(y, self.phase, scale)
        none = np.zeros(2 * n)

        def solve(room: Vector, missing: Vector) -> Any:
            return linprog(
                cost, below, room, equal, missing, box, method="highs-ds", options=TOLERANCES
            )

        found = solve(room, none)
        if found.x is None:
            return None
        expected = float(y.times.sum() / self.whole + found.fun)
        raw = self._moved(y, scale * found.x[:size])
        there, merit = self._mended(raw)
        hoped = self.merit(y) - expected
        if hoped < NEGLIGIBLE_DECREASE or self.merit(y) - merit > SUFFICIENT_DECREASE * hoped:
            return there, expected
        # What limits and equations come to there, beside what was expected, is taken from them.
        k, place, row, sign = at
        gone = below[:, :size] @ found.x[:size]
        with np.errstate(all="ignore"):
            values = self.at(raw).value[k, place, row]
        more = sign * (values - here.value[k, place, row]) - gone
        missing = equal[:, :size] @ found.x[:size] - continuity_residual(raw) / fast
        if not (np.isfinite(more).all() and np.isfinite(missing).all()):
            return there, expected
        second = solve(room - more, missing)
        if second.x is not None:
            other, least = self._mended(self._moved(y, scale * second.x[:size]))
            there = other if least < merit else there
        return there, expected

    def _moved(self, y: CubicProfile, step: Vector) -> CubicProfile:
        """Return the motion a step farther; its pieces need not fit together."""
        n, p = len(y.times), len(self.places)
        s, v, u = p, p + n + 1, p + 2 * n + 2
        return CubicProfile(
            y.grid + step[s:v],
            y.times * (1.0 + step[self.phase]),
            y.speed + step[v:u],
            y.acceleration + step[u:],
        )

    def _mended(self, raw: CubicProfile) -> tuple[CubicProfile, float]:
        """Return the motion that fits together, slowed if that is better, and its merit."""
        there = self.joined(raw)
        slower = self._slowed(there)
        merits = self.merit(there), self.merit(slower)
        return (slower, merits[1]) if merits[1] < merits[0] else (there, merits[0])


STEPS = 60
TRUST, WIDEST, NARROWEST = 0.3, 0.5, 1e-9
CONVERGED = 1e-7
"""Share of the time by which no step is faster any more."""
CONTINUATION_FACTOR = 0.5
"""By what limits of jerk are lowered at a time."""


def solve_programs(program: JerkProgram, y: CubicProfile) -> tuple[CubicProfile, bool]:
    """Return the motion that no step makes faster, and whether it was come to."""
    trust, merit = TRUST, program.merit(y)
    for _ in range(STEPS):
        made = program.step(y, trust)
        if made is None:
            trust *= 0.25
        else:
            there, expected = made
            found = program.merit(there)
            if merit - expected < CONVERGED:
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


def solve_by_continuation(
    program: JerkProgram, y: CubicProfile, n: int
) -> tuple[CubicProfile, bool]:
    """Return the same, come to from a motion that misses no limits but those of jerk, of n joints.

    Their limits are raised to what it needs, and lowered step by step to what they are, each
    motion leading to the next (numerical continuation; Allgower, Georg 1990).
    """
    jerk = program.at(y).value[..., -n:] / program.most[:, None, -n:]
    raised = float(np.abs(jerk).max())
    while raised > 1.0:
        most = program.most.copy()
        most[:, -n:] *= raised
        y, _ = solve_programs(program._replace(most=most, whole=float(y.times.sum())), y)
        raised *= CONTINUATION_FACTOR
    return solve_programs(program._replace(whole=float(y.times.sum())), y)


def violations(program: JerkProgram, y: CubicProfile) -> Vector:
    """Return by how much limits are missed in the intervals (k,), in shares; below 0: not."""
    return np.asarray(np.abs(program.at(y).value).max(axis=(1, 2)) - program.most.max(axis=1))


IDLE, BRIEF, SUBDIVISIONS, IDLE_REFINEMENTS = 0.99, 3e-4, 4, 2
"""Intervals that use no limit to the first share and take more of the time than the second are
divided into parts, in the first rounds of all,"""
COARSE_LOAD, REFINEMENTS = 1.01, 6
"""and halved where more of a limit than this share may be used between grid points."""
MARGIN, TIGHTENINGS = 1e-7, 8
HALVINGS = 3
"""How often intervals are halved in which lower limits, as often as that, do not do it."""
GROWTH = 1.2
"""By which margins grow faster then, round after round, once more with every time."""
MOST_VIOLATION = 0.1
"""A motion that misses limits by more than this share is refused."""
SLOWINGS = 20
"""How often a motion is slowed more, from a millionth on, twice as much each time."""


class JerkProfile(NamedTuple):
    """A timing: its pieces, and the numbers of `search.Profile`.

    Attributes:
        converged: Whether no step was faster any more.
    """

    pieces: CubicProfile
    relaxed: float
    load: float
    reads: int
    converged: bool


class _GridSolution(NamedTuple):
    """A motion on its grid, and what it is measured by.

    Attributes:
        course: The arm on its path, with all limits.
        free: The motion without limits of jerk.
        y: The motion.
        phase: Of its intervals (k,).
        margins: By how much limits are lowered there (k, r).
        converged: Whether no step was faster any more.
    """

    course: JerkProblem
    free: UnlimitedMotion
    y: CubicProfile
    phase: Counts
    margins: Matrix
    converged: bool = False

    @property
    def program(self) -> JerkProgram:
        """Its measure."""
        limits, whole = 1.0 - np.minimum(self.margins, 0.5), float(self.y.times.sum())
        breaks, held = self.free.breaks, self.free.held
        return JerkProgram(self.course.at_ends, limits, whole, self.phase, breaks[1:], held)

    def solved(self) -> _GridSolution:
        """Return the motion that no step makes faster."""
        y, converged = solve_programs(self.program, self.y)
        return self._replace(y=y, converged=converged)

    def solved_by_lowering(self) -> _GridSolution:
        """Return the same by way of lower and lower limits of jerk."""
        y, converged = solve_by_continuation(self.program, self.y, self.course.robot.n)
        return self._replace(y=y, converged=converged)

    def split(self, parts: Counts) -> _GridSolution:
        """Return the same motion with intervals divided into parts (k,)."""
        phase, margins = np.repeat(self.phase, parts), self.margins.repeat(parts, axis=0)
        return self._replace(y=self.y.split(parts), phase=phase, margins=margins)

    def missed(self) -> float:
        """Return by how much limits are missed, in shares; below 0: not."""
        return float(violations(self.program, self.y).max())

    def turns_back(self) -> bool:
        """Return whether it does somewhere between grid points, though at none of them."""
        _, speed, _ = self.y.at(READ_FRACTIONS[1:-1])
        return bool(speed.min() < 0.0)

    def check_missed(self) -> None:
        """Give up where limits are missed by more than `MISSED`.

        That happens where an end is to be passed at a speed that limits of jerk do not let it
        have.
        """
        beyond = violations(self.program, self.y)
        if beyond.max() > MOST_VIOLATION:
            raise NoTimingError("jerk", self.y.grid[np.argmax(beyond)])


def jerk_limited_profile(course: JerkProblem, free: UnlimitedMotion) -> JerkProfile:
    """Return a fastest timing; where it begins or ends at rest, it has no acceleration there.

    Args:
        course: The arm on its path, with all limits.
        free: The motion without limits of jerk.

    Raises:
        NoTimingError: If none was found.
    """
    motion = _refine(_initial_solution(course, free))
    y, program = motion.y, motion.program
    if program.merit(y) == np.inf:  # it does not move on everywhere
        raise NoTimingError("jerk", y.grid[np.argmin(y.speed[1:-1]) + 1])
    return _tighten(motion)


def _initial_solution(course: JerkProblem, free: UnlimitedMotion) -> _GridSolution:
    """Return the motion on the first grid."""

    def unmargined(phase: Counts) -> JerkProgram:
        whole = float(free.times[-1])
        return JerkProgram(
            course.at_ends, np.ones((1, 1)), whole, phase, free.breaks[1:], free.held
        )

    def gridded(y: CubicProfile, phase: Counts) -> _GridSolution:
        margins = np.full((len(y.times), course.read(y).shape[2]), MARGIN)
        return _GridSolution(course, free, y, phase, margins)

    motion = gridded(*initial_guess(unmargined, free)).solved()
    if motion.missed() > MOST_VIOLATION or motion.turns_back():
        y, phase = free.slowed(1.0)
        other = gridded(unmargined(phase).joined(y), phase).solved_by_lowering()
        motion = min(other, motion, key=lambda each: max(each.missed(), MOST_VIOLATION))
        motion.check_missed()
    return motion


def _refine(motion: _GridSolution) -> _GridSolution:
    """Return the motion on a grid that is fine where it has to be."""
    for count in range(REFINEMENTS):
        y, found = motion.y, motion.course.read(motion.y)
        idle = (np.abs(found).max(axis=2).min(axis=1) < IDLE) & (count < IDLE_REFINEMENTS)
        coarse = np.any(_row_bounds(found) > COARSE_LOAD, axis=1)
        brief = y.times < BRIEF * y.times.sum()
        parts = np.where(idle & ~brief, SUBDIVISIONS, np.where(coarse, 2, 1))
        if np.all(parts == 1):
            break
        motion = motion.split(parts).solved()
        motion.check_missed()
    return motion


def _tighten(motion: _GridSolution) -> JerkProfile:
    """Return the motion that keeps its limits between grid points, too."""
    relaxed = float(motion.y.times.sum())
    again = np.zeros(len(motion.phase), dtype=bool)
    for halvings in range(HALVINGS + 1):
        if again.any():
            margins = np.where(again[:, None], MARGIN, motion.margins)
            motion = motion._replace(margins=margins).split(np.where(again, 2, 1)).solved()
        again = np.zeros(len(motion.phase), dtype=bool)
        for count in range(TIGHTENINGS):
            found = motion.course.read(motion.y)
            beyond = _row_bounds(found) - 1.0
            if not np.any(beyond > 0.0):
                return _profile(motion, relaxed, found)
            again |= np.any((beyond > 0.0) & (motion.margins > MARGIN), axis=1)
            # Where a margin holds back one end of an interval alone, it takes more.
            grown = GROWTH ** (halvings * count)
            step = np.where(beyond > 0.0, 1.02 * grown * beyond + MARGIN, 0.0)
            motion = motion._replace(margins=motion.margins + step).solved()
        for factor in 1.0 + 1e-6 * 2.0 ** np.arange(SLOWINGS):
            slower = motion._replace(y=motion.program.slowed(motion.y, factor))
            found = motion.course.read(slower.y)
            if np.all(_row_bounds(found) <= 1.0) and motion.program.merit(slower.y) < np.inf:
                return _profile(slower, relaxed, found)
        if not motion.converged:
            break
    worst = np.argmax(_row_bounds(motion.course.read(motion.y)).max(axis=1))
    raise NoTimingError("jerk", motion.y.grid[worst])


def _profile(motion: _GridSolution, relaxed: float, found: Tensor) -> JerkProfile:
    most = float(np.abs(found).max())
    return JerkProfile(motion.y, relaxed, most, found[..., 0].size, motion.converged)


def _row_bounds(found: Tensor) -> Matrix:
    """Return the bounds (k, r) of rows read at equal distances (k, p, r).

    A parabola is greater in between by an eighth of its second difference; here by a quarter.
    """
    return np.abs(found).max(axis=1) + np.abs(np.diff(found, 2, axis=1)).max(axis=1) / 4.0
