"""Sequential linear programming (SLP) over efforts in cells; see `slp_solver`."""

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
"""Scaled distance from a limit below which the limit is a row of the program."""
SLACK = 1e6
"""Upper bound of the clearances."""
CORRECTIONS = 4
"""Number of second-order corrections, which are solutions with a corrected right-hand side."""
WIDEST, NARROWEST = 1.0, 1e-4
"""Largest trust radius for normalized efforts, and the radius at which the iteration stops."""
GOOD, ENOUGH = 0.5, 0.1
"""Fractions of the predicted gain above which the radius grows and above which a step is
accepted."""


class SlpSolution(NamedTuple):
    """A nearly optimal motion computed by sequential linear programming.

    Attributes:
        controls: Normalized efforts (cells, n).
        duration: Duration, s.
        costate: Initial costates (2 n,), s per unit of the state.
        miss: Largest scaled distance of the final state from rest at the goal, or of any state
            beyond a position or speed limit.
        states: States (cells + 1, 2 n) at the ends of the cells.
        pressure: Multipliers (cells + 1, 2 n) of the state limits, s per unit; positive at upper
            limits.
    """

    controls: Vector
    duration: float
    costate: Vector
    miss: float
    states: Matrix
    pressure: Matrix


class SlpArrays(NamedTuple):
    """Work arrays of the SLP iteration.

    Attributes:
        here: The current motion.
        there: The trial motion.
        cell_work: Work arrays of the integration.
        watched: The active limits.
        program: The linear program.
        by_start: Derivatives of the rows by the start (rows, 2 n).
        predicted: Residuals of the rows after the step, predicted by the linear model (rows,).
        actual: Residuals of the rows after the step, computed by integration (rows,).
    """

    here: CellMotion
    there: CellMotion
    cell_work: CellWork
    watched: ActiveLimits
    program: LinearProgram
    by_start: Matrix
    predicted: Vector
    actual: Vector


def slp_arrays_of(n: int, cells: int) -> SlpArrays:
    """Allocate the arrays for n joints and a number of cells."""
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
    """Set the bounds of the changes of efforts and duration for a trust radius."""
    n, size = u.shape[1], u.shape[0] * u.shape[1]
    for j in range(size):
        program.low[j] = max(-1.0 - u[j // n, j % n], -2.0 * radius)
        program.high[j] = min(1.0 - u[j // n, j % n], 2.0 * radius)
    program.high[size] = 0.3 * radius * duration
    program.low[size] = -program.high[size]


@inlined(counted=False)
def predict_residuals(program, size, rows, predicted):
    """Write the predicted residuals of the rows after the step of a program."""
    for i in range(rows):
        predicted[i] = program.right[i]
    for j in range(size):
        step = program.x[j]
        if step != 0.0:
            for i in range(rows):
                predicted[i] -= step * program.columns[j * rows + i]


@inlined(counted=False)
def apply_step(program, u, trial):
    """Write the efforts after the step of a program."""
    for k in range(u.shape[0]):
        for i in range(u.shape[1]):
            moved = u[k, i] + program.x[k * u.shape[1] + i]
            trial[k, i] = min(max(moved, -1.0), 1.0)


@compiled(short=True, python=False, counted=False)
def linearize(transfer, watched, count, h, motion, work, columns, by_start):
    """Write the derivatives of the final state and the active limits, and unit slacks.

    Derivatives by the controls, the duration and the slacks are written to `columns`, and those by
    the start to `by_start` (any, 2 n). All are scaled.
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
    """Optimize the efforts of ``space.here`` by linear programs in a trust region.

    The iteration stops when the predicted gain is below `tolerance` times the first duration.
    `radius` is the initial trust radius for normalized efforts.

    Returns:
        The duration, s; the number of active limits, or -1 if a program was not solved; and
        whether the motion is in ``space.there``.
    """
    here, there, program, watched = space.here, space.there, space.program, space.watched
    work, right = space.cell_work, program.right
    predicted, actual = space.predicted, space.actual
    m, cells, first_duration, is_other = transfer.start.shape[0], here.u.shape[0], duration, False
    size = cells * here.u.shape[1]
    program.cost[size] = 1.0 / first_duration
    sweep(kernels, transfer.start, transfer.limits, duration, here, work)
    linearized_rows = 0
    for _ in range(iterations):
        count = add_near_limits(transfer, here.states, NEAR, watched, 0)
        set_bounds(here.u, duration, radius, program)
        residual = residuals(transfer, here.states, watched, count, right)
        residual += limit_excess(transfer, here.states)
        promised = gained = new_duration = 0.0
        linearized_rows = -1
        for correction in range(CORRECTIONS):
            if count > linearized_rows:
                h = duration / cells
                linearize(transfer, watched, count, h, here, work, program.columns, space.by_start)
                linearized_rows = count
                for j in range(size + 1, size + 1 + count):
                    program.at_high[j] = False
            rows = m + count
            for i in range(rows):
                program.basis[i] = -1 if i < m else size + 1 + i - m
            if solve_linear_program(program, size + 1 + count, rows, penalty) < 0:
                return duration, -1, is_other
            step = program.x[size]
            predict_residuals(program, size + 1, rows, predicted)
            if correction == 0:
                promised = (
                    penalty * (residual - absolute_sum(predicted, m)) - step / first_duration
                )
                for r in range(m, rows):
                    promised += penalty * min(predicted[r], 0.0)
                if promised < tolerance:
                    break
            apply_step(program, here.u, there.u)
            new_duration = duration + step
            sweep(kernels, transfer.start, transfer.limits, new_duration, there, work)
            count = add_near_limits(transfer, there.states, 0.0, watched, count)
            new_residual = residuals(transfer, there.states, watched, count, actual)
            new_residual += limit_excess(transfer, there.states)
            gained = (duration - new_duration) / first_duration + penalty * (
                residual - new_residual
            )
            if gained > GOOD * promised:
                break
            if count > rows - m:
                residuals(transfer, here.states, watched, count, right)
            else:
                for i in range(rows):
                    right[i] += actual[i] - predicted[i]
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
    return duration, linearized_rows, is_other
