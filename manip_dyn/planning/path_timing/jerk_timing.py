"""Fastest timing of a path with limited jerk, by sequential linear programming.

The initial guess is the timing without jerk limits, smoothed at both ends and slowed down until
its jerk is within the limits. Linear programs in a trust region then improve the motion until no
small change is faster. Jerk limits make the problem nonconvex, so another timing may be faster.
Nonzero end speeds are preserved while the rest of the motion is slowed down. This may result in no
motion within the limits, or in a motion that reverses or is much slower. In this case the jerk
limits are raised to the jerk of the timing without jerk limits, and then reduced step by step.

The path is traversed in phases between its breaks. Each phase is divided into intervals of fixed
fractions of its duration. The unknowns are the durations of the phases, and s, ds/dt and d2s/dt2
at the grid points. For constant durations, the unknowns satisfy linear equations, onto which every
step is projected (`jerk_motion.projected`). Limits are linearized, and violations are penalized
(exact penalties; Fletcher 1987, chapter 14).

Intervals without an active limit are divided. Between grid points, the rows are sampled and
bounded by second differences, and limits are lowered if necessary, as in `speed_profile`.
Intervals for which this is not sufficient are halved.
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
"""Penalty of violations, in durations of the whole motion per interval."""
TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
LEAST_SPEED = 0.2
"""Smallest fraction of a speed that must remain after a step."""
END_FRACTION = 0.3
"""Fraction of the duration near an end with nonzero speed in which a motion is slowed down
less."""
SUFFICIENT_DECREASE = 0.5
"""Fraction of the predicted decrease below which a step receives a second-order correction."""
NEGLIGIBLE_DECREASE = 1e-7
"""Predicted decrease, as a fraction of the duration, below which no correction is computed."""


class JerkIterations:
    """Maximum numbers of iterations.

    Attributes:
        steps: Linear programs on one grid.
        refinements: Refinements of the grid.
        idle_refinements: Refinements that also divide intervals without an active limit.
        tightenings: Reductions of the limits to satisfy them between grid points.
        halvings: Halvings of the intervals for which tightening is not sufficient.
        slowings: Slowdowns of the motion. The first one is 1e-6, and each is twice the last one.
    """

    steps = 60
    refinements = 6
    idle_refinements = 2
    tightenings = 8
    halvings = 3
    slowings = 20


class JerkProgram(NamedTuple):
    """Merit function and linear programs for motions with the same phases.

    Attributes:
        rows: Function that returns the coefficients of the constraint rows at the ends of the
            intervals of a grid.
        most: Largest absolute values of the constraint rows (k, r).
        whole: Time by which durations are divided, s.
        phase: Phase of each interval (k,).
        places: Values of s at the ends of the phases (p,).
        held: Whether the acceleration is 0 at the start and at the end.
    """

    rows: Callable[..., JerkRows]
    most: Matrix
    whole: float
    phase: Counts
    places: Vector
    held: tuple[bool, bool]

    @property
    def ends(self) -> Counts:
        """Grid points (p,) at the ends of the phases."""
        return np.flatnonzero(np.diff(self.phase, append=-1)) + 1

    def merit(self, y: CubicProfile) -> float:
        """Return the normalized duration plus the penalty of violations; inf if it reverses."""
        if y.speed[1:-1].min() <= 0.0 or np.diff(y.grid).min() <= 0.0:
            return np.inf
        beyond = (np.abs(self.at(y).value).max(axis=1) - self.most).max(axis=1)
        return float(y.times.sum() / self.whole + PENALTY * np.maximum(beyond, 0.0).sum())

    def joined(self, y: CubicProfile) -> CubicProfile:
        """Return the projection of a motion onto the continuous motions."""
        return projected(y, self.ends, self.places, self.held)

    def at(self, y: CubicProfile, *inside: float) -> RowDerivatives:
        """Return the rows and their derivatives (k, 2, r) at both ends of the intervals."""
        v, u = (np.stack([x[:-1], x[1:]], axis=1) for x in (y.speed, y.acceleration))
        return row_derivatives(
            self.rows(y.grid, *inside), v, u, np.stack([y.jerk, y.jerk], axis=1)
        )

    def slowed(self, y: CubicProfile, factor: float) -> CubicProfile:
        """Return the motion slowed down by `factor`. Nonzero end speeds do not change."""
        if all(self.held):
            return y.slowed(factor)
        elapsed = np.concatenate([[0.0], np.cumsum(y.times)]) / y.times.sum()
        near = [
            np.ones(len(elapsed)) if held else np.minimum(fraction / END_FRACTION, 1.0)
            for held, fraction in zip(self.held, (elapsed, 1.0 - elapsed), strict=True)
        ]
        weight = (
            near[0] * near[0] * (3.0 - 2.0 * near[0]) * near[1] * near[1] * (3.0 - 2.0 * near[1])
        )
        slower = 1.0 + (factor - 1.0) * weight
        times = y.times * 0.5 * (slower[1:] + slower[:-1])
        return self.joined(
            CubicProfile(y.grid, times, y.speed / slower, y.acceleration / slower**2)
        )

    def _slowed(self, y: CubicProfile) -> CubicProfile:
        """Slow down the motion to satisfy all limits; this is exact without weight and damping."""
        rows = self.at(y)
        load = np.abs(rows.value) / self.most[:, None, :]
        factor = np.where(rows.jerk != 0.0, np.cbrt(load), np.sqrt(load)).max()
        return self.slowed(y, max(float(factor), 1.0) + 1e-15)

    def step(self, y: CubicProfile, trust: float) -> tuple[CubicProfile, float] | None:
        """Solve the linear program for a step.

        Args:
            y: The motion.
            trust: Radius of the trust region.

        Returns:
            The motion after the step and its predicted merit, or None if the program fails.
        """
        from scipy.optimize import linprog  # slow to load, and few timings limit the jerk

        n, p = len(y.times), len(self.places)
        fast, sharp = y.speed.max(), np.abs(y.acceleration).max()
        length = y.grid[-1] - y.grid[0]
        sizes = (length, fast, sharp)
        scale = np.concatenate([np.ones(p), *(np.full(n + 1, size) for size in sizes)])
        size = len(scale)
        cost = np.zeros(size + n)
        cost[:p] = np.bincount(self.phase, y.times) / self.whole
        cost[size:] = PENALTY
        box = np.zeros((size + n, 2))
        box[:size], box[size:, 1] = (-trust, trust), np.inf
        s, v, u = p, p + n + 1, p + 2 * n + 2
        box[v : v + n + 1, 0] = np.maximum(-trust, -(1.0 - LEAST_SPEED) * y.speed / fast)
        box[[s, *(s + self.ends), v, v + n]] = 0.0
        box[[index for index, held in zip((u, u + n), self.held, strict=True) if held]] = 0.0
        here = self.at(y)
        below, room, at = linearized_limits(
            y, self.phase, self.most, here, self.at(y, DIFFERENCE_STEP), trust, sizes
        )
        equal = continuity_equations(y, self.phase, scale)
        no_missing = np.zeros(2 * n)

        def solve(room: Vector, missing: Vector) -> Any:
            return linprog(
                cost, below, room, equal, missing, box, method="highs-ds", options=TOLERANCES
            )

        solution = solve(room, no_missing)
        if solution.x is None:
            return None
        expected = float(y.times.sum() / self.whole + solution.fun)
        raw = self._moved(y, scale * solution.x[:size])
        there, merit = self._projected(raw)
        predicted = self.merit(y) - expected
        decrease = self.merit(y) - merit
        if predicted < NEGLIGIBLE_DECREASE or decrease > SUFFICIENT_DECREASE * predicted:
            return there, expected
        # Second-order correction: subtract the nonlinear remainders of limits and equations.
        k, end, row, sign = at
        linear = below[:, :size] @ solution.x[:size]
        with np.errstate(all="ignore"):
            values = self.at(raw).value[k, end, row]
        excess = sign * (values - here.value[k, end, row]) - linear
        missing = equal[:, :size] @ solution.x[:size] - continuity_residual(raw) / fast
        if not (np.isfinite(excess).all() and np.isfinite(missing).all()):
            return there, expected
        second = solve(room - excess, missing)
        if second.x is not None:
            corrected, corrected_merit = self._projected(self._moved(y, scale * second.x[:size]))
            there = corrected if corrected_merit < merit else there
        return there, expected

    def _moved(self, y: CubicProfile, step: Vector) -> CubicProfile:
        """Return the motion after a step. It need not be continuous."""
        n, p = len(y.times), len(self.places)
        s, v, u = p, p + n + 1, p + 2 * n + 2
        return CubicProfile(
            y.grid + step[s:v],
            y.times * (1.0 + step[self.phase]),
            y.speed + step[v:u],
            y.acceleration + step[u:],
        )

    def _projected(self, raw: CubicProfile) -> tuple[CubicProfile, float]:
        """Project a motion, and slow it down if that improves the merit.

        Returns:
            The motion and its merit.
        """
        there = self.joined(raw)
        slower = self._slowed(there)
        merits = self.merit(there), self.merit(slower)
        return (slower, merits[1]) if merits[1] < merits[0] else (there, merits[0])


TRUST, WIDEST, NARROWEST = 0.3, 0.5, 1e-9
CONVERGED = 1e-7
"""Predicted decrease, as a fraction of the duration, below which steps have converged."""
CONTINUATION_FACTOR = 0.5
"""Factor by which a continuation step reduces the jerk limits."""


def solve_programs(program: JerkProgram, y: CubicProfile) -> tuple[CubicProfile, bool]:
    """Improve a motion by linear programs; return it and whether the steps converged."""
    trust, merit = TRUST, program.merit(y)
    for _ in range(JerkIterations.steps):
        solution = program.step(y, trust)
        if solution is None:
            trust *= 0.25
        else:
            there, expected = solution
            new_merit = program.merit(there)
            if merit - expected < CONVERGED:
                return there if new_merit <= merit else y, True
            if merit == np.inf:  # the motion reverses between points of a coarser grid
                ratio = float(new_merit < merit)
            else:
                ratio = (merit - new_merit) / (merit - expected)
            if ratio > 0.1:
                y, merit = there, new_merit
            trust = min(2.0 * trust, WIDEST) if ratio > 0.75 else trust * (0.25, 1.0)[ratio > 0.25]
        if trust < NARROWEST:
            break
    return y, False


def solve_by_continuation(
    program: JerkProgram, y: CubicProfile, n: int
) -> tuple[CubicProfile, bool]:
    """Improve a motion of n joints that violates only jerk limits.

    The jerk limits are raised to the jerk of the motion and then reduced step by step. Each
    solution is the initial guess of the next one (numerical continuation; Allgower, Georg 1990).

    Returns:
        The motion, and whether the last steps converged.
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
    """Return the largest relative violation in each interval (k,); at most 0 if satisfied."""
    return np.asarray(np.abs(program.at(y).value).max(axis=(1, 2)) - program.most.max(axis=1))


IDLE, BRIEF, SUBDIVISIONS = 0.99, 3e-4, 4
"""An interval is idle if no row reaches the fraction `IDLE` of its limit. In the first
`JerkIterations.idle_refinements` rounds, idle intervals are divided into `SUBDIVISIONS`, unless
they take less than the fraction `BRIEF` of the duration."""
COARSE_LOAD = 1.01
"""Fraction of a limit that rows may reach between grid points. Other intervals are halved."""
MARGIN = 1e-7
"""Initial relative reduction of the limits."""
GROWTH = 1.2
"""Factor per round by which the growth of the margins increases after halving."""
MOST_VIOLATION = 0.1
"""Motions with a larger relative violation are rejected."""
MUCH_SLOWER = 2.0
"""Duration relative to the timing without jerk limits above which continuation is tried, too."""


class JerkProfile(NamedTuple):
    """Timing with jerk limits; compare `speed_profile.Profile`.

    Attributes:
        pieces: The motion.
        relaxed: Duration with limits only at grid points, s.
        load: Largest fraction of a limit at the points of the final check.
        reads: Number of these points.
        converged: Whether the steps converged.
    """

    pieces: CubicProfile
    relaxed: float
    load: float
    reads: int
    converged: bool


class _GridSolution(NamedTuple):
    """Motion on its grid, with its problem and margins.

    Attributes:
        course: The arm on its path with all limits.
        free: The motion without jerk limits.
        y: The motion.
        phase: Phase of each interval (k,).
        margins: Relative reductions of the limits (k, r).
        converged: Whether the steps converged.
    """

    course: JerkProblem
    free: UnlimitedMotion
    y: CubicProfile
    phase: Counts
    margins: Matrix
    converged: bool = False

    @property
    def program(self) -> JerkProgram:
        """Merit function and linear programs for the motion."""
        limits, whole = 1.0 - np.minimum(self.margins, 0.5), self.duration
        breaks, held = self.free.breaks, self.free.held
        return JerkProgram(self.course.at_ends, limits, whole, self.phase, breaks[1:], held)

    def solved(self) -> _GridSolution:
        """Improve the motion by linear programs."""
        y, converged = solve_programs(self.program, self.y)
        return self._replace(y=y, converged=converged)

    def solved_by_continuation(self) -> _GridSolution:
        """Improve the motion by continuation in the jerk limits."""
        y, converged = solve_by_continuation(self.program, self.y, self.course.robot.n)
        return self._replace(y=y, converged=converged)

    def split(self, counts: Counts) -> _GridSolution:
        """Return the same motion with its intervals divided into `counts` (k,) parts."""
        phase, margins = np.repeat(self.phase, counts), self.margins.repeat(counts, axis=0)
        return self._replace(y=self.y.split(counts), phase=phase, margins=margins)

    def violation(self) -> float:
        """Return the largest relative violation; at most 0 if all limits are satisfied."""
        return float(violations(self.program, self.y).max())

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self.y.times.sum())

    def rank(self) -> tuple[float, bool, float]:
        """Return a sort key that is smaller for better motions."""
        return max(self.violation(), MOST_VIOLATION), self.reverses(), self.duration

    def reverses(self) -> bool:
        """Return whether the motion reverses at a sample point between grid points."""
        _, speed, _ = self.y.at(READ_FRACTIONS[1:-1])
        return bool(speed.min() < 0.0)

    def check_violations(self) -> None:
        """Raise `NoTimingError` if a violation exceeds `MOST_VIOLATION`.

        This occurs if the jerk limits do not allow a nonzero end speed.
        """
        beyond = violations(self.program, self.y)
        if beyond.max() > MOST_VIOLATION:
            raise NoTimingError("jerk", self.y.grid[np.argmax(beyond)])


def jerk_limited_profile(problem: JerkProblem, free: UnlimitedMotion) -> JerkProfile:
    """Return a locally fastest timing within all limits, with zero acceleration at ends at rest.

    Args:
        problem: The arm on its path, with all limits.
        free: The motion without jerk limits.

    Raises:
        NoTimingError: If no timing is found.
    """
    motion = _refine(_initial_solution(problem, free))
    y, program = motion.y, motion.program
    if program.merit(y) == np.inf:  # the motion reverses
        raise NoTimingError("jerk", y.grid[np.argmin(y.speed[1:-1]) + 1])
    return _tighten(motion)


def _initial_solution(problem: JerkProblem, free: UnlimitedMotion) -> _GridSolution:
    """Return the solution on the first grid."""

    def unmargined(phase: Counts) -> JerkProgram:
        whole = float(free.times[-1])
        return JerkProgram(
            problem.at_ends, np.ones((1, 1)), whole, phase, free.breaks[1:], free.held
        )

    def gridded(y: CubicProfile, phase: Counts) -> _GridSolution:
        margins = np.full((len(y.times), problem.read(y).shape[2]), MARGIN)
        return _GridSolution(problem, free, y, phase, margins)

    motion = gridded(*initial_guess(unmargined, free)).solved()
    slow = not all(free.held) and motion.duration > MUCH_SLOWER * free.times[-1]
    if motion.violation() > MOST_VIOLATION or motion.reverses() or slow:
        y, phase = free.slowed(1.0)
        continued = gridded(unmargined(phase).joined(y), phase).solved_by_continuation()
        motion = min(continued, motion, key=_GridSolution.rank)
        motion.check_violations()
    return motion


def _refine(motion: _GridSolution) -> _GridSolution:
    """Return the motion on a refined grid, improved again."""
    for count in range(JerkIterations.refinements):
        y, rows = motion.y, motion.course.read(motion.y)
        idle = (np.abs(rows).max(axis=2).min(axis=1) < IDLE) & (
            count < JerkIterations.idle_refinements
        )
        coarse = np.any(_row_bounds(rows) > COARSE_LOAD, axis=1)
        brief = y.times < BRIEF * y.times.sum()
        counts = np.where(idle & ~brief, SUBDIVISIONS, np.where(coarse, 2, 1))
        if np.all(counts == 1):
            break
        motion = motion.split(counts).solved()
        motion.check_violations()
    return motion


def _tighten(motion: _GridSolution) -> JerkProfile:
    """Return the profile that also satisfies the limits between grid points.

    Raises:
        NoTimingError: If there is none within the allowed iterations.
    """
    relaxed = float(motion.y.times.sum())
    again = np.zeros(len(motion.phase), dtype=bool)
    for halvings in range(JerkIterations.halvings + 1):
        if again.any():
            margins = np.where(again[:, None], MARGIN, motion.margins)
            motion = motion._replace(margins=margins).split(np.where(again, 2, 1)).solved()
        again = np.zeros(len(motion.phase), dtype=bool)
        for count in range(JerkIterations.tightenings):
            rows = motion.course.read(motion.y)
            beyond = _row_bounds(rows) - 1.0
            if not np.any(beyond > 0.0):
                return _profile(motion, relaxed, rows)
            again |= np.any((beyond > 0.0) & (motion.margins > MARGIN), axis=1)
            # If a margin is active only at one end of an interval, the excess is too small a step.
            grown = GROWTH ** (halvings * count)
            step = np.where(beyond > 0.0, 1.02 * grown * beyond + MARGIN, 0.0)
            motion = motion._replace(margins=motion.margins + step).solved()
        for factor in 1.0 + 1e-6 * 2.0 ** np.arange(JerkIterations.slowings):
            slower = motion._replace(y=motion.program.slowed(motion.y, factor))
            rows = motion.course.read(slower.y)
            if np.all(_row_bounds(rows) <= 1.0) and motion.program.merit(slower.y) < np.inf:
                return _profile(slower, relaxed, rows)
        if not motion.converged:
            break
    worst = np.argmax(_row_bounds(motion.course.read(motion.y)).max(axis=1))
    raise NoTimingError("jerk", motion.y.grid[worst])


def _profile(motion: _GridSolution, relaxed: float, rows: Tensor) -> JerkProfile:
    most = float(np.abs(rows).max())
    return JerkProfile(motion.y, relaxed, most, rows[..., 0].size, motion.converged)


def _row_bounds(rows: Tensor) -> Matrix:
    """Return bounds (k, r) of rows that are sampled at equal distances (k, p, r).

    Between samples, a parabola exceeds its values by at most an eighth of its second difference.
    The bound adds a quarter of it.
    """
    return np.abs(rows).max(axis=1) + np.abs(np.diff(rows, 2, axis=1)).max(axis=1) / 4.0
