"""Sequential linear programming (SLP): nearly optimal motions on a grid from initial guesses.

The efforts are constant in each of `CELLS` equal cells of the motion. Near a motion the final
state is linear in the efforts and the duration, and the fastest efforts within their limits solve
a linear program. Its solutions are bang-bang: at most 2 n values are between the limits. Its
multipliers are the final costates. A trust region limits the steps to the range in which the
linear model is accurate (Fletcher, de la Maza 1989, Nonlinear programming and nonsmooth
optimization by successive linear programming; Nocedal, Wright 2006, algorithm 18.4 without its
second phase).

A short motion is nearly linear and has a single optimum. Longer motions are computed by
continuation from short ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from threading import get_ident

import numpy as np

from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.canonical import kernels_of
from manip_dyn.planning.minimum_time.grids.grid_limits import Transfer, largest_residual
from manip_dyn.planning.minimum_time.grids.initial_guesses import detours, smooth_motion
from manip_dyn.planning.minimum_time.grids.slp_iteration import (
    WIDEST,
    SlpArrays,
    SlpSolution,
    improve,
    slp_arrays_of,
)
from manip_dyn.robot import Robot

ITERATIONS = 60
FINE, COARSE = 1e-6, 3e-4
"""Predicted gains, relative to the duration of the initial guess, below which the iteration
stops."""
FINER = 3
PENALTY = 4.0
"""Cost of missing the goal by the whole distance, relative to the duration of the initial
guess."""
NEAR = (0.25, 0.05, 0.01)
"""Initial trust radii for nearly optimal efforts, in changes of normalized efforts."""
MOST_SLOWER = 1.01
"""Maximum ratio by which polishing may slow down a nearly optimal motion."""
ARRIVED = 1e-4
"""Scaled distance from the goal below which a solution has reached it."""
FIRST_DISTANCE, GROWTH, LEAST_GROWTH, STAGES = 0.4, 1.5, 1.02, 40
"""First distance of the continuation (rad or m), its growth per stage, and the smallest growth."""
REPEATED, REPEATS, GAIN = 3, 10, 1e-4
"""Number of solutions that are solved again, number of repetitions, and smallest relative gain."""
DETOUR, OTHER_DETOURS = 1.5, (0.5, 1.0, 2.5)
"""Midway displacements of a joint for detours, rad."""


@lru_cache(maxsize=16)
def _arrays(n: int, cells: int, _thread: int) -> SlpArrays:
    """Allocate the work arrays of one thread; cached."""
    return by_reference(slp_arrays_of(n, cells))


class SlpSolver:
    """Solver for one start and one goal."""

    def __init__(self, robot: Robot, q0: Vector, qf: Vector):
        """Prepare motions from rest at `q0` (n,) to rest at `qf` (n,)."""
        self._robot, self._kernels = robot, kernels_of(robot)
        self._start, self._goal = np.concatenate([q0, 0.0 * q0]), np.concatenate([qf, 0.0 * qf])
        self._limits, self.n = np.array(robot.tau_max), robot.n
        self._low = np.concatenate([robot.q_min, -robot.v_max])
        self._high = np.concatenate([robot.q_max, robot.v_max])

    def solved(self, swing: Vector, tolerance: float = FINE) -> SlpSolution:
        """Return the solution from a smooth motion with a midway displacement (n,)."""
        start, goal = self._start[: self.n], self._goal[: self.n]
        return self.improved(*smooth_motion(self._robot, start, goal, swing), tolerance)

    def improved(
        self, u: Vector, duration: float, tolerance: float = FINE, radius: float = WIDEST
    ) -> SlpSolution:
        """Return the solution from normalized efforts `u` (cells, n) and a duration, s."""
        space, transfer = _arrays(self.n, len(u), get_ident()), self._transfer(duration)
        space.here.u[:] = u
        space.program.multipliers[:] = 0.0
        space.program.at_high[: u.size], space.program.at_high[u.size :] = u.ravel() > 0.0, False
        end, count, is_other = improve(
            self._kernels, transfer, space, duration, ITERATIONS, tolerance, PENALTY, radius
        )
        motion = space.there if is_other else space.here
        miss = largest_residual(transfer, motion.states) if count >= 0 else np.inf
        costate, pressure = self._multipliers(space, transfer, max(count, 0), duration)
        return SlpSolution(motion.u.copy(), end, costate, miss, motion.states.copy(), pressure)

    def polished(self, u: Vector, duration: float) -> SlpSolution:
        """Return the solution close to nearly optimal efforts `u` (cells, n)."""
        for radius in NEAR:
            solution = self.improved(u, duration, radius=radius)
            if solution.miss < ARRIVED and solution.duration < MOST_SLOWER * duration:
                break
        return solution

    def _multipliers(
        self, space: SlpArrays, transfer: Transfer, count: int, duration: float
    ) -> tuple[Vector, Vector]:
        """Return the initial costates, and the multipliers of the state limits."""
        m, watched, pressure = 2 * self.n, space.watched, np.zeros_like(space.here.states)
        multipliers = duration * space.program.multipliers[: m + count]
        indices = watched.node[:count], watched.component[:count]
        drop = watched.side[:count] * multipliers[m:] / transfer.scale[indices[1]]
        np.subtract.at(pressure, indices, drop)
        return -(multipliers @ space.by_start[: m + count]), pressure

    def _transfer(self, duration: float) -> Transfer:
        """Return start, goal and limits, scaled for a duration of about `duration` s."""
        distance = max(float(np.abs(self._goal - self._start).max()), 1e-9)
        scale = np.repeat([distance, distance / duration], self.n)
        transfer = (self._start, self._goal, self._limits, self._low, self._high, scale)
        return by_reference(Transfer(*transfer))

    def refined(self, solution: SlpSolution) -> SlpSolution:
        """Return the solution on a grid that is finer by the factor `FINER`."""
        return self.improved(np.repeat(solution.controls, FINER, axis=0), solution.duration)


def slp_solutions(robot: Robot, start: Vector, goal: Vector) -> Iterator[list[SlpSolution]]:
    """Yield batches of nearly optimal motions from `start` (n,) to `goal` (n,).

    The first batch contains continuations of short motions and the straight path, the following
    ones contain detours. The last batch repeats the fastest solutions until they stop improving.
    """
    displacement = goal - start
    growing = list(_growing_displacements(displacement))
    grown = [_grown(robot, start, displacement - part, part) for part in growing]
    programs = SlpSolver(robot, start, goal)
    straight = programs.solved(0.0 * displacement)
    first = [solution for solution in (*grown, straight) if solution.miss < ARRIVED]
    yield first
    arrived = first.copy()
    for length in (DETOUR, *OTHER_DETOURS):
        swung = [programs.solved(swing) for swing in detours(robot, start, goal, length)]
        batch = [solution for solution in swung if solution.miss < ARRIVED]
        arrived += batch
        yield batch
    fastest = sorted(arrived, key=lambda solution: solution.duration)[:REPEATED]
    repeated = [_repeated(programs, solution) for solution in fastest]
    yield [solution for solution in repeated if solution.miss < ARRIVED]


def _repeated(programs: SlpSolver, solution: SlpSolution) -> SlpSolution:
    """Repeat a solution until it stops getting faster."""
    for _ in range(REPEATS):
        better = programs.improved(solution.controls, solution.duration)
        if better.miss < ARRIVED and better.duration > (1.0 - GAIN) * solution.duration:
            return better
        solution = better
    return solution


def _growing_displacements(displacement: Vector) -> Iterator[Vector]:
    """Yield displacements (n,) for continuation: all joints, then each large one alone."""
    yield displacement
    if len(displacement) > 1:
        for joint in np.flatnonzero(np.abs(displacement) > FIRST_DISTANCE):
            yield np.where(np.arange(len(displacement)) == joint, displacement, 0.0)


def _grown(robot: Robot, start: Vector, fixed: Vector, growing: Vector) -> SlpSolution:
    """Return the motion by `fixed` + `growing`, by continuation over fractions of `growing`.

    Each longer motion starts from the efforts of the previous one, with a duration that grows with
    the square root of the distance.
    """
    fraction = min(1.0, FIRST_DISTANCE / np.abs(growing).max())
    programs = SlpSolver(robot, start, start + fixed + fraction * growing)
    solution = programs.solved(np.zeros(robot.n), _tolerance(fraction))
    growth = GROWTH
    for _ in range(STAGES):
        if fraction == 1.0 or solution.miss > ARRIVED or growth < LEAST_GROWTH:
            break
        longer = min(1.0, fraction * growth)
        near, far = (np.abs(fixed + z * growing).max() for z in (fraction, longer))
        programs = SlpSolver(robot, start, start + fixed + longer * growing)
        longer_solution = programs.improved(
            solution.controls, solution.duration * float(np.sqrt(far / near)), _tolerance(longer)
        )
        if longer_solution.miss > ARRIVED:
            growth = 1.0 + 0.4 * (growth - 1.0)
            continue
        solution, fraction, growth = (
            longer_solution,
            longer,
            min(1.0 + 1.3 * (growth - 1.0), GROWTH),
        )
    return solution if fraction == 1.0 else solution._replace(miss=np.inf)


def _tolerance(fraction: float) -> float:
    """Return the tolerance of a continuation stage; the last one has the finest."""
    return FINE if fraction == 1.0 else COARSE
