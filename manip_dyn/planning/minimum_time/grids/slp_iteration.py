"""Sequential linear programming (SLP) over efforts in cells, see `sequential_programs`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.planning.minimum_time.grids.cells import (
    CellMotion,
    CellWork,
    cell_motion_of,
    cell_work_of,
    pull_back,
    sweep,
)
from manip_dyn.planning.minimum_time.grids.grid_limits import (
    ActiveLimits,
    absolute_sum,
    add_near_limits,
    limit_excess,
    residuals,
)
from manip_dyn.planning.minimum_time.grids.linear_program import (
    LinearProgram,
    linear_program_of,
    solve_linear_program,
)

NEAR = 0.03
"""Scaled distance from a limit from which on it is a row of the program."""
SLACK = 1e6
"""Upper bound of the distances from the limits."""
CORRECTIONS = 4
"""How often a program is solved with a right-hand side that is nearer to the truth."""
WIDEST, NARROWEST = 1.0, 1e-4
"""Trust in changes of the efforts over their limits, at most, and when to give up."""
GOOD, ENOUGH = 0.5, 0.1
"""Shares of what was promised that a good step gains, and one that is taken."""


class SlpSolution(NamedTuple):
    """A nearly optimal motion, as the programs leave it.

    Attributes:
        controls: Efforts over their limits (cells, n).
        duration: How long it takes, s.
        costate: Costates (2 n,) at the start, s per unit of the state.
        miss: Scaled distance of the final state from the goal at rest, or past a limit of
            position or speed on the way.
        states: States (cells + 1, 2 n) at the ends of the cells.
        pressure: Multipliers (cells + 1, 2 n) of their limits, s per unit; above 0 at upper ones.
    """

    controls: Vector
    duration: float
    costate: Vector
    miss: float
    states: Matrix
    pressure: Matrix


class SlpArrays(NamedTuple):
    """The arrays of the search.

    Attributes:
        here: The motion.
        there: The motion that is tried.
        cell_work: Arrays to integrate with.
        watched: The limits that count.
        program: The linear program.
        by_start: Derivatives of its rows by the start (rows, 2 n).
        left: What is left of the rows by the program (rows,).
        reached: What is left of them in truth (rows,).
    """

    here: CellMotion
    there: CellMotion
    cell_work: CellWork
    watched: ActiveLimits
    program: LinearProgram
    by_start: Matrix
    left: Vector
    reached: Vector


def slp_arrays_of(n: int, cells: int) -> SlpArrays:
    """Return the arrays for n joints and a number of cells."""
    most, m = 3 * cells, 2 * n
    program = linear_program_of(cells * n + 1 + most, m + most)
    program.high[cells * n + 1 :] = SLACK
    return SlpArrays(
        cell_motion_of(n, cells),
        cell_motion_of(n, cells),
        cell_work_of(n),
        ActiveLimits(*np.empty((3, most), dtype=np.int64)),
        program,
        np.empty((m + most, m)),
        np.empty(m + most),
        np.empty(m + most),
    )


@inlined(counted=False)
def set_bounds(u, duration, radius, program):
    """Set the bounds of the efforts' and the duration's changes."""
    n, size = u.shape[1], u.shape[0] * u.shape[1]
    for j in range(size):
        program.low[j] = max(-1.0 - u[j // n, j % n], -2.0 * radius)
        program.high[j] = min(1.0 - u[j // n, j % n], 2.0 * radius)
    program.high[size] = 0.3 * radius * duration
    program.low[size] = -program.high[size]


@inlined(counted=False)
def predict_residuals(program, size, rows, left):
    """Write what the step of a program leaves of its rows."""
    for i in range(rows):
        left[i] = program.right[i]
    for j in range(size):
        step = program.x[j]
        if step != 0.0:
            for i in range(rows):
                left[i] -= step * program.columns[j * rows + i]


@inlined(counted=False)
def apply_step(program, u, trial):
    """Write the efforts after the step."""
    for k in range(u.shape[0]):
        for i in range(u.shape[1]):
            moved = u[k, i] + program.x[k * u.shape[1] + i]
            trial[k, i] = min(max(moved, -1.0), 1.0)


@compiled(short=True, python=False, counted=False)
def linearize(transfer, watched, count, h, motion, work, columns, by_start):
    """Write the derivatives of the final state and of the watched ones, and unit slacks.

    Those by the controls, the duration and the slacks go to `columns`, those by the start, all
    scaled, to `by_start` (any, 2 n).
    """
    cells, n = motion.u.shape[0], motion.u.shape[1]
    m = 2 * n
    size, rows = cells * n, m + count
    for row in range(rows):
        lever = by_start[row]
        for i in range(m):
            lever[i] = 0.0
        node = cells
        if row < m:
            lever[row] = 1.0 / transfer.scale[row]
        else:
            i, node = watched.component[row - m], watched.node[row - m]
            lever[i] = watched.side[row - m] / transfer.scale[i]
        for r in range(count):
            columns[(size + 1 + r) * rows + row] = 1.0 if r == row - m else 0.0
        pull_back(lever, node, transfer.limits, h, motion, work, columns, rows, row)


@compiled(short=True, counted=False)
def improve(kernels, transfer, space, duration, iterations, tolerance, penalty, radius):
    """Make the efforts of ``space.here`` nearly optimal, by linear programs in a trust region.

    Ends where the next one promises less than `tolerance` of the first duration. `radius` is the
    trust in changes of the efforts over their limits at first.

    Returns:
        The duration, s; how many limits counted, or -1 if a program was not solved; and whether
        the motion is now in ``space.there``.
    """
    here, there, program, watched = space.here, space.there, space.program, space.watched
    work, right, left, reached = space.cell_work, program.right, space.left, space.reached
    m, cells, whole, is_other = transfer.start.shape[0], here.u.shape[0], duration, False
    size = cells * here.u.shape[1]
    program.cost[size] = 1.0 / whole
    sweep(kernels, transfer.start, transfer.limits, duration, here, work)
    seen = 0
    for _ in range(iterations):
        count = add_near_limits(transfer, here.states, NEAR, watched, 0)
        set_bounds(here.u, duration, radius, program)
        wrong = residuals(transfer, here.states, watched, count, right)
        wrong += limit_excess(transfer, here.states)
        promised = gained = new_duration = 0.0
        seen = -1
        for correction in range(CORRECTIONS):
            if count > seen:
                h = duration / cells
                linearize(transfer, watched, count, h, here, work, program.columns, space.by_start)
                seen = count
                for j in range(size + 1, size + 1 + count):
                    program.at_high[j] = False
            rows = m + count
            for i in range(rows):
                program.basis[i] = -1 if i < m else size + 1 + i - m
            if solve_linear_program(program, size + 1 + count, rows, penalty) < 0:
                return duration, -1, is_other
            step = program.x[size]
            predict_residuals(program, size + 1, rows, left)
            if correction == 0:
                promised = penalty * (wrong - absolute_sum(left, m)) - step / whole
                for r in range(m, rows):
                    promised += penalty * min(left[r], 0.0)
                if promised < tolerance:
                    break
            apply_step(program, here.u, there.u)
            new_duration = duration + step
            sweep(kernels, transfer.start, transfer.limits, new_duration, there, work)
            count = add_near_limits(transfer, there.states, 0.0, watched, count)
            missed = residuals(transfer, there.states, watched, count, reached)
            missed += limit_excess(transfer, there.states)
            gained = (duration - new_duration) / whole + penalty * (wrong - missed)
            if gained > GOOD * promised:
                break
            if count > rows - m:
                residuals(transfer, here.states, watched, count, right)
            else:
                for i in range(rows):
                    right[i] += reached[i] - left[i]
        if promised < tolerance:
            break
        if gained > ENOUGH * promised:
            duration = new_duration
            here, there = there, here
            is_other = not is_other
            if gained > GOOD * promised:
                radius = min(2.0 * radius, WIDEST)
        else:
            radius *= 0.4
            if radius < NARROWEST:
                break
    return duration, seen, is_other
