"""The compiled closed loop: measurement, command and motion of the actual arm in each period."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.solvers import box_minimum, factorize, solve
from manip_dyn.ensembles.sweeps.closed_loop.feedback import DONE, Command, track_period


class Kernels(NamedTuple):
    """Addresses of the kernels of the planned arm."""

    inverse_dynamics: int
    mass_matrix: int
    inverse_dynamics_loaded: int
    mass_matrix_loaded: int


class Arm(NamedTuple):
    """Parameters of the actual arm; arrays are (n,) unless stated otherwise.

    Attributes:
        mass_scale: Factor for all masses and inertias of the bodies, excluding rotors.
        payload: Payload (10,) in addition to the planned one, divided by `mass_scale`.
        wrench: External wrench (6,), N and N m: an argument of the kernels, always zero.
        damping: Joint damping, N m s/rad or N s/m.
        stiffness: Stiffness of the springs, N m/rad or N/m.
        rest: Rest positions of the springs, rad or m.
        armature: Rotor inertias, kg m^2 or kg.
        friction: Dry friction, N m or N.
        push: Efforts in addition to the commands, N m or N.
        push_begin: Start time of these efforts, s.
        push_end: End time of these efforts, s.
        step: Longest integration step, s.
    """

    mass_scale: float
    payload: Vector
    wrench: Vector
    damping: Vector
    stiffness: Vector
    rest: Vector
    armature: Vector
    friction: Vector
    push: Vector
    push_begin: float
    push_end: float
    step: float


class Scratch(NamedTuple):
    """Working memory for the integration of the simulated arm."""

    q: Vector
    v: Vector
    zero: Vector
    bias: Vector
    mass: Matrix
    pivots: Vector
    tau: Vector
    place: Vector
    rates: Matrix
    inverse: Matrix
    low: Vector
    high: Vector
    impulse: Vector


@compiled(short=True, python=False)
def arm_rates(kernels, arm, y, scratch, out):
    """Write the rates (2 n,) of the state y (2 n,) for the efforts `scratch.tau`.

    M and h of the bodies are those of the planned arm, without damping, springs and rotors,
    multiplied by the scale. The payload is divided by the scale, so the scale does not affect it.
    """
    n, scale = scratch.tau.size, arm.mass_scale
    q, v, bias, mass = scratch.q, scratch.v, scratch.bias, scratch.mass
    for i in range(n):
        q[i], v[i] = y[i], y[n + i]
    call_kernel(
        kernels.inverse_dynamics_loaded, (q, v, scratch.zero, arm.payload, arm.wrench, bias)
    )
    call_kernel(kernels.mass_matrix_loaded, (q, arm.payload, mass))
    for i in range(n):
        for j in range(n):
            mass[i, j] *= scale
        mass[i, i] += (1.0 - scale) * arm.armature[i]
        passive = arm.damping[i] * v[i] + arm.stiffness[i] * (q[i] - arm.rest[i])
        bias[i] = scratch.tau[i] - (scale * (bias[i] - passive) + passive)
    factorize(mass, scratch.pivots)
    solve(mass, scratch.pivots, bias)
    for i in range(n):
        out[i], out[n + i] = v[i], bias[i]


@compiled(short=True, python=False)
def rub(kernels, arm, y, h, scratch):
    """Apply the impulse of dry friction over `h` (s) to the velocities in the state y (2 n,).

    The impulse p minimizes the change of the kinetic energy, p^T M^-1 p / 2 + v^T p, subject to
    |p| <= h friction. A joint whose velocity becomes zero sticks (time stepping: Moreau,
    "Unilateral contact and dry friction in finite freedom dynamics", 1988).
    """
    n, place = scratch.tau.size, scratch.bias
    for i in range(n):
        scratch.q[i], scratch.v[i] = y[i], y[n + i]
        scratch.low[i], scratch.high[i] = -h * arm.friction[i], h * arm.friction[i]
        scratch.impulse[i] = 0.0
    call_kernel(kernels.mass_matrix_loaded, (scratch.q, arm.payload, scratch.mass))
    for i in range(n):
        for j in range(n):
            scratch.mass[i, j] *= arm.mass_scale
        scratch.mass[i, i] += (1.0 - arm.mass_scale) * arm.armature[i]
    factorize(scratch.mass, scratch.pivots)
    for j in range(n):
        for i in range(n):
            place[i] = 1.0 if i == j else 0.0
        solve(scratch.mass, scratch.pivots, place)
        for i in range(n):
            scratch.inverse[i, j] = place[i]
    box_minimum(scratch.inverse, scratch.v, scratch.low, scratch.high, scratch.impulse)
    for i in range(n):
        for j in range(n):
            y[n + i] += scratch.inverse[i, j] * scratch.impulse[j]


@compiled(short=True, python=False)
def integrate_arm(kernels, arm, y, duration, scratch):
    """Advance the state y (2 n,) by `duration` (s) under constant efforts with RK4."""
    steps = max(math.ceil(duration / arm.step - 1e-6), 1)
    h = duration / steps
    state, k = scratch.place, scratch.rates
    for _ in range(steps):
        arm_rates(kernels, arm, y, scratch, k[0])
        for stage in range(1, 4):
            fraction = h if stage == 3 else 0.5 * h
            for i in range(y.size):
                state[i] = y[i] + fraction * k[stage - 1, i]
            arm_rates(kernels, arm, state, scratch, k[stage])
        for i in range(y.size):
            y[i] += h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        if arm.friction.any():
            rub(kernels, arm, y, h, scratch)


FINISHED, STOPPED_FOR_EXECUTOR, DIVERGED = 0, 1, 2
"""Reasons for the end of a run: whole duration, call of `PlanExecutor`, or non-finite state."""


class Loop(NamedTuple):
    """Arrays of a run in addition to those of arm and law.

    Attributes:
        period: Time between measurements, s.
        delay: Time from a measurement to the effect of its command, s.
        lead: Delay by which the executor advances its time, s.
        horizon: Time for which efforts must be known in advance, s.
        offsets: Ring buffer (r, m) of the start times of the active commands' segments, s.
        efforts: Efforts of the segments (r, m, n), N m or N.
        counts: Number of segments (r,).
        noise: Noise of the measurements (k, 2 n).
        states: Output: states (k + 1, 2 n) of the arm at the measurements.
    """

    period: float
    delay: float
    lead: float
    horizon: float
    offsets: Matrix
    efforts: Matrix
    counts: Vector
    noise: Matrix
    states: Matrix
    q: Vector
    v: Vector


@compiled(short=True, python=False)
def advance_period(kernels, arm, loop, number, y, scratch):
    """Advance the arm by the period after measurement `number` under the active commands."""
    ring, period = loop.counts.size, loop.period
    now, end = number * period, (number + 1) * period
    whole = int(np.floor(loop.delay / period + 1e-9))
    change = now + max(loop.delay - whole * period, 0.0)
    while end - now > 1e-12:
        which = max(number - whole - (now < change - 1e-12), -1)
        row, begin = (which + ring) % ring, which * period
        until, acting = end, 0
        if now < change - 1e-12:
            until = min(until, change)
        for k in range(int(loop.counts[row])):
            starts = begin + np.rint(loop.offsets[row, k] * 1e9) * 1e-9
            if starts <= now + 1e-12:
                acting = k
            else:
                until = min(until, starts)
        pushed = arm.push_begin <= now + 1e-12 and now < arm.push_end - 1e-12
        for edge in (arm.push_begin, arm.push_end):
            if edge > now + 1e-12:
                until = min(until, edge)
        for i in range(loop.q.size):
            scratch.tau[i] = loop.efforts[row, acting, i] + (arm.push[i] if pushed else 0.0)
        integrate_arm(kernels, arm, y, until - now, scratch)
        now = until


@compiled(short=True)
def run_loop(kernels, arm, law, followed, loop, scratch, first, y):
    """Continue from measurement `first`; return the reason for the end and the last measurement.

    After `STOPPED_FOR_EXECUTOR`, `loop.q` and `loop.v` contain the state at that measurement.
    """
    n, last = loop.q.size, loop.noise.shape[0]
    q, v, ring = loop.q, loop.v, loop.counts.size
    for number in range(first, last):
        for i in range(n):
            loop.states[number, i], loop.states[number, n + i] = y[i], y[n + i]
            q[i], v[i] = y[i] + loop.noise[number, i], y[n + i] + loop.noise[number, n + i]
            if not (abs(y[i]) < 1e6 and abs(y[n + i]) < 1e9):
                return DIVERGED, number
        row, t = number % ring, number * loop.period - loop.lead
        command = Command(loop.offsets[row], loop.efforts[row], loop.counts[row : row + 1])
        code = track_period(kernels, law, followed, t, loop.period, loop.horizon, q, v, command)
        if code != DONE:
            return STOPPED_FOR_EXECUTOR, number
        advance_period(kernels, arm, loop, number, y, scratch)
    for i in range(2 * n):
        loop.states[last, i] = y[i]
    return FINISHED, last


@compiled(short=True)
def one_period(kernels, arm, loop, number, y, scratch):
    """Advance one period under existing commands."""
    advance_period(kernels, arm, loop, number, y, scratch)
