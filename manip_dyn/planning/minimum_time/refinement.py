"""The fastest spline on a grid: coarse search from many initial guesses, then refinement.

The refinement ends when the motion satisfies its limits between the nodes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from math import exp, inf, log
from typing import Any

import numpy as np

from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.budget import Budget
from manip_dyn.planning.minimum_time.interior_point import gauss_newton_steps, newton_steps
from manip_dyn.planning.minimum_time.nodes import (
    NodeLimits,
    cubic_spline,
    drift,
    empty_node_motion,
    empty_node_work,
    inverse_kernels_of,
    measure_slacks,
    slow_enough,
)
from manip_dyn.planning.minimum_time.splines import (
    BARRIER,
    CELLS,
    SETTLED,
    Ends,
    GridSolution,
    RefinedSolution,
    Spline,
    efforts_of,
)
from manip_dyn.robot import Robot

SINGLE_SWINGS = (0.5, 1.5)
"""Detours of one joint, rad."""
PAIR_SWINGS = (0.7, 1.5)
"""Opposite detours of two joints, rad; that of the second joint is 1.5 times larger."""
SHORT_MOTION = 2.0
"""Largest detour of short motions, as a multiple of their distance."""


def swings(robot: Robot, distance: float) -> Iterator[Vector]:
    """Yield detours (n,): zero, then of single joints, then of pairs of adjacent joints."""
    unit = _units(robot, distance)
    yield np.zeros(robot.n)
    for joint in range(robot.n):
        for length in SINGLE_SWINGS:
            yield from _both(length * unit[joint])
    for first, second in pairwise(range(robot.n)):
        for length in PAIR_SWINGS:
            yield from _both(length * (unit[first] - 1.5 * unit[second]))


def random_swings(robot: Robot, distance: float) -> Iterator[Vector]:
    """Yield an infinite, reproducible sequence of random detours (n,)."""
    rng, unit = np.random.default_rng(0), _units(robot, distance)
    while True:
        yield 1.5 * rng.normal(size=robot.n) @ unit


def _units(robot: Robot, distance: float) -> Vector:
    """Return unit detours (n, n): 1 rad, or a fraction of the range of a prismatic joint."""
    spans = [
        min((high - low) / np.pi, 1.0) if kind == "prismatic" else 1.0
        for kind, low, high in zip(robot.joint_types, robot.q_min, robot.q_max, strict=True)
    ]
    return np.diag(spans) * min(1.0, SHORT_MOTION * distance)


def _both(swing: Vector) -> Iterator[Vector]:
    yield swing
    yield -swing


POSITION_MARGIN = 1e-2
"""Smallest margin of initial guesses from position limits, as a fraction of the distance."""
EFFORT_MARGIN, SLOWDOWN = 0.3, 30.0
"""Smallest margin of initial guesses from effort or speed limits, and additional slowdown of
initial guesses from rest to rest."""
GUESS_DURATIONS = np.geomspace(1e-2, 1e2, 120)
"""Durations of initial guesses for moving arms, s."""
FIRST_SLOWER, MOST_SLOWER = 1e-6, 0.5
"""First and largest relative slowdown to satisfy the limits; the slowdown is doubled in each
trial."""
SLOWER_FACTOR = 2.0
"""Factor of the slowdown on fine grids. Without it, some margins from the limits are tiny compared
with the slowdown, and an interior-point method requires many steps. On the first grid, a larger
slowdown often leads to a slower basin."""
COARSE_STEPS, STEPS, NEWTON_STEPS, NEWTON_WORK = 150, 64, 400, 1_800_000
"""Maximum numbers of steps: without curvature in the coarse search and on finer grids, with
curvature, and with curvature times cells and joints. On finer grids, motions that converge without
curvature usually require fewer than 50 steps."""
WORK_PER_CHECK = (20_000, 5_000)
"""Steps times cells and joints between two checks of the budget, without and with curvature."""
COARSE_TOLERANCE = 10.0
"""Predicted decrease, relative to the barrier weight, at which the coarse search stops."""
UNSETTLED = 0.01
"""Predicted decrease of the coarse search, as a fraction of the duration, above which a
second motion is computed with curvature."""
CURVED_FIRST_WEIGHT, CURVED_SLOWDOWN = 0.064, 1.5
"""Initial barrier weight times cells, and slowdown of initial guesses, for steps with curvature
from motions that are far from optimal."""
LEAST_SLACK = 1e-3
"""Smallest slack of a corrected motion, as a fraction of the limit."""
RELAXATIONS, CENTERING = 60, 8
"""Number of relaxations of the limits, and steps per relaxation."""
WEAK_WEIGHTS = (0.003, 0.1, 1.0)
"""Barrier weights of relaxations for guesses along which an arm cannot hold itself. Small weights
lead to motions that use momentum, large ones to swings back and forth."""
SLOWDOWN_WEIGHT = 1.0
"""Barrier weight of a motion that was slowed down, times cells and joints, relative to the
slowdown."""
RELAXATION_WEIGHT, RELAXATION_GROWTH = 10.0, 10.0
"""First barrier weight of relaxations on fine grids, relative to the violation in a cell, and its
factor after a failure. For weak arms the first one is often too small: the motion becomes faster
within the relaxed limits."""


class SplineGrid:
    """Grid of equal cells between two states, with a solver for motions on it.

    Attributes:
        room: Relative margins from the effort limits (nodes, 2 n), below and above.
        is_weak: Whether the arm cannot hold itself along an initial guess from rest to rest.
    """

    def __init__(self, robot: Robot, ends: Ends, cells: int, budget: Budget):
        """Allocate the arrays."""
        n, nodes, self.is_weak = robot.n, cells + 1, False
        self._robot, self._ends, self._kernels = robot, ends, inverse_kernels_of(robot)
        self._budget, self._work_per_step = budget, cells * n
        scale = np.full(n, max(float(np.abs(ends.qf - ends.q0).max()), 1e-9))
        tau, low, high, v = (
            np.array(array) for array in (robot.tau_max, robot.q_min, robot.q_max, robot.v_max)
        )
        self.room = np.zeros((nodes, 2 * n))
        scheme = cubic_spline(ends.v0, ends.vf, nodes, np.array(ends.q0))
        self._shift = scheme.shift[1:-1]
        fields = NodeLimits(tau, low, high, v, scale, self.room, scheme)
        self._limits = by_reference(fields)
        self._here, self._there = (by_reference(empty_node_motion(n, nodes)) for _ in range(2))
        for array in (self._here, self._there):
            array.q[0], array.q[-1] = 0.0, ends.qf - ends.q0
        self._work = by_reference(empty_node_work(n, nodes))

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._budget.is_over

    def solved(
        self, near: Spline, first: float, last: float, curved: bool = False
    ) -> GridSolution | None:
        """Return the fastest motion near another one, or None.

        The other motion is slowed down if it violates limits. The result is None if the other
        motion cannot be moved within the limits.

        Args:
            near: The other motion, on a grid with the same number of cells.
            first: Initial weight of the barrier.
            last: Final weight of the barrier.
            curved: Whether steps include the curvature of the limits.
        """
        self._here.q[1:-1] = near.inner - self._ends.q0 - near.duration * self._shift
        self._here.log_duration[0] = log(near.duration)
        lack = -self._least()
        if lack >= 0.0:
            slowdown = self._slower(1.0 if near.cells == CELLS[0] else SLOWER_FACTOR)
            begin, first = first, max(first, SLOWDOWN_WEIGHT * slowdown / self._work_per_step)
            if slowdown == inf:
                first = min(max(begin, RELAXATION_WEIGHT * lack / near.cells), 1.0)
                while not self._within(first, min(LEAST_SLACK, lack), newton_steps):
                    first *= RELAXATION_GROWTH
                    if first > 1.0 or self._budget.is_over:
                        return None
                first = max(begin, CURVED_FIRST_WEIGHT / near.cells)
        improved = self._improved(first, last, SETTLED, curved)
        return None if improved is None else self._solution(*improved, curved)

    def _solution(
        self, spline: Spline, weight: float, promised: float, curved: bool
    ) -> GridSolution:
        """Return the present motion with the multipliers of its limits."""
        n, last, force = self._robot.n, self._work.force, weight / self._here.slack
        return GridSolution(
            spline,
            weight,
            promised,
            int(np.count_nonzero(force)),
            force[:, n : 2 * n] - force[:, :n],
            last[:, n : 2 * n] - last[:, :n],
            force[:, 5 * n :] - force[:, 4 * n : 5 * n],
            force[:, 3 * n : 4 * n] - force[:, 2 * n : 3 * n],
            float(self._limits.scale[0]),
            curved,
        )

    def _slower(self, factor: float) -> float:
        """Slow down the motion into its limits; return the relative slowdown or inf.

        The slowdown is `factor` times a sufficient one, if that is feasible, too. The end speeds
        of a moving arm are preserved, so slow motions may not exist. The result is then inf, and
        the motion does not change.
        """
        begun, slowdown = float(self._here.log_duration[0]), FIRST_SLOWER
        while slowdown < MOST_SLOWER:
            self._here.log_duration[0] = begun + slowdown
            if self._least() > 0.0:
                self._here.log_duration[0] = begun + factor * slowdown
                if self._least() > 0.0:
                    return factor * slowdown
                self._here.log_duration[0] = begun + slowdown
                return slowdown
            slowdown *= 2.0
        self._here.log_duration[0] = begun
        return inf

    def from_guess(self, swing: Vector, first: float, last: float) -> Iterator[Spline]:
        """Yield the fastest motions near a smooth one with a midway detour (n,).

        Between states of rest, a second motion is computed with curvature if the first one has not
        converged. If the arm cannot hold itself along the smooth motion, the effort limits are
        relaxed, and gradually restored.
        """
        here, limits, ends = self._here, self._limits, self._ends
        smooth, bump, low, high = self._guess_shapes
        straight = smooth + swing * bump
        begin = CURVED_FIRST_WEIGHT / (len(here.q) - 1)
        if ends.moving:
            if self._relaxed(straight, 1.0):
                improved = self._improved(first, last, COARSE_TOLERANCE)
                if improved is not None:
                    yield improved[0]
            return
        here.q[1:-1] = np.clip(straight, low, high) - ends.q0
        if not slow_enough(self._kernels, limits, here, self._work, EFFORT_MARGIN):
            self.is_weak = True
            for weight in WEAK_WEIGHTS:
                if self._relaxed(straight, weight):
                    improved = self._improved(begin, last, COARSE_TOLERANCE, curved=True)
                    if improved is not None:
                        yield improved[0]
            return
        duration = float(here.log_duration[0])
        here.log_duration[0] = duration + log(SLOWDOWN)
        improved = self._improved(first, last, COARSE_TOLERANCE)
        if improved is None:
            return
        yield improved[0]
        if abs(improved[2]) > UNSETTLED:
            here.q[1:-1] = np.clip(straight, low, high) - ends.q0
            here.log_duration[0] = duration + log(CURVED_SLOWDOWN)
            improved = self._improved(begin, last, COARSE_TOLERANCE, curved=True)
            if improved is not None:
                yield improved[0]

    def _relaxed(self, motion: Matrix, weight: float) -> bool:
        """Move a motion (nodes - 2, n) inside all limits; return whether this succeeds.

        Its duration initially has the largest margin from the limits, or a sufficient one. The
        limits are relaxed with a barrier `weight`.
        """
        _, _, low, high = self._guess_shapes
        best, duration = -inf, 0.0
        for tried in GUESS_DURATIONS:
            least = self._clipped(motion, tried, low, high)
            if least > best:
                best, duration = least, tried
            if best > EFFORT_MARGIN:
                break
        self._clipped(motion, duration, low, high)
        return self._within(weight, LEAST_SLACK, gauss_newton_steps)

    @cached_property
    def _guess_shapes(self) -> tuple[Matrix, Matrix, Vector, Vector]:
        """Smooth straight motion (nodes - 2, n), unit detour (nodes - 2, 1), position bounds (n,).

        The bounds are the position limits with a margin.
        """
        limits, ends = self._limits, self._ends
        z = np.linspace(0.0, 1.0, len(self._here.q))[1:-1, None]
        smooth = ends.q0 + (ends.qf - ends.q0) * (z - np.sin(2.0 * np.pi * z) / (2.0 * np.pi))
        room = np.minimum(POSITION_MARGIN * limits.scale, 0.25 * (limits.high - limits.low))
        return smooth, np.sin(np.pi * z) ** 2, limits.low + room, limits.high - room

    def _clipped(self, beyond: Matrix, duration: float, low: Vector, high: Vector) -> float:
        """Write a drifting motion, clipped to position limits; return the smallest distance."""
        away = duration * self._shift
        self._here.q[1:-1] = np.clip(beyond + away, low, high) - away - self._ends.q0
        self._here.log_duration[0] = log(duration)
        return self._least()

    def _within(self, weight: float, apart: float, steps: Callable[..., Any]) -> bool:
        """Move the motion inside all limits by gradual relaxation; return whether this succeeds.

        Args:
            weight: Weight of the barrier.
            apart: Relative margin from the limits.
            steps: Interior-point method.
        """
        limits, robot = self._limits, self._robot
        arrays = self._kernels, limits, self._here, self._there, self._work
        for _ in range(RELAXATIONS):
            limits.tau[:], limits.v[:] = robot.tau_max, robot.v_max
            least = self._least()
            if least > apart:
                return True
            beyond = 1.0 - 1.02 * least + 2.0 * apart
            limits.tau[:], limits.v[:] = beyond * robot.tau_max, beyond * robot.v_max
            if not self._least() > 0.0 or self._budget.is_over:
                break
            steps(*arrays, weight, weight, 0, CENTERING, 0.1)
        limits.tau[:], limits.v[:] = robot.tau_max, robot.v_max
        return False

    def _least(self) -> float:
        return measure_slacks(self._kernels, self._limits, self._here, self._work)

    def _improved(
        self, first: float, last: float, settled: float, curved: bool = False
    ) -> tuple[Spline, float, float] | None:
        """Return the fastest motion near the present one, or the best when the time is up.

        The result contains the final weight of the barrier and the decrease that is predicted for
        one more step, as a fraction of the duration.
        """
        here, work = self._here, self._work_per_step
        arrays = self._kernels, self._limits, here, self._there, self._work
        method, most = (
            (newton_steps, min(NEWTON_STEPS, NEWTON_WORK // work))
            if curved
            else (gauss_newton_steps, STEPS if len(here.q) > CELLS[0] else COARSE_STEPS)
        )
        weight, taken, end, per_check = first, 0, 0, max(WORK_PER_CHECK[curved] // work, 1)
        while taken == end < most:
            end = min(end + per_check, most)
            taken, weight, promised = method(*arrays, weight, last, taken, end, settled)
            if self._budget.is_over:
                promised = promised if taken < end else inf
                break
        if taken < 0:
            return None
        duration = exp(here.log_duration[0])
        inner = self._ends.q0 + here.q[1:-1] + duration * self._shift
        return Spline.between(self._ends, inner, duration), weight, promised


COARSE_CELLS = (32, 64)
"""Numbers of cells of the coarse grid, for up to two joints and for more. Motions of more joints
violate their limits more between the nodes of a coarse grid."""
COARSE_FIRST_WEIGHT, COARSE_LEAST_WEIGHT = 1e-2, 1e-5
"""Barrier weights of the coarse search; each active limit increases the duration by about this
fraction."""
SAME_TIME, SAME_PATH = 1e-3, 0.02
"""Ratio of durations, and relative distance, within which two motions are equal."""


class CoarseSearch:
    """Coarse search for one start and goal.

    Attributes:
        guesses: Number of initial guesses.
        motions: Distinct motions, fastest first.
    """

    def __init__(self, robot: Robot, ends: Ends, budget: Budget):
        """Prepare the search between two states."""
        self.guesses, self.motions, self._budget = 0, list[Spline](), budget
        self._grid = SplineGrid(robot, ends, COARSE_CELLS[robot.n > 2], budget)

    @property
    def is_weak(self) -> bool:
        """Whether the arm cannot hold itself along an initial guess from rest to rest."""
        return self._grid.is_weak

    def search(self, swings: Iterable[Vector]) -> list[Spline]:
        """Try detours (n,) until the time is up; return the new distinct motions."""
        new = list[Spline]()
        for swing in swings:
            self.guesses += 1
            for spline in self._grid.from_guess(swing, COARSE_FIRST_WEIGHT, COARSE_LEAST_WEIGHT):
                if not any(are_same(spline, motion) for motion in self.motions + new):
                    new.append(spline)
            if self._budget.is_over:
                break
        self.motions = sorted(self.motions + new, key=lambda motion: motion.duration)
        return sorted(new, key=lambda motion: motion.duration)


def are_same(first: Spline, second: Spline) -> bool:
    """Return whether two motions on one grid are equal up to discretization errors."""
    away = np.abs(first.control - second.control).max()
    size = max(float(np.ptp(first.control, axis=0).max()), 1e-30)
    return abs(log(first.duration / second.duration)) < SAME_TIME and away < SAME_PATH * size


FIRST_WEIGHT, COARSER_FACTOR = 1e-4, 3.0
"""Initial weight of the barrier on the first grid, and the factor of its final weight on all grids
but the last."""
MUCH_SLOWER = 2.0
"""Largest ratio of a duration on the first grid to that on the coarse grid."""
CURVED_FACTOR = 30.0
"""Factor of the initial barrier weight on finer grids for steps with curvature. Those from the
final weight of the coarser grid require up to four times the steps."""
SUBSAMPLES = 8
"""Number of intervals per cell at the ends of which efforts are checked."""
TIGHTENINGS, TIGHTENING_FACTOR = {CELLS[0]: 2, CELLS[1]: 2, CELLS[2]: 5}, 1.1
"""Maximum number of tightenings of effort limits that are violated between nodes, on each grid,
and the factor of the violation. For motions that did not converge the number is 1."""
SLOWEST = 1.0
"""Largest relative slowdown to remove remaining violations."""
EFFORT_TOLERANCE = 1e-10


class Refinement:
    """Refines motions between two states on successively finer grids."""

    def __init__(self, robot: Robot, ends: Ends, budget: Budget):
        """Prepare the refinement; grids are allocated when they are needed."""
        self._robot, self._ends, self._budget = robot, ends, budget
        self._grids: dict[int, SplineGrid] = {}
        self._is_curved = False

    def first(self, spline: Spline, previous: list[Spline]) -> GridSolution | None:
        """Return the fastest motion on the first grid near a motion of the coarse search.

        After a motion that converged only with curvature, the next ones begin with curvature. The
        result is None if the motion equals one of the previous motions, or is much slower than
        `spline` and therefore belongs to another basin.
        """
        grid, last = self._grid(CELLS[0])
        spline = _on_grid(spline, CELLS[0])
        solution = grid.solved(spline, FIRST_WEIGHT, last, self._is_curved)
        if not (solution is None or solution.settled or solution.curved or grid.is_over):
            curved = grid.solved(spline, FIRST_WEIGHT, last, curved=True)
            if curved is not None and curved.promised < solution.promised:
                solution, self._is_curved = curved, True
        if solution is None or any(are_same(solution.spline, motion) for motion in previous):
            return None
        return solution if solution.spline.duration <= MUCH_SLOWER * spline.duration else None

    def finer(self, solution: GridSolution) -> GridSolution | None:
        """Return the fastest motion on the next grid near a motion on a grid, or None."""
        cells = CELLS[CELLS.index(solution.spline.cells) + 1]
        grid, last = self._grid(cells)
        return _settled(
            grid, _on_grid(solution.spline, cells), max(solution.weight, last), last, solution
        )

    def within_limits(self, solutions: list[GridSolution]) -> RefinedSolution:
        """Return the last solution after it was moved within its limits between the nodes.

        The effort limits are tightened where they are violated, and the grid is solved again. A
        slowdown removes the remaining violations. `RefinedSolution.load` is the largest effort.

        Args:
            solutions: Solutions on successively finer grids.
        """
        solution = feasible = solutions[-1]
        grid, _ = self._grid(solution.spline.cells)
        for _ in range(TIGHTENINGS[solution.spline.cells] if solution.settled else 1):
            beyond = _beyond(self._robot, feasible.spline)
            if beyond.max() <= EFFORT_TOLERANCE or self._budget.is_over:
                break
            grid.room[:-1] += TIGHTENING_FACTOR * beyond
            grid.room[1:] = np.maximum(grid.room[1:], grid.room[:-1])
            again = _settled(grid, feasible.spline, feasible.weight, feasible.weight, feasible)
            if again is None or (feasible.settled and not again.settled):
                break  # slow down instead
            feasible = again
        grid.room[:] = 0.0
        spline, load = _slower(self._robot, self._ends, feasible.spline)
        on_grid = min(solution.spline.duration, feasible.spline.duration)
        coarser = solutions[-2].spline.duration if len(solutions) > 1 else inf
        uniform = solution if solution.settled else feasible
        return RefinedSolution(spline, feasible, uniform, [coarser, on_grid], load)

    def _grid(self, cells: int) -> tuple[SplineGrid, float]:
        """Return a grid and the final weight of its barrier."""
        if cells not in self._grids:
            self._grids[cells] = SplineGrid(self._robot, self._ends, cells, self._budget)
        factor = 1.0 if cells == CELLS[-1] else COARSER_FACTOR
        return self._grids[cells], factor * BARRIER / (self._robot.n * cells)


def _on_grid(spline: Spline, cells: int) -> Spline:
    """Return the same motion on a finer grid."""
    while spline.cells < cells:
        spline = spline.halved()
    return spline


def _settled(
    grid: SplineGrid, spline: Spline, first: float, last: float, before: GridSolution
) -> GridSolution | None:
    """Return the fastest motion on a grid, with curvature if necessary.

    Steps with curvature are tried if other steps do not converge. They are tried first if they
    converged on the coarser grid.
    """
    if before.curved and before.settled:
        return grid.solved(spline, CURVED_FACTOR * first, last, curved=True)
    solution = grid.solved(spline, 10.0 * first, last)
    if solution is None or solution.settled or not before.settled or grid.is_over:
        return solution
    again = grid.solved(spline, CURVED_FACTOR * first, last, curved=True)
    return again if again is not None and again.settled else solution


def _slower(robot: Robot, ends: Ends, spline: Spline) -> tuple[Spline, float]:
    """Return a motion slowed down to satisfy the effort limits, and its largest load.

    If the slowdown reaches `SLOWEST`, it is the tried motion with the smallest load.
    """
    beyond, slowdown, slower = float(_beyond(robot, spline).max()), 0.0, spline
    best, z = (slower, beyond), np.linspace(0.0, 1.0, spline.cells + 1)[1:-1]
    while beyond > EFFORT_TOLERANCE and slowdown < SLOWEST:
        slowdown = max(1.25 * slowdown, slowdown + 0.6 * beyond)
        farther = drift(z, ends.v0, ends.vf) * spline.duration * slowdown
        slower = Spline.between(ends, spline.inner + farther, spline.duration * (1.0 + slowdown))
        beyond = float(_beyond(robot, slower).max())
        best = min(best, (slower, beyond), key=lambda candidate: candidate[1])
    return best[0], 1.0 + best[1]


def _beyond(robot: Robot, spline: Spline) -> Matrix:
    """Return the largest relative violation of effort limits per cell (cells, 2 n), or 0."""
    loads = efforts_of(robot, spline, spline.cells * SUBSAMPLES) / robot.tau_max
    excess = np.hstack([-loads, loads]) - 1.0
    inner = excess[:-1].reshape(spline.cells, SUBSAMPLES, -1).max(axis=1)
    return np.maximum(np.maximum(inner, excess[SUBSAMPLES::SUBSAMPLES]), 0.0)
