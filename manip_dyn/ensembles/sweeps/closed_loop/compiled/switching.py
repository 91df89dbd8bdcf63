"""One joint switched where its measured state meets its braking curve, compiled.

What `planning.execution.OnlineSwitching` does until the joint's rest is within the horizon.
"""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.ensembles.sweeps.closed_loop.compiled.braking_curve import speed
from manip_dyn.ensembles.sweeps.closed_loop.compiled.law import accelerate, limit
from manip_dyn.ensembles.sweeps.closed_loop.compiled.tracking import ASK, DONE

ON_CURVE = 1e-7
"""As in `OnlineSwitching`."""
NEAR = 1e-14
"""How well a switch is known, s."""


class Switched(NamedTuple):
    """The joint that moves, and its braking curve.

    Attributes:
        joint: Its number.
        sign: Of its way.
        drive: Its effort before the switch; after it the opposite one.
        inertia: kg m^2 or kg.
        damping: N m s or N s/m.
        off_plan: Error of another joint from which on a motion is needed, rad or m.
        goal: Where all rest at the end (n,).
        curve: Position, velocity, acceleration by time to rest, (k + 1, 3).
        spacing: Of that time, s.
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
    """Return the joint's acceleration at position q, velocity v, the others at rest."""
    switched.posture[switched.joint] = q
    call_kernel(kernels.inverse_dynamics, (switched.posture, law.zero, law.zero, switched.load))
    return (effort - switched.load[switched.joint] - switched.damping * v) / switched.inertia


@compiled(short=True, python=False)
def propagate(kernels, switched, law, q, v, effort, h):
    """Return position and velocity after one Runge-Kutta step of h, s."""
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
def gap(kernels, switched, law, q, v, duration):
    """Return by how much the driven joint is faster than the curve after a while, s."""
    if duration > 0.0:
        q, v = propagate(kernels, switched, law, q, v, switched.drive, duration)
    return max(switched.sign * v - speed(switched.curve, switched.spacing, switched.sign, q), -1e9)


@compiled(short=True, python=False)
def switch_time(kernels, switched, law, q, v, horizon):
    """Return when the driven joint meets the curve, s, by regula falsi (Illinois)."""
    low, high = 0.0, horizon
    at_low = gap(kernels, switched, law, q, v, low)
    at_high = gap(kernels, switched, law, q, v, high)
    before = -1.0
    for _ in range(200):
        if high - low < NEAR or at_high == at_low:
            break
        middle = high - at_high * (high - low) / (at_high - at_low)
        if not low < middle < high or at_low < -1e3:
            middle = 0.5 * (low + high)
        at_middle = gap(kernels, switched, law, q, v, middle)
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
def move(kernels, switched, law, effort, duration):
    """Move `switched.q` and `v` on: the joint under its effort, the others drifting."""
    q, v, joint = switched.q, switched.v, switched.joint
    q_joint, v_joint = propagate(kernels, switched, law, q[joint], v[joint], effort, duration)
    for i in range(q.size):
        q[i] += duration * v[i]
    q[joint], v[joint] = q_joint, v_joint


@compiled(short=True, python=False)
def write(kernels, switched, law, effort, offset, duration, command):
    """Write a segment that drives the joint and holds the others: that of its middle."""
    q, v, mass, bias, i = switched.q, switched.v, switched.mass, switched.bias, switched.joint
    n, place = q.size, int(command.number[0])
    before_q, before_v = q.copy(), v.copy()
    move(kernels, switched, law, effort, 0.5 * max(duration, 0.0))
    accelerate(law, q, v, switched.goal, law.zero)
    call_kernel(kernels.mass_matrix, (q, mass))
    call_kernel(kernels.inverse_dynamics, (q, v, law.zero, bias))
    a = law.asked
    own = effort - bias[i]
    for j in range(n):
        if j != i:
            own -= mass[i, j] * a[j]
    a[i] = own / mass[i, i]
    for j in range(n):
        total = bias[j]
        for k in range(n):
            total += mass[j, k] * a[k]
        law.wanted[j] = effort if j == i else total
    limit(kernels, law, q, command.efforts[place])
    command.offsets[place] = offset
    command.number[0] += 1.0
    for j in range(n):
        q[j], v[j] = before_q[j], before_v[j]


@compiled(short=True, python=False)
def switch(kernels, law, switched, horizon, q, v, command):
    """Write the efforts that answer the state (q, v); return `DONE` or `ASK`."""
    joint, goal = switched.joint, switched.goal
    for i in range(q.size):
        switched.q[i], switched.v[i] = q[i], v[i]
        if i != joint and not abs(q[i] - goal[i]) <= switched.off_plan:
            return ASK
    if switched.sign * (q[joint] - goal[joint]) >= 0.0 and switched.sign * v[joint] <= 0.0:
        return ASK
    command.number[0], offset, drive = 0.0, 0.0, switched.drive
    if gap(kernels, switched, law, q[joint], v[joint], 0.0) < -ON_CURVE:
        offset = horizon
        if gap(kernels, switched, law, q[joint], v[joint], horizon) >= 0.0:
            offset = switch_time(kernels, switched, law, q[joint], v[joint], horizon)
        write(kernels, switched, law, drive, 0.0, offset, command)
        if offset == horizon:
            return DONE
        move(kernels, switched, law, drive, offset)
    left = horizon - offset
    if left > 0.0:
        _, last = propagate(
            kernels, switched, law, switched.q[joint], switched.v[joint], -drive, left
        )
        if switched.sign * last <= 0.0:
            return ASK
    write(kernels, switched, law, -drive, offset, left, command)
    return DONE
