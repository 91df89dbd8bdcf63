"""Compiled controllers of the closed loop: tracking with feedback, and online switching.

They reproduce the regular tasks of `PlanExecutor`: computed-torque feedback within the effort
limits along a sampled motion, and online switching of one joint. This joint switches when its
measured state reaches its braking curve. Online switching ends when the arrival is within the
horizon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.solvers import factorize, solve


@compiled(short=True, python=False)
def curve_speed(curve, h, sign, q):
    """Return the speed of the braking curve at q; 0 beyond the goal, infinite before the start.

    Args:
        curve: Position, velocity and acceleration (k + 1, 3) by remaining time.
        h: Spacing of the remaining time, s.
        sign: Direction of the joint.
        q: Position of the joint, rad or m.
    """
    low, high = 0, curve.shape[0] - 1
    if sign * (curve[0, 0] - q) <= 0.0:
        return 0.0
    if sign * (q - curve[high, 0]) < 0.0:
        return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        if sign * (curve[middle, 0] - q) > 0.0:
            low = middle
        else:
            high = middle
    begin, end = curve[low], curve[high]
    left, right, s = 0.0, 1.0, 0.5
    for _ in range(60):  # Newton's method on the cubic, inside a bracket of the root
        rise, here, there = end[0] - begin[0], -h * begin[1], -h * end[1]
        bent, turned = 3.0 * rise - 2.0 * here - there, here + there - 2.0 * rise
        off = begin[0] + s * (here + s * (bent + s * turned)) - q
        if sign * off > 0.0:
            left = s
        else:
            right = s
        slope = here + s * (2.0 * bent + 3.0 * s * turned)
        new = s - off / slope if slope != 0.0 else left - 1.0
        if not left <= new <= right:
            new = 0.5 * (left + right)
        done, s = abs(new - s) < 1e-15, new
        if done:
            break
    rise, here, there = end[1] - begin[1], -h * begin[2], -h * end[2]
    bent, turned = 3.0 * rise - 2.0 * here - there, here + there - 2.0 * rise
    return sign * (begin[1] + s * (here + s * (bent + s * turned)))


class Law(NamedTuple):
    """Gains, limits, state and working memory of the feedback; see `planning.Tuning`.

    Attributes:
        stiffness: Feedback of the positions, 1/s^2.
        damping: Feedback of the velocities, 1/s.
        integral: Feedback of the integral, 1/s^3.
        tolerance: Tolerance of the goal, rad or m.
        limit: Effort limits (n,), N m or N.
        sum: Integral of the position error (n,).
        saturated: Flag (1,): whether efforts were saturated.
        requested: Efforts (n,) before saturation.
    """

    stiffness: float
    damping: float
    integral: float
    tolerance: float
    limit: Vector
    sum: Vector
    saturated: Vector
    requested: Vector
    accelerations: Vector
    there: Vector
    zero: Vector
    mass: Matrix
    part: Matrix
    lack: Vector
    pivots: Vector


@compiled(short=True, python=False)
def feedback_acceleration(law, q, v, q_ref, v_ref):
    """Write the accelerations (n,) of the feedback to `law.accelerations`."""
    for i in range(q.size):
        law.accelerations[i] = (
            law.stiffness * (q_ref[i] - q[i])
            + law.damping * (v_ref[i] - v[i])
            + law.integral * law.sum[i]
        )


@compiled(short=True, python=False)
def feedback_efforts(kernels, law, q, v, q_ref, v_ref, out):
    """Write the efforts (n,) that the feedback adds to those of the reference."""
    feedback_acceleration(law, q, v, q_ref, v_ref)
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
        stopping: Whether another motion is required at the end of this one.
        integrates: Whether errors are also integrated before the end.
        updated_at: Times (2,), s: that of the last state (NaN before the first), and that of the
            arrival at the goal (NaN before the arrival).
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
def track_period(kernels, law, followed, t, horizon, q, v, command):
    """Write the efforts for the state (q, v) at `t` (s); return `DONE` or `EXECUTOR_NEEDED`."""
    n, times = q.size, followed.times
    end = followed.begin + times[times.size - 1]
    reference_state(followed, t - followed.begin)
    q_ref, v_ref = followed.q_ref, followed.v_ref
    farthest = 0.0
    for i in range(n):
        farthest = max(farthest, abs(q[i] - q_ref[i]))
    if not farthest <= followed.off_plan or (followed.stopping and t >= end):
        return EXECUTOR_NEEDED
    watch_arrival(law, followed, t, end, q, v)
    feedback_efforts(kernels, law, q, v, q_ref, v_ref, followed.correction)
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
    """Integrate the error and detect the arrival."""
    over, last = t >= end, followed.updated_at[0]
    if last == last and (over or followed.integrates) and law.saturated[0] == 0.0:
        for i in range(q.size):
            law.sum[i] += (t - last) * (followed.q_ref[i] - q[i])
    rests = over
    for i in range(q.size):
        rests = rests and abs(q[i] - followed.goal[i]) <= law.tolerance
        rests = rests and abs(v[i]) <= 10.0 * law.tolerance
    if rests and followed.updated_at[1] != followed.updated_at[1]:
        followed.updated_at[1] = end if last != last or last <= end else t
    followed.updated_at[0] = t


ON_CURVE = 1e-7
"""Tolerance of the speed on the braking curve, as in `OnlineSwitching`."""
NEAR = 1e-14
"""Tolerance of a switching time, s."""


class SwitchedJoint(NamedTuple):
    """The switched joint and its braking curve.

    Attributes:
        joint: Index of the joint.
        sign: Direction of its motion.
        drive: Effort before the switch; the negative effort acts after it.
        inertia: Inertia of the joint, kg m^2 or kg.
        damping: Damping of the joint, N m s or N s/m.
        off_plan: Position error of another joint above which a motion is required, rad or m.
        goal: Final positions (n,).
        curve: Position, velocity and acceleration (k + 1, 3) by remaining time.
        spacing: Spacing of the remaining time, s.
    """

    joint: int
    sign: float
    drive: float
    inertia: float
    damping: float
    off_plan: float
    goal: Vector
    curve: Matrix
    spacing: float
    posture: Vector
    load: Vector
    q: Vector
    v: Vector
    mass: Matrix
    bias: Vector


@compiled(short=True, python=False)
def acceleration(kernels, switched, law, q, v, effort):
    """Return the acceleration of the joint at q, v, with the other joints at rest."""
    switched.posture[switched.joint] = q
    call_kernel(kernels.inverse_dynamics, (switched.posture, law.zero, law.zero, switched.load))
    return (effort - switched.load[switched.joint] - switched.damping * v) / switched.inertia


@compiled(short=True, python=False)
def propagate(kernels, switched, law, q, v, effort, h):
    """Return position and velocity after one Runge-Kutta step of length `h` (s)."""
    a1 = acceleration(kernels, switched, law, q, v, effort)
    v2 = v + 0.5 * h * a1
    a2 = acceleration(kernels, switched, law, q + 0.5 * h * v, v2, effort)
    v3 = v + 0.5 * h * a2
    a3 = acceleration(kernels, switched, law, q + 0.5 * h * v2, v3, effort)
    v4 = v + h * a3
    a4 = acceleration(kernels, switched, law, q + h * v3, v4, effort)
    return (
        q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4),
        v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4),
    )


@compiled(short=True, python=False)
def speed_gap(kernels, switched, law, q, v, duration):
    """Return the excess of the driven joint's speed over the curve after `duration` s."""
    if duration > 0.0:
        q, v = propagate(kernels, switched, law, q, v, switched.drive, duration)
    return max(
        switched.sign * v - curve_speed(switched.curve, switched.spacing, switched.sign, q), -1e9
    )


@compiled(short=True, python=False)
def switch_time(kernels, switched, law, q, v, horizon):
    """Return the time (s) at which the driven joint reaches the curve, by the Illinois method."""
    low, high = 0.0, horizon
    at_low = speed_gap(kernels, switched, law, q, v, low)
    at_high = speed_gap(kernels, switched, law, q, v, high)
    before = -1.0
    for _ in range(200):
        if high - low < NEAR or at_high == at_low:
            break
        middle = high - at_high * (high - low) / (at_high - at_low)
        if not low < middle < high or at_low < -1e3:
            middle = 0.5 * (low + high)
        at_middle = speed_gap(kernels, switched, law, q, v, middle)
        if at_middle >= 0.0:
            high, at_high = middle, at_middle
            at_low *= 0.5
        else:
            low, at_low = middle, at_middle
            at_high *= 0.5
        if abs(middle - before) < NEAR:
            return middle
        before = middle
    return high


@compiled(short=True, python=False)
def predict(kernels, switched, law, effort, duration):
    """Predict `switched.q` and `switched.v`; only the switched joint accelerates."""
    q, v, joint = switched.q, switched.v, switched.joint
    q_joint, v_joint = propagate(kernels, switched, law, q[joint], v[joint], effort, duration)
    for i in range(q.size):
        q[i] += duration * v[i]
    q[joint], v[joint] = q_joint, v_joint


@compiled(short=True, python=False)
def write_switched_segment(kernels, switched, law, effort, offset, duration, command):
    """Write a segment that drives the joint and holds the others, evaluated at its middle."""
    q, v, mass, bias, i = switched.q, switched.v, switched.mass, switched.bias, switched.joint
    n, place = q.size, int(command.number[0])
    before_q, before_v = q.copy(), v.copy()
    predict(kernels, switched, law, effort, 0.5 * max(duration, 0.0))
    feedback_acceleration(law, q, v, switched.goal, law.zero)
    call_kernel(kernels.mass_matrix, (q, mass))
    call_kernel(kernels.inverse_dynamics, (q, v, law.zero, bias))
    a = law.accelerations
    own = effort - bias[i]
    for j in range(n):
        if j != i:
            own -= mass[i, j] * a[j]
    a[i] = own / mass[i, i]
    for j in range(n):
        total = bias[j]
        for k in range(n):
            total += mass[j, k] * a[k]
        law.requested[j] = effort if j == i else total
    saturate(kernels, law, q, command.efforts[place])
    command.offsets[place] = offset
    command.number[0] += 1.0
    for j in range(n):
        q[j], v[j] = before_q[j], before_v[j]


@compiled(short=True, python=False)
def switch_period(kernels, law, switched, horizon, q, v, command):
    """Write the efforts for the state (q, v); return `DONE` or `EXECUTOR_NEEDED`."""
    joint, goal = switched.joint, switched.goal
    for i in range(q.size):
        switched.q[i], switched.v[i] = q[i], v[i]
        if i != joint and not abs(q[i] - goal[i]) <= switched.off_plan:
            return EXECUTOR_NEEDED
    if switched.sign * (q[joint] - goal[joint]) >= 0.0 and switched.sign * v[joint] <= 0.0:
        return EXECUTOR_NEEDED
    command.number[0], offset, drive = 0.0, 0.0, switched.drive
    if speed_gap(kernels, switched, law, q[joint], v[joint], 0.0) < -ON_CURVE:
        offset = horizon
        if speed_gap(kernels, switched, law, q[joint], v[joint], horizon) >= 0.0:
            offset = switch_time(kernels, switched, law, q[joint], v[joint], horizon)
        write_switched_segment(kernels, switched, law, drive, 0.0, offset, command)
        if offset == horizon:
            return DONE
        predict(kernels, switched, law, drive, offset)
    left = horizon - offset
    if left > 0.0:
        _, last = propagate(
            kernels, switched, law, switched.q[joint], switched.v[joint], -drive, left
        )
        if switched.sign * last <= 0.0:
            return EXECUTOR_NEEDED
    write_switched_segment(kernels, switched, law, -drive, offset, left, command)
    return DONE
