"""Motion with dry friction between two events; compiled for all arms, and for each law.

Every joint either slides in one direction or sticks. Sticking joints do not move, see
`dry_friction`. A joint starts to stick when its velocity crosses zero, and starts to slide when
the friction that holds it exceeds the static friction.

Parameters are those of the efforts and a reference to `Sliding`, which contains the addresses of
the arm's kernels. With constant efforts both are the same reference.
"""

from __future__ import annotations

import math

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.arrays import part
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.numerics import RELATIVE_CHANGE

TICK = 1e-6
"""Time step of finite differences, s."""
ROUNDING = 1e-12
"""Fraction of the static friction by which the friction of a sticking joint may exceed it."""
PASSED = 1e-13
"""Velocity beyond zero at which a zero crossing is detected, rad/s or m/s."""

# Bound for each law that depends on time and state, or if limits end the motion.
VARIES = False
"""Whether the efforts depend on time and state."""
LIMITED = False
"""Whether position limits end the motion."""


@inlined
def given(t, y, p, tau):
    """Write the constant efforts (n,) of `Sliding`."""
    for i in range(tau.shape[0]):
        tau[i] = p.given[i]


@inlined
def no_rest(y, now, tau):
    """Subtract the friction of the sticking joints from the efforts (n,)."""


@inlined
def no_limits(t, y, p, out):
    """Write the distances from the limits (k,)."""


efforts, hold, distances = given, no_rest, no_limits


@inlined
def fall(speed, stribeck):
    """Return the remaining fraction of the excess static friction at a speed (Stribeck)."""
    if stribeck <= 0.0:
        return 0.0
    ratio = speed / stribeck
    return math.exp(-ratio * ratio)


@inlined
def act(t, y, p, tau):
    """Write the friction-free efforts (n,) and the friction of the sticking joints."""
    law, now = p
    n = tau.shape[0]
    efforts(t, y, law, tau)
    sticks = False
    for i in range(n):
        if now.mode[i] == 0.0:
            sticks = True
        else:
            extra = (now.static[i] - now.coulomb[i]) * fall(y[n + i], now.stribeck[i])
            tau[i] -= now.mode[i] * (now.coulomb[i] + extra)
    if sticks:
        hold(y, now, tau)


@inlined
def move(y, now, tau, out):
    """Write the rates (2 n + 1,) of the state for the efforts of `act`."""
    n = tau.shape[0]
    call_kernel(now.motion, (y, tau, out))
    for i in range(n):
        if now.mode[i] == 0.0:
            out[n + i] = 0.0


@inlined
def judge(t, y, p, out):
    """Write the event functions of `signals`; requires the results of `act`."""
    now = p[1]
    n = now.mode.shape[0]
    for i in range(n):
        if now.static[i] == 0.0:
            out[i] = 1.0
        elif now.mode[i] == 0.0:
            out[i] = now.static[i] * (1.0 + ROUNDING) - abs(now.held[i])
        else:
            out[i] = now.mode[i] * y[n + i] + PASSED
    if LIMITED:
        distances(t, y, p, part(out, n, out.shape[0] - n))


@compiled(python=False)
def rates(t, y, p, out):
    """Write the rates (2 n + 1,) of the state."""
    now = p[1]
    act(t, y, p, now.efforts)
    move(y, now, now.efforts, out)


@compiled(python=False)
def signals(t, y, p, out):
    """Write the event functions (n + k,) of joints and limits, which cross zero downwards."""
    act(t, y, p, p[1].efforts)
    judge(t, y, p, out)


@compiled
def look(t, y, p, tau, out, passing):
    """Write the outputs of `act`, `rates` and `signals` together, for calls from Python."""
    act(t, y, p, tau)
    move(y, p[1], tau, out)
    judge(t, y, p, passing)


@compiled(python=False)
def derivatives(t, y, p, out, by_time):
    """Write the derivatives of the rates, see `Jacobian`.

    The derivatives of a law are central differences, as in `feedback`.
    """
    law, now = p
    n = now.mode.shape[0]
    tau, high, low, place = np.empty(n), np.empty(n), np.empty(n), y.copy()
    act(t, y, p, tau)
    call_kernel(now.linear_motion, (y, tau, out))
    for i in range(n + 1):
        by_time[i] = 0.0
    if VARIES:
        for column in range(2 * n):
            change = RELATIVE_CHANGE * max(1.0, abs(y[column]))
            place[column] = y[column] + change
            efforts(t, place, law, high)
            place[column] = y[column] - change
            efforts(t, place, law, low)
            place[column] = y[column]
            for i in range(n):
                slope = (high[i] - low[i]) / (2.0 * change)
                out[i, column] += slope
                out[n, column] += slope * y[n + i]
        efforts(t + TICK, y, law, high)
        efforts(t - TICK, y, law, low)
        for i in range(n):
            by_time[i] = (high[i] - low[i]) / (2.0 * TICK)
            by_time[n] += by_time[i] * y[n + i]
    for i in range(n):
        if now.mode[i] != 0.0 and now.stribeck[i] > 0.0:
            extra = (now.static[i] - now.coulomb[i]) * fall(y[n + i], now.stribeck[i])
            slope = 2.0 * now.mode[i] * extra * y[n + i] / (now.stribeck[i] * now.stribeck[i])
            out[i, n + i] += slope
            out[n, n + i] += slope * y[n + i]
    for i in range(n):
        if now.mode[i] == 0.0:
            by_time[i] = 0.0
            for column in range(2 * n + 1):
                out[i, column] = 0.0
            for j in range(n):
                out[i, 2 * n + 1 + j] = 0.0
                out[j, 2 * n + 1 + i] = 0.0
            out[i, 2 * n + 1 + i] = 1.0
