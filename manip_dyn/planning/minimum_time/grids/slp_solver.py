"""From initial guesses to nearly optimal motions: linear programs on a grid, one after the other.

The efforts are constant in each of `CELLS` equal cells of the motion. Around a motion the final
state is linear in them and in the duration, and the fastest efforts within their limits solve a
linear program, whose solutions are bang-bang by themselves: at most 2 n values lie between the
limits. Its multipliers are costates at the end. A trust region keeps the steps where linear is
near the truth (Fletcher, de la Maza 1989, Nonlinear programming and nonsmooth optimization by
successive linear programming; Nocedal, Wright 2006, algorithm 18.4 without its second phase).

A short motion is nearly linear, so there is one optimum; what leads to longer ones grows from it.
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
"""Gains, in durations of the initial guess, that are not worth another program."""
FINER = 3
PENALTY = 4.0
"""Cost of missing the goal by the whole distance, in durations of the initial guess."""
NEAR = (0.25, 0.05, 0.01)
"""Trust in changes of efforts over their limits that are nearly optimal, at first."""
MOST_SLOWER = 1.01
"""A nearly optimal motion gets slower by no more than this ratio."""
ARRIVED = 1e-4
"""Scaled distance from the goal below which a solution arrives."""
FIRST_DISTANCE, GROWTH, LEAST_GROWTH, STAGES = 0.4, 1.5, 1.02, 40
"""The first short distance (rad or m), its growth per stage and when to give up."""
REPEATED, REPEATS, GAIN = 3, 10, 1e-4
"""How many solutions are improved again, how often, and the gain that is worth another time."""
DETOUR, OTHER_DETOURS = 1.5, (0.5, 1.0, 2.5)
"""How far a joint swings out on a detour, rad."""


@lru_cache(maxsize=16)
def _arrays(n: int, cells: int, _thread: int) -> SlpArrays:
    """Return the arrays that the programs of one thread work with, one after the other."""
    return by_reference(slp_arrays_of(n, cells))


class SlpSolver:
    """The search for one start and goal, from one motion after the other."""

    def __init__(self, robot: Robot, q0: Vector, qf: Vector):
        """Plan from rest at `q0` (n,) to rest at `qf` (n,)."""
        self._robot, self._kernels = robot, kernels_of(robot)
        self._start, self._goal = np.concatenate([q0, 0.0 * q0]), np.concatenate([qf, 0.0 * qf])
        self._limits, self.n = np.array(robot.tau_max), robot.n
        self._low = np.concatenate([robot.q_min, -robot.v_max])
        self._high = np.concatenate([robot.q_max, robot.v_max])

    def solved(self, swing: Vector, tolerance: float = FINE) -> SlpSolution:
        """Return what the programs make of a smooth motion that swings out (n,) midway."""
        start, goal = self._start[: self.n], self._goal[: self.n]
        return self.improved(*smooth_motion(self._robot, start, goal, swing), tolerance)

    def improved(
        self, u: Vector, duration: float, tolerance: float = FINE, radius: float = WIDEST
    ) -> SlpSolution:
        """Return what the programs make of efforts `u` (cells, n) and a duration, s."""
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
        """Return what the programs make of efforts that are nearly optimal, and stay near them."""
        for radius in NEAR:
            solution = self.improved(u, duration, radius=radius)
            if solution.miss < ARRIVED and solution.duration < MOST_SLOWER * duration:
                break
        return solution

    def _multipliers(
        self, space: SlpArrays, transfer: Transfer, count: int, duration: float
    ) -> tuple[Vector, Vector]:
        """Return costates at the start, and the multipliers of the limits of the states."""
        m, watched, pressure = 2 * self.n, space.watched, np.zeros_like(space.here.states)
        found = duration * space.program.multipliers[: m + count]
        places = watched.node[:count], watched.component[:count]
        drop = watched.side[:count] * found[m:] / transfer.scale[places[1]]
        np.subtract.at(pressure, places, drop)
        return -(found @ space.by_start[: m + count]), pressure

    def _transfer(self, duration: float) -> Transfer:
        """Return what to find, in about `duration` s."""
        distance = max(float(np.abs(self._goal - self._start).max()), 1e-9)
        scale = np.repeat([distance, distance / duration], self.n)
        transfer = (self._start, self._goal, self._limits, self._low, self._high, scale)
        return by_reference(Transfer(*transfer))

    def refined(self, solution: SlpSolution) -> SlpSolution:
        """Return the solution improved on a grid `FINER` times as fine."""
        return self.improved(np.repeat(solution.controls, FINER, axis=0), solution.duration)


def slp_solutions(robot: Robot, start: Vector, goal: Vector) -> Iterator[list[SlpSolution]]:
    """Yield nearly optimal motions from `start` (n,) to `goal` (n,), lot by lot.

    First what grows from short motions, and the straight path; then detours; for who still has
    nothing, other detours and at last the fastest of all these with more patience.
    """
    displacement = goal - start
    parts = list(_growing_displacements(displacement))
    grown = [_grown(robot, start, displacement - part, part) for part in parts]
    programs = SlpSolver(robot, start, goal)
    straight = programs.solved(0.0 * displacement)
    first = [solution for solution in (*grown, straight) if solution.miss < ARRIVED]
    yield first
    arrived = first.copy()
    for length in (DETOUR, *OTHER_DETOURS):
        swung = [programs.solved(swing) for swing in detours(robot, start, goal, length)]
        lot = [solution for solution in swung if solution.miss < ARRIVED]
        arrived += lot
        yield lot
    fastest = sorted(arrived, key=lambda each: each.duration)[:REPEATED]
    patient = [_repeated(programs, solution) for solution in fastest]
    yield [solution for solution in patient if solution.miss < ARRIVED]


def _repeated(programs: SlpSolver, solution: SlpSolution) -> SlpSolution:
    """Return the solution improved again and again, as long as it gets faster."""
    for _ in range(REPEATS):
        better = programs.improved(solution.controls, solution.duration)
        if better.miss < ARRIVED and better.duration > (1.0 - GAIN) * solution.duration:
            return better
        solution = better
    return solution


def _growing_displacements(displacement: Vector) -> Iterator[Vector]:
    """Yield the parts of a displacement (n,) that grow: all of it, then each joint's own."""
    yield displacement
    if len(displacement) > 1:
        for joint in np.flatnonzero(np.abs(displacement) > FIRST_DISTANCE):
            yield np.where(np.arange(len(displacement)) == joint, displacement, 0.0)


def _grown(robot: Robot, start: Vector, fixed: Vector, growing: Vector) -> SlpSolution:
    """Return the motion by `fixed` + `growing` to which one by little of `growing` leads.

    Each longer one takes the efforts of the last as its initial guess, in a time that grows with
    the root of the distance.
    """
    share = min(1.0, FIRST_DISTANCE / np.abs(growing).max())
    programs = SlpSolver(robot, start, start + fixed + share * growing)
    solution = programs.solved(np.zeros(robot.n), _tolerance(share))
    growth = GROWTH
    for _ in range(STAGES):
        if share == 1.0 or solution.miss > ARRIVED or growth < LEAST_GROWTH:
            break
        longer = min(1.0, share * growth)
        near, far = (np.abs(fixed + each * growing).max() for each in (share, longer))
        programs = SlpSolver(robot, start, start + fixed + longer * growing)
        longer_solution = programs.improved(
            solution.controls, solution.duration * float(np.sqrt(far / near)), _tolerance(longer)
        )
        if longer_solution.miss > ARRIVED:
            growth = 1.0 + 0.4 * (growth - 1.0)
            continue
        solution, share, growth = longer_solution, longer, min(1.0 + 1.3 * (growth - 1.0), GROWTH)
    return solution if share == 1.0 else solution._replace(miss=np.inf)


def _tolerance(share: float) -> float:
    """Return how well a motion has to be improved: the last one most."""
    return FINE if share == 1.0 else COARSE
