"""The motion with dry friction between two events; compiled for all arms, and for each law.

Every joint slides in a direction, or sticks. Sticking joints neither move nor accelerate, see
`sticking`. A sliding joint ends to slide where its velocity passes zero, a sticking one ends to
stick where what holds it passes the static level.

Parameters are those of the efforts and a reference to `Sliding`, which has the addresses of the
arm's kernels. It stands for both where efforts are given.
"""

from __future__ import annotations

import math

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.arrays import part
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.integration.methods.implicit_step import RELATIVE_CHANGE

TICK = 1e-6
"""Change of time for differences, s."""
ROUNDING = 1e-12
"""Share of the static level by which what holds a joint may exceed it."""
PASSED = 1e-13
"""How far beyond zero a velocity is found to have passed it, rad/s or m/s."""

# Bound once, for each law that depends on time and state, and where limits end the motion.
VARIES = False
"""Whether the efforts depend on time and state."""
LIMITED = False
"""Whether limits of position end the motion."""


@inlined
def given(t, y, p, tau):
    """Write the efforts (n,), which are those in `Sliding`."""
    for i in range(tau.shape[0]):
        tau[i] = p.given[i]


@inlined
def no_rest(y, now, tau):
    """Take what holds the sticking joints from the efforts (n,)."""


@inlined
def no_limits(t, y, p, out):
    """Write the distances from the limits (k,)."""


efforts, hold, distances = given, no_rest, no_limits


@inlined
def fall(speed, stribeck):
    """Return how much of what static friction is greater by is left at a speed."""
    if stribeck <= 0.0:
        return 0.0
    ratio = speed / stribeck
    return math.exp(-ratio * ratio)


@inlined
def act(t, y, p, tau):
    """Write the efforts less what friction takes (n,), and what holds the sticking joints."""
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
    """Write the rates (2 n + 1,) of the state under what `act` wrote."""
    n = tau.shape[0]
    call_kernel(now.motion, (y, tau, out))
    for i in range(n):
        if now.mode[i] == 0.0:
            out[n + i] = 0.0


@inlined
def judge(t, y, p, out):
    """Write what `signals` writes, once `act` has written what holds the sticking joints."""
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
    """Write what passes zero downwards at an event (n + k,): joints, then limits of position."""
    act(t, y, p, p[1].efforts)
    judge(t, y, p, out)


@compiled
def look(t, y, p, tau, out, passing):
    """Write what `act`, `rates` and `signals` write: what Python asks for, compiled once."""
    act(t, y, p, tau)
    move(y, p[1], tau, out)
    judge(t, y, p, passing)


@compiled(python=False)
def derivatives(t, y, p, out, by_time):
    """Write the derivatives of the rates, see `Jacobian`.

    Those of a law are central differences, as in `feedback`.
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
