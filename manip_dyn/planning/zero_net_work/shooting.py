"""Single-switch motions with locked joints: dynamics, Newton's method, and replay.

A locked joint has no acceleration, and it is locked at rest. The effort that locks it follows from
the dynamics of the other joints (Fan 2003, eqs. 5.70, 6.53 and 6.55, generalized to any arm)::

    M_dd a_d = tau_d - b_d,    a_h = 0,    tau_h = M_hd a_d + b_h

Here d denotes the driven joints, h the locked joints, and b = ID(q, v, 0) the bias.

Every moving joint has two unknowns, its switch time and its arrival time, and two conditions: on
arrival it must be at its goal and at rest. From then on it is locked. A motion is a sequence of
phases between these times, each integrated with a tight tolerance. On arrival, the position error
and the velocity are the residual, and the joint is set to rest at its goal. As with the nodes of
multiple shooting, this decouples the conditions of the joints. A change of one time changes the
following state by the jump of the rates. Integration from the changed state gives one column of
the Jacobian.

A solution is verified by replay: it is integrated again without setting joints to their goals, and
limits are checked at nodes. Positions are also checked at reversals between them.
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.arrays import address_of, call_returning, value_of
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.solvers import factorize, solve
from manip_dyn.integration import METHODS, Engine, Options, Space, compile_engine
from manip_dyn.robot import Robot

TOLERANCES: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12, "max_steps": 2000}


class LockedJointKernels(NamedTuple):
    """Addresses of the kernels of a robot, and of the function `run` of the time loop."""

    locked_joint_motion: int = 0
    locked_joint_efforts: int = 0
    motion: int = 0
    energy: int = 0
    run: int = 0


@compiled(merge=True)
def locked_joint_rates(t, y, p, out):
    """Write the rates (2 n,) of y = (q, v). The parameters p are the kernels and the modes.

    The modes (2 n,) are n efforts, followed by 1 for each driven and 0 for each locked joint.
    """
    call_kernel(p[0].locked_joint_motion, (y, p[1], out))


@lru_cache(maxsize=64)
def locked_joint_kernels(robot: Robot) -> LockedJointKernels:
    """Return the addresses of the kernels of `robot` and of the time loop."""
    *names, _ = LockedJointKernels._fields
    return LockedJointKernels._make((*addresses(robot, *names), _address_of_run(robot.n)))


@lru_cache(maxsize=64)
def _address_of_run(n: int) -> int:
    engine, y = locked_joint_engine(n), np.empty(2 * n)
    return address_of(
        engine.run, 0.0, 0.0, (LockedJointKernels(), y), y, engine.space(**TOLERANCES)
    )


@lru_cache(maxsize=64)
def locked_joint_engine(n: int) -> Engine:
    """Return the compiled time loop of n joints for a phase with constant modes."""
    return compile_engine(
        locked_joint_rates, METHODS["rkdp87"], Options(size=2 * n, adaptive=True)
    )


NUDGE = 1e-6
"""Change of a state for finite differences: rad or m, and rad/s or m/s."""
COARSE, FINE = 1e-9, 1e-12
"""Tolerances of the integration far from the solution, and near it."""
NEAR = 1e-6
"""Residual below which the integration uses the finer tolerance."""
SINGULAR, NO_MOTION, NO_DESCENT, TOO_MANY_STEPS = -3, -2, -4, -1
"""Return values of `newton` after a failure."""


class Problem(NamedTuple):
    """A motion between two postures of n joints, m of which move.

    Attributes:
        start: Start state (2 n,) at rest.
        goal: Goal positions (n,).
        moving: Indices of the joints that move (m,).
        drive: Efforts before the switch (n,).
        order: Work array (2 m,) for the indices of the times in chronological order. Each moving
            joint has a switch time and an arrival time.
    """

    start: Vector
    goal: Vector
    moving: NDArray[np.int64]
    drive: Vector
    order: NDArray[np.int64]


class Work(NamedTuple):
    """Work arrays of Newton's method for n joints, m of which move.

    Attributes:
        y: State (2 n,).
        modes: Efforts (n,), then 1 for each driven and 0 for each locked joint (n,).
        residual: Position error and velocity of each joint at its arrival (2 m,).
        nudged: Residual of another motion (2 m,).
        trial: Trial times (2 m,).
        step: Newton step (2 m,).
        jacobian: Derivatives of the residual with respect to the times (2 m, 2 m).
        pivots: Row exchanges of the factorized Jacobian (2 m,).
        behind: States after each change of modes (2 m, 2 n).
        shifts: Derivatives of these states, at a fixed time, with respect to the times of the
            changes (2 m, 2 n).
        before: Rates before each change (2 m, 2 n).
        effort: Efforts (n,).
        rates: Rates (2 n,).
        space: Arrays of the time loop.
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
    """Allocate the work arrays for n joints, m of which move."""
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
def copy_array(source, out):
    """Copy an array (k,) into another one. NumPy's assignment would take seconds to compile."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@inlined
def set_tolerances(tolerances, tolerance):
    """Set all relative and absolute tolerances (2, 2 n) to `tolerance`."""
    for row in range(2):
        for i in range(tolerances.shape[1]):
            tolerances[row, i] = tolerance


@compiled(short=True, python=False)
def integrate_phase(kernels, t, t_end, modes, y, space):
    """Integrate the locked-joint dynamics from `t` to `t_end`; return the status."""
    return call_returning(kernels.run, (t, t_end, (kernels, modes), y, value_of(space)))


@inlined
def sort_changes(x, order):
    """Write the indices of the times `x` (2 m,) in chronological order."""
    for k in range(x.shape[0]):
        place = k
        while place > 0 and x[order[place - 1]] > x[k]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = k


@inlined
def apply_change(joint, is_arrival, drive, modes):
    """Lock a joint at its arrival, or reverse its effort at its switch."""
    if is_arrival:
        modes[drive.shape[0] + joint] = 0.0
    else:
        modes[joint] = -drive[joint]


@inlined
def set_modes(problem, first, modes):
    """Set the modes to those after `first` changes."""
    n = problem.drive.shape[0]
    for i in range(2 * n):
        modes[i] = 0.0
    for k in range(problem.moving.shape[0]):
        i = problem.moving[k]
        modes[i] = problem.drive[i]
        modes[n + i] = 1.0
    for k in range(first):
        place = problem.order[k]
        apply_change(problem.moving[place // 2], place % 2 == 1, problem.drive, modes)


@compiled(short=True, python=False)
def shoot(kernels, x, problem, first, t, work, residual):
    """Integrate the motion from the change `first`, starting with the state `work.y`.

    Args:
        kernels: Kernels of the robot.
        x: Switch and arrival times (2 m,), s.
        problem: The motion.
        first: Number of changes before the start of the integration. With 0, `behind`, `shifts`
            and `before` of `work` are written.
        t: Start time of the integration, s.
        work: Work arrays.
        residual: Output (2 m,), written for the arrivals from `first` on.

    Returns:
        Whether the integration succeeded.
    """
    y, modes, behind, shifts, before = work.y, work.modes, work.behind, work.shifts, work.before
    n = problem.drive.shape[0]
    recorded = first == 0
    set_modes(problem, first, modes)
    for k in range(first, problem.order.shape[0]):
        place = problem.order[k]
        joint, is_arrival = problem.moving[place // 2], place % 2 == 1
        if x[place] > t:
            if integrate_phase(kernels, t, x[place], modes, y, work.space) != 0:
                return False
            t = x[place]
        if recorded:
            call_kernel(kernels.locked_joint_motion, (y, modes, before[k]))
        apply_change(joint, is_arrival, problem.drive, modes)
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
    """Write the Jacobian of the residual with respect to the times `x` (2 m,) to `work`.

    Returns:
        Whether the integration succeeded.
    """
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
            copy_array(residual, nudged)
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
def residual_norm(residual, duration):
    """Return the norm of the residual, with speeds multiplied by a quarter of the duration."""
    total = 0.0
    for k in range(0, residual.shape[0], 2):
        position, speed = residual[k], 0.25 * duration * residual[k + 1]
        total += position * position + speed * speed
    return sqrt(total)


@inlined
def shoot_all(kernels, x, problem, work, residual):
    """Integrate the whole motion for switch and arrival times `x` (2 m,); see `shoot`."""
    sort_changes(x, problem.order)
    copy_array(problem.start, work.y)
    return shoot(kernels, x, problem, 0, 0.0, work, residual)


@compiled(short=True, python=False)
def newton(kernels, x, problem, tolerance, most, work):
    """Adjust the times `x` (2 m,) until all joints rest at their goals.

    Far from the solution, the integration is less accurate.

    Returns:
        The number of steps, or a negative code if the method does not converge.
    """
    size = x.shape[0]
    residual, step, trial = work.residual, work.step, work.trial
    set_tolerances(work.space.tolerances, COARSE)
    is_fine = False
    if not shoot_all(kernels, x, problem, work, residual):
        return NO_MOTION
    for iteration in range(most):
        duration = x[problem.order[size - 1]]
        before = residual_norm(residual, duration)
        if before < NEAR and not is_fine:
            set_tolerances(work.space.tolerances, FINE)
            is_fine = True
            if not shoot_all(kernels, x, problem, work, residual):
                return NO_MOTION
            before = residual_norm(residual, duration)
        if not isfinite(before):
            return NO_MOTION
        if before < tolerance:
            return iteration
        if not differentiate(kernels, x, problem, work):
            return NO_MOTION
        copy_array(residual, step)
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
            better = better and residual_norm(work.nudged, duration) < before
            if better:
                break
            share *= 0.4
        if not better:
            return NO_DESCENT
        copy_array(trial, x)
        copy_array(work.nudged, residual)
    return TOO_MANY_STEPS


NO_SOLUTION, PROVED, NOT_REPRODUCED, EFFORT, SPEED, POSITION = range(-1, 5)
"""Verdicts of a search: no convergence, a verified motion, or the reason for its rejection."""
END_TOLERANCE = 1e-8
"""Largest final distance from the goal (rad or m) and from rest (rad/s or m/s)."""
LOCK_TOLERANCE = 1e-7
"""Largest acceleration of a locked joint times the square of the time at the end of the phase (at
least 1 s), rad or m."""
NODES_PER_PHASE = 6
"""Stored states per phase of a motion."""


class Bounds(NamedTuple):
    """Limits (n,) of positions, speeds and efforts."""

    q_min: Vector
    q_max: Vector
    v_max: Vector
    effort: Vector


class Nodes(NamedTuple):
    """Samples of a motion at both ends of each phase and at times in between.

    Attributes:
        times: Times (k,), s.
        states: Positions and velocities (k, 2 n).
        modes: Modes (k, 2 n) after each node, as in `Work`.
        efforts: Efforts of all joints (k, n).
    """

    times: Vector
    states: Matrix
    modes: Matrix
    efforts: Matrix


def nodes_of(n: int, m: int) -> Nodes:
    """Allocate the nodes of a motion of n joints, m of which move."""
    k = 2 * m * NODES_PER_PHASE
    return Nodes(np.zeros(k), np.zeros((k, 2 * n)), np.zeros((k, 2 * n)), np.zeros((k, n)))


@inlined
def check_node(work, bounds, spacing, end, verdict, joint, need):
    """Check the limits at a node, and that the efforts keep locked joints from accelerating.

    Args:
        work: Work arrays with the state, modes, efforts and rates at the node.
        bounds: Limits of the robot.
        spacing: Time until the next node, s.
        end: End of the phase, s.
        verdict: Verdict for the previous nodes, such as PROVED or EFFORT.
        joint: Index of the joint that it is about.
        need: For EFFORT and SPEED, the required value of this joint divided by its limit; for
            POSITION, the position that it reaches, rad or m.

    Returns:
        `verdict`, `joint` and `need` of the most severe violation so far.
    """
    n = bounds.effort.shape[0]
    y, modes, effort, rates = work.y, work.modes, work.effort, work.rates
    for j in range(n):
        size = abs(effort[j]) / bounds.effort[j]
        if size > 1.0 + 1e-9 and (verdict != EFFORT or size > need):
            verdict, joint, need = EFFORT, j, size
        if verdict == EFFORT:
            continue
        size = abs(y[n + j]) / bounds.v_max[j]
        if size > 1.0 + 1e-9 and (verdict != SPEED or size > need):
            verdict, joint, need = SPEED, j, size
        # reversal of the joint before the next node
        far = y[j]
        if rates[n + j] * y[n + j] < 0.0:
            ahead = -y[n + j] / rates[n + j]
            if ahead < spacing:
                far += 0.5 * ahead * y[n + j]
        if verdict == PROVED and (
            far < bounds.q_min[j] - END_TOLERANCE or far > bounds.q_max[j] + END_TOLERANCE
        ):
            verdict, joint, need = POSITION, j, far
        # the efforts must reproduce the locked joints
        duration = max(end, 1.0)
        if modes[n + j] == 0.0 and abs(rates[n + j]) * duration * duration > LOCK_TOLERANCE:
            return NOT_REPRODUCED, j, 0.0
    return verdict, joint, need


@compiled(short=True, python=False)
def replay(kernels, x, problem, bounds, work, nodes):
    """Integrate the motion again without setting joints to their goals, and check it.

    Every phase has the same number of nodes.

    Returns:
        The verdict, the joint, and the value that it requires.
    """
    y, modes, effort = work.y, work.modes, work.effort
    n, order = effort.shape[0], problem.order
    sort_changes(x, order)
    set_modes(problem, 0, modes)
    copy_array(problem.start, y)
    t = 0.0
    set_tolerances(work.space.tolerances, FINE)
    verdict, joint, need = PROVED, 0, 0.0
    for k in range(order.shape[0]):
        begin, end = t, x[order[k]]
        for i in range(NODES_PER_PHASE):
            until = (
                begin + (end - begin) * i / (NODES_PER_PHASE - 1)
                if i + 1 < NODES_PER_PHASE
                else end
            )
            if until > t:
                if integrate_phase(kernels, t, until, modes, y, work.space) != 0:
                    return NOT_REPRODUCED, 0, 0.0
                t = until
            row = k * NODES_PER_PHASE + i
            call_kernel(kernels.locked_joint_efforts, (y, modes, effort))
            nodes.times[row] = t
            for j in range(n):
                if modes[n + j] != 0.0:
                    effort[j] = modes[j]
                nodes.efforts[row, j] = effort[j]
            for j in range(2 * n):
                nodes.states[row, j] = y[j]
                nodes.modes[row, j] = modes[j]
            call_kernel(kernels.motion, (y, effort, work.rates))
            spacing = (end - begin) / (NODES_PER_PHASE - 1)
            verdict, joint, need = check_node(work, bounds, spacing, end, verdict, joint, need)
            if verdict == NOT_REPRODUCED:
                return verdict, joint, need
        apply_change(problem.moving[order[k] // 2], order[k] % 2 == 1, problem.drive, modes)
    for j in range(n):
        missed = abs(y[j] - problem.goal[j])
        if not (missed <= END_TOLERANCE and abs(y[n + j]) <= END_TOLERANCE):
            return NOT_REPRODUCED, j, missed
    return verdict, joint, need
