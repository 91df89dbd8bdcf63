"""The motion with dry friction between two events; specialized for each robot and effort law.

Every joint slides in a direction, or sticks. Sticking joints neither move nor accelerate, see
`sticking`. A sliding joint ends to slide where its velocity passes zero, a sticking one ends to
stick where what holds it passes the static level.

Parameters are those of the efforts, the fourth of them the efforts (n,), and a reference to
`Sliding`.
"""

from __future__ import annotations

import math

import numpy as np

from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.views import part
from manip_dyn.integrate.steps.implicit import RELATIVE_CHANGE

TICK = 1e-6
"""Change of time for differences, s."""
ROUNDING = 1e-12
"""Share of the static level by which what holds a joint may exceed it."""
PASSED = 1e-13
"""How far beyond zero a velocity is found to have passed it, rad/s or m/s."""

# Bound for each robot and law.
N, LIMITS = 1, 0
"""Number of joints, and of limits of position that end the motion."""
VARIES = False
"""Whether the efforts depend on time and state."""


@inlined
def given(t, y, p, tau):
    """Write the efforts (n,), which are those in `p`."""
    for i in range(N):
        tau[i] = p[0][i]


@inlined
def no_motion(y, tau, out):
    """Write the rates of the state y (2 n + 1,), with the work, under efforts (n,)."""


@inlined
def no_derivatives(t, y, tau, out, by_time):
    """Write the derivatives of the motion under constant efforts, see `Jacobian`."""


@inlined
def no_rest(y, now, tau):
    """Take what holds the sticking joints from the efforts (n,)."""


@inlined
def no_limits(t, y, p, out):
    """Write the distances from the limits (k,)."""


efforts, motion, linear_motion = given, no_motion, no_derivatives
hold, distances = no_rest, no_limits


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
    efforts(t, y, law, tau)
    sticks = False
    for i in range(N):
        if now.mode[i] == 0.0:
            sticks = True
        else:
            extra = (now.static[i] - now.coulomb[i]) * fall(y[N + i], now.stribeck[i])
            tau[i] -= now.mode[i] * (now.coulomb[i] + extra)
    if sticks:
        hold(y, now, tau)


@inlined
def move(y, now, tau, out):
    """Write the rates (2 n + 1,) of the state under what `act` wrote."""
    motion(y, tau, out)
    for i in range(N):
        if now.mode[i] == 0.0:
            out[N + i] = 0.0


@inlined
def judge(t, y, p, out):
    """Write what `signals` writes, once `act` has written what holds the sticking joints."""
    now = p[1]
    for i in range(N):
        if now.static[i] == 0.0:
            out[i] = 1.0
        elif now.mode[i] == 0.0:
            out[i] = now.static[i] * (1.0 + ROUNDING) - abs(now.held[i])
        else:
            out[i] = now.mode[i] * y[N + i] + PASSED
    if LIMITS:
        distances(t, y, p, part(out, N, LIMITS))


@compiled(merge=True)
def rates(t, y, p, out):
    """Write the rates (2 n + 1,) of the state."""
    law, now = p
    act(t, y, p, law[3])
    move(y, now, law[3], out)


@compiled(merge=True)
def signals(t, y, p, out):
    """Write what passes zero downwards at an event (n + k,): joints, then limits of position."""
    law, _ = p
    act(t, y, p, law[3])
    judge(t, y, p, out)


@compiled
def look(t, y, p, tau, out, passing):
    """Write what `act`, `rates` and `signals` write: what Python asks for, compiled once."""
    act(t, y, p, tau)
    move(y, p[1], tau, out)
    judge(t, y, p, passing)


@compiled(merge=True)
def derivatives(t, y, p, out, by_time):
    """Write the derivatives of the rates, see `Jacobian`.

    Those of a law are central differences, as in `feedback`.
    """
    law, now = p
    tau, high, low, place = np.empty(N), np.empty(N), np.empty(N), y.copy()
    act(t, y, p, tau)
    linear_motion(t, y, tau, out, by_time)
    if VARIES:
        for column in range(2 * N):
            change = RELATIVE_CHANGE * max(1.0, abs(y[column]))
            place[column] = y[column] + change
            efforts(t, place, law, high)
            place[column] = y[column] - change
            efforts(t, place, law, low)
            place[column] = y[column]
            for i in range(N):
                slope = (high[i] - low[i]) / (2.0 * change)
                out[i, column] += slope
                out[N, column] += slope * y[N + i]
        efforts(t + TICK, y, law, high)
        efforts(t - TICK, y, law, low)
        for i in range(N):
            by_time[i] = (high[i] - low[i]) / (2.0 * TICK)
            by_time[N] += by_time[i] * y[N + i]
    for i in range(N):
        if now.mode[i] != 0.0 and now.stribeck[i] > 0.0:
            extra = (now.static[i] - now.coulomb[i]) * fall(y[N + i], now.stribeck[i])
            slope = 2.0 * now.mode[i] * extra * y[N + i] / (now.stribeck[i] * now.stribeck[i])
            out[i, N + i] += slope
            out[N, N + i] += slope * y[N + i]
    for i in range(N):
        if now.mode[i] == 0.0:
            by_time[i] = 0.0
            for column in range(2 * N + 1):
                out[i, column] = 0.0
            for j in range(N):
                out[i, 2 * N + 1 + j] = 0.0
                out[j, 2 * N + 1 + i] = 0.0
            out[i, 2 * N + 1 + i] = 1.0
