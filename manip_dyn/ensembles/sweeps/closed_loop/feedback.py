"""Compiled controller of the closed loop.

It reproduces the regular task of `PlanExecutor`: computed-torque feedback within the effort limits
along a sampled motion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.solvers import factorize, solve


class Law(NamedTuple):
    """Gains, limits, state and working memory of the feedback; see `planning.Tuning`.

    Attributes:
        stiffness: Feedback of the positions, 1/s^2.
        damping: Feedback of the velocities, 1/s.
        integral: Feedback of the integral, 1/s^3.
        tolerance: Tolerance of the goal, rad or m.
        limit: Effort limits (n,), N m or N.
        fastest: Speed limits (n,), rad/s or m/s.
        sum: Integral of the position error (n,).
        saturated: Flag (1,): whether efforts were saturated.
        requested: Efforts (n,) before saturation.
        slowed: Flags (n,): whether the speed limit of a joint limited its acceleration.
        errors: Velocity errors (n,) of the previous period, rad/s or m/s; NaN before the first.
        ahead: Velocities (n,) of the reference at the end of the period in which efforts act.
    """

    stiffness: float
    damping: float
    integral: float
    tolerance: float
    limit: Vector
    fastest: Vector
    sum: Vector
    saturated: Vector
    requested: Vector
    accelerations: Vector
    slowed: Vector
    errors: Vector
    ahead: Vector
    there: Vector
    zero: Vector
    mass: Matrix
    part: Matrix
    lack: Vector
    pivots: Vector


@compiled(short=True, python=False)
def feedback_acceleration(law, period, delay, q, v, q_ref, v_ref):
    """Write the accelerations (n,) of the feedback to `law.accelerations`."""
    for i in range(q.size):
        desired = (
            law.stiffness * (q_ref[i] - q[i])
            + law.damping * (v_ref[i] - v[i])
            + law.integral * law.sum[i]
        )
        error = v[i] - v_ref[i]
        growth = (error - law.errors[i]) / period if law.errors[i] == law.errors[i] else 0.0
        law.errors[i] = error
        speed = law.ahead[i] + error + delay * growth
        low, high = law.fastest[i] + speed, law.fastest[i] - speed
        quick = 1.0 / (period + 2.0 * delay)
        low *= quick if low > 0.0 else law.damping
        high *= quick if high > 0.0 else law.damping
        law.accelerations[i] = min(max(desired, -low), high)
        law.slowed[i] = law.accelerations[i] != desired


@compiled(short=True, python=False)
def feedback_efforts(kernels, law, period, delay, q, v, q_ref, v_ref, out):
    """Write the efforts (n,) that the feedback adds to those of the reference."""
    feedback_acceleration(law, period, delay, q, v, q_ref, v_ref)
    call_kernel(kernels.inverse_dynamics, (q, v, law.accelerations, out))
    call_kernel(kernels.inverse_dynamics, (q_ref, v_ref, law.zero, law.there))
    for i in range(q.size):
        out[i] -= law.there[i]


@compiled(short=True, python=False)
def saturate(kernels, law, q, out):
    """Write `law.requested` within the limits; unsaturated joints retain their accelerations."""
    n, over = q.size, 0
    for i in range(n):
        out[i] = min(max(law.requested[i], -law.limit[i]), law.limit[i])
        over += out[i] != law.requested[i]
    law.saturated[0] = over > 0
    if over in (0, n):
        return
    call_kernel(kernels.mass_matrix, (q, law.mass))
    row = 0
    for i in range(n):
        if out[i] != law.requested[i]:
            column = 0
            for j in range(n):
                if out[j] != law.requested[j]:
                    law.part[row, column] = law.mass[i, j]
                    column += 1
            law.lack[row] = out[i] - law.requested[i]
            row += 1
    part, lack, pivots = law.part[:over, :over].copy(), law.lack[:over], law.pivots[:over]
    factorize(part, pivots)
    solve(part, pivots, lack)
    for i in range(n):
        if out[i] == law.requested[i]:
            more, column = out[i], 0
            for j in range(n):
                if out[j] != law.requested[j]:
                    more += law.mass[i, j] * lack[column]
                    column += 1
            law.there[i] = min(max(more, -law.limit[i]), law.limit[i])
    for i in range(n):
        if out[i] == law.requested[i]:
            out[i] = law.there[i]


SAME = 1e-9
"""Times that differ by less are equal, s."""
DONE, EXECUTOR_NEEDED = 0, 1
"""Results of a period: efforts were written, or `PlanExecutor` must compute them."""


class Reference(NamedTuple):
    """Sampled reference motion that starts at time `begin`; see `planning.execution`.

    Attributes:
        begin: Start time, s.
        off_plan: Position error above which another motion is required, rad or m.
        off_speed: Velocity errors (n,) above which another motion is required, rad/s or m/s.
        stopping: Whether another motion is required at the end of this one.
        integrates: Whether errors are also integrated before the end.
        updated_at: Times (2,), s: that of the last state (NaN before the first), and that of the
            arrival at the goal (NaN before the arrival). `PlanExecutor` detects the arrival.
    """

    times: Vector
    q: Matrix
    v: Matrix
    efforts: Matrix
    hold: Vector
    wait: Vector
    goal: Vector
    begin: float
    off_plan: float
    off_speed: Vector
    stopping: bool
    integrates: bool
    updated_at: Vector
    q_ref: Vector
    v_ref: Vector
    correction: Vector


class Command(NamedTuple):
    """Segments of a command: offsets (m,), s, efforts (m, n), and their number (1,)."""

    offsets: Vector
    efforts: Matrix
    number: Vector


@compiled(short=True, python=False)
def reference_state(followed, t):
    """Write the state of the reference at time `t` (s) by cubic interpolation."""
    times, q_ref, v_ref = followed.times, followed.q_ref, followed.v_ref
    last, n = times.size - 1, followed.q_ref.size
    if t >= times[last] or t <= 0.0:
        k = last if t >= times[last] else 0
        for i in range(n):
            q_ref[i] = followed.q[k, i]
            v_ref[i] = 0.0 if k == last else followed.v[k, i]
        return
    k = cell(times, t)
    h = times[k + 1] - times[k]
    s = (t - times[k]) / h
    for i in range(n):
        rise = followed.q[k + 1, i] - followed.q[k, i]
        here, there = h * followed.v[k, i], h * followed.v[k + 1, i]
        bent, turned = 3.0 * rise - 2.0 * here - there, here + there - 2.0 * rise
        q_ref[i] = followed.q[k, i] + s * (here + s * (bent + s * turned))
        v_ref[i] = (here + s * (2.0 * bent + 3.0 * s * turned)) / h


@compiled(short=True, python=False)
def cell(times, t):
    """Return the index of the interval that contains the time `t` (s)."""
    return max(np.searchsorted(times, t, side="right") - 1, 0)


@compiled(short=True, python=False)
def track_period(kernels, law, followed, t, period, horizon, q, v, command):
    """Write the efforts for the state (q, v) at `t` (s); return `DONE` or `EXECUTOR_NEEDED`."""
    n, times = q.size, followed.times
    end = followed.begin + times[times.size - 1]
    reference_state(followed, t + horizon - followed.begin)
    law.ahead[:] = followed.v_ref
    reference_state(followed, t - followed.begin)
    q_ref, v_ref = followed.q_ref, followed.v_ref
    farthest = 0.0
    for i in range(n):
        farthest = max(farthest, abs(q[i] - q_ref[i]))
        if not abs(v[i] - v_ref[i]) <= followed.off_speed[i]:
            return EXECUTOR_NEEDED
    if not farthest <= followed.off_plan or (followed.stopping and t >= end):
        return EXECUTOR_NEEDED
    if followed.updated_at[0] < end <= t:
        return EXECUTOR_NEEDED
    if watch_arrival(law, followed, t, end, q, v):
        return EXECUTOR_NEEDED
    delay = horizon - period
    feedback_efforts(kernels, law, period, delay, q, v, q_ref, v_ref, followed.correction)
    count, begin = 0, t - followed.begin
    if begin < 0.0:
        command.offsets[0] = 0.0
        write_segment(kernels, law, followed, q, followed.wait, command, 0)
        count = 1
    last = followed.wait
    for k in range(cell(times, begin), times.size):
        offset = max(times[k] - begin, 0.0)
        if count > 0 and offset >= horizon - SAME:
            break
        effort = followed.efforts[k] if k < followed.efforts.shape[0] else followed.hold
        if count > 0 and offset < SAME:
            count -= 1
        same = count > 0
        for i in range(n):
            same = same and effort[i] == last[i]
        if same:
            continue
        if count == command.offsets.size:
            return EXECUTOR_NEEDED
        command.offsets[count] = offset
        write_segment(kernels, law, followed, q, effort, command, count)
        last = effort
        count += 1
    command.number[0] = count
    return DONE


@compiled(short=True, python=False)
def write_segment(kernels, law, followed, q, effort, command, place):
    """Write the efforts of a segment: those of the reference plus a correction."""
    for i in range(q.size):
        law.requested[i] = effort[i] + followed.correction[i]
    saturate(kernels, law, q, command.efforts[place])


@compiled(short=True, python=False)
def watch_arrival(law, followed, t, end, q, v):
    """Integrate the error; return whether the arm rests at the goal for the first time."""
    over, last = t >= end, followed.updated_at[0]
    rests = over and followed.updated_at[1] != followed.updated_at[1]
    for i in range(q.size):
        rests = rests and abs(q[i] - followed.goal[i]) <= law.tolerance
        rests = rests and abs(v[i]) <= 10.0 * law.tolerance
    if rests:
        return True
    if last == last and (over or followed.integrates) and law.saturated[0] == 0.0:
        for i in range(q.size):
            if law.slowed[i] == 0.0:
                law.sum[i] += (t - last) * (followed.q_ref[i] - q[i])
    followed.updated_at[0] = t
    return False
