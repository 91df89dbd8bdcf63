"""Zero-net-work motions by shooting: Newton's method on the times at which efforts change.

Every moving joint has two unknowns, the time of its switch and the time of its arrival, and two
conditions: at the arrival it is at its goal, and at rest. From then on it is locked. A motion is a
sequence of pieces between these times, each integrated exactly; at an arrival what is missing
goes into the residual and the joint is set to rest at its goal, which parts the conditions of the
joints like the nodes of multiple shooting. A moved time changes the state behind it by the jump of
the rates, and the motion from there on tells the rest: one column of the Jacobian.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.arrays import call_returning, value_of
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.linear_algebra import factorize, solve
from manip_dyn.integration import Space

NUDGE = 1e-6
"""How far a state is moved for a difference, rad, m and per s."""
COARSE, FINE = 1e-9, 1e-12
"""Tolerances of the integration far from the solution, and near it."""
NEAR = 1e-6
"""Size of the residual from which on the integration is fine."""
SINGULAR, NO_MOTION, NO_DESCENT, TOO_MANY_STEPS = -3, -2, -4, -1
"""Why Newton's method gave up."""


class Problem(NamedTuple):
    """A motion between two postures, of n joints, m of which move.

    Attributes:
        start: Start (2 n,), at rest.
        goal: Goal (n,).
        moving: Joints that move (m,).
        drive: Efforts until the switch (n,).
        order: Places of the times, which follow another as switch and arrival of each moving
            joint, in the order of their changes (2 m,); work space.
    """

    start: Vector
    goal: Vector
    moving: NDArray[np.int64]
    drive: Vector
    order: NDArray[np.int64]


class Work(NamedTuple):
    """Arrays that Newton's method works with, for n joints, m of which move.

    Attributes:
        y: State (2 n,).
        modes: Efforts, and 1 for driven joints and 0 for locked ones (2 n,).
        residual: Position and velocity of each joint at its arrival (2 m,).
        nudged: The residual of another motion (2 m,).
        trial: Times that are tried (2 m,).
        step: Newton's step (2 m,).
        jacobian: Derivatives of the residual by the times (2 m, 2 m).
        pivots: Rows that were exchanged when that was factorized (2 m,).
        behind: States behind each change (2 m, 2 n).
        shifts: How they move with the time of the change (2 m, 2 n).
        before: Rates before it (2 m, 2 n).
        effort: Efforts (n,).
        rates: Rates (2 n,).
        space: Of the time loop.
    """

    y: Vector
    modes: Vector
    residual: Vector
    nudged: Vector
    trial: Vector
    step: Vector
    jacobian: Matrix
    pivots: Vector
    behind: Matrix
    shifts: Matrix
    before: Matrix
    effort: Vector
    rates: Vector
    space: Space


def work_of(n: int, m: int, space: Space) -> Work:
    """Return the arrays for n joints, m of which move."""
    y, modes, rates = np.zeros((3, 2 * n))
    residual, nudged, trial, step, pivots = np.zeros((5, 2 * m))
    jacobian, effort = np.zeros((2 * m, 2 * m)), np.zeros(n)
    behind, shifts, before = np.zeros((3, 2 * m, 2 * n))
    return Work(
        y,
        modes,
        residual,
        nudged,
        trial,
        step,
        jacobian,
        pivots,
        behind,
        shifts,
        before,
        effort,
        rates,
        space,
    )


@inlined
def copy(source, out):
    """Write an array (k,) to another; NumPy's assignment takes seconds to compile."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@inlined
def tolerate(tolerances, tolerance):
    """Set relative and absolute tolerances (2, 2 n)."""
    for row in range(2):
        for i in range(tolerances.shape[1]):
            tolerances[row, i] = tolerance


@compiled(short=True, python=False)
def moved(kernels, t, t_end, modes, y, space):
    """Integrate the locked-joint dynamics; return the status."""
    return call_returning(kernels.run, (t, t_end, (kernels, modes), y, value_of(space)))


@inlined
def sort(x, order):
    """Write the places of the times `x` (2 m,) in rising order."""
    for k in range(x.shape[0]):
        place = k
        while place > 0 and x[order[place - 1]] > x[k]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = k


@inlined
def change(joint, is_arrival, drive, modes):
    """Switch a joint or lock it."""
    if is_arrival:
        modes[drive.shape[0] + joint] = 0.0
    else:
        modes[joint] = -drive[joint]


@inlined
def set_modes(problem, first, modes):
    """Set efforts and locked joints to what they are after `first` of the sorted changes."""
    n = problem.drive.shape[0]
    for i in range(2 * n):
        modes[i] = 0.0
    for k in range(problem.moving.shape[0]):
        i = problem.moving[k]
        modes[i] = problem.drive[i]
        modes[n + i] = 1.0
    for k in range(first):
        place = problem.order[k]
        change(problem.moving[place // 2], place % 2 == 1, problem.drive, modes)


@compiled(short=True, python=False)
def shoot(kernels, x, problem, first, t, work, residual):
    """Integrate from the sorted change `first` on, from the state `y` at time `t`, s.

    Writes the residual (2 m,). From the first change on `behind`, `shifts` and `before` are
    written too. Returns whether there is such a motion.
    """
    y, modes, behind, shifts, before = work.y, work.modes, work.behind, work.shifts, work.before
    n = problem.drive.shape[0]
    recorded = first == 0
    set_modes(problem, first, modes)
    for k in range(first, problem.order.shape[0]):
        place = problem.order[k]
        joint, is_arrival = problem.moving[place // 2], place % 2 == 1
        if x[place] > t:
            if moved(kernels, t, x[place], modes, y, work.space) != 0:
                return False
            t = x[place]
        if recorded:
            call_kernel(kernels.locked_joint_motion, (y, modes, before[k]))
        change(joint, is_arrival, problem.drive, modes)
        if is_arrival:
            residual[place - 1] = y[joint] - problem.goal[joint]
            residual[place] = y[n + joint]
            y[joint] = problem.goal[joint]
            y[n + joint] = 0.0
        if recorded:
            call_kernel(kernels.locked_joint_motion, (y, modes, shifts[k]))
            for i in range(2 * n):
                behind[k, i] = y[i]
                shifts[k, i] = before[k, i] - shifts[k, i]
            if is_arrival:
                shifts[k, joint] = 0.0
                shifts[k, n + joint] = 0.0
    return True


@inlined
def differentiate(kernels, x, problem, work):
    """Write the Jacobian of the residual by the times `x` (2 m,); return whether there is one."""
    size, n = problem.order.shape[0], problem.drive.shape[0]
    y, residual, nudged, jacobian = work.y, work.residual, work.nudged, work.jacobian
    for row in range(size):
        for column in range(size):
            jacobian[row, column] = 0.0
    for k in range(size):
        place = problem.order[k]
        step = 0.0
        for i in range(2 * n):
            step = max(step, abs(work.shifts[k, i]))
        if k + 1 < size and step > 0.0:
            step = NUDGE / step
            for i in range(2 * n):
                y[i] = work.behind[k, i] + step * work.shifts[k, i]
            copy(residual, nudged)
            if not shoot(kernels, x, problem, k + 1, x[place], work, nudged):
                return False
            for row in range(size):
                jacobian[row, place] = (nudged[row] - residual[row]) / step
        if place % 2 == 1:
            joint = problem.moving[place // 2]
            jacobian[place - 1, place] += work.before[k, joint]
            jacobian[place, place] += work.before[k, n + joint]
    return True


@inlined
def misses(residual, duration):
    """Return the size of the residual, speeds counted over a quarter of the duration."""
    total = 0.0
    for k in range(0, residual.shape[0], 2):
        position, speed = residual[k], 0.25 * duration * residual[k + 1]
        total += position * position + speed * speed
    return sqrt(total)


@inlined
def shoot_all(kernels, x, problem, work, residual):
    """Integrate the whole motion with switches and arrivals `x` (2 m,), see `shoot`."""
    sort(x, problem.order)
    copy(problem.start, work.y)
    return shoot(kernels, x, problem, 0, 0.0, work, residual)


@compiled(short=True, python=False)
def newton(kernels, x, problem, tolerance, most, work):
    """Move the times `x` (2 m,) until all joints rest at their goals; return how many steps.

    Negative if they do not. Until they nearly do, less accurate integration is enough.
    """
    size = x.shape[0]
    residual, step, trial = work.residual, work.step, work.trial
    tolerate(work.space.tolerances, COARSE)
    is_fine = False
    if not shoot_all(kernels, x, problem, work, residual):
        return NO_MOTION
    for iteration in range(most):
        duration = x[problem.order[size - 1]]
        before = misses(residual, duration)
        if before < NEAR and not is_fine:
            tolerate(work.space.tolerances, FINE)
            is_fine = True
            if not shoot_all(kernels, x, problem, work, residual):
                return NO_MOTION
            before = misses(residual, duration)
        if not isfinite(before):
            return NO_MOTION
        if before < tolerance:
            return iteration
        if not differentiate(kernels, x, problem, work):
            return NO_MOTION
        copy(residual, step)
        factorize(work.jacobian, work.pivots)
        solve(work.jacobian, work.pivots, step)
        longest = 0.0
        for k in range(size):
            if not isfinite(step[k]):
                return SINGULAR
            longest = max(longest, abs(step[k]))
        share = min(1.0, 0.5 * duration / longest)
        better = False
        for _ in range(6):
            for k in range(0, size, 2):
                trial[k] = max(x[k] - share * step[k], 0.0)
                trial[k + 1] = max(x[k + 1] - share * step[k + 1], trial[k])
            better = shoot_all(kernels, trial, problem, work, work.nudged)
            better = better and misses(work.nudged, duration) < before
            if better:
                break
            share *= 0.4
        if not better:
            return NO_DESCENT
        copy(trial, x)
        copy(work.nudged, residual)
    return TOO_MANY_STEPS
