"""The motion with dry friction between two events; specialized for each robot and effort law.

Every joint slides in a direction, or sticks. Sticking joints neither move nor accelerate; what
holds them follows from the dynamics of the others (locked-joint dynamics)::

    M_ss a_s = tau_s - F_s - h_s,    a_r = 0,    f_r = tau_r - M_rs a_s - h_r

with s the sliding and r the sticking joints, the bias h = ID(q, v, 0), and F the friction of those
that slide. A sliding joint ends to slide where its velocity passes zero, a sticking one ends to
stick where |f| passes the static level.

Parameters are those of the efforts, the fourth of them the efforts (n,), and those of `Sliding`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.linear_solve import factorize, solve
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


class Sliding(NamedTuple):
    """What is known of the joints, and scratch.

    Attributes:
        mode: 1 or -1 for joints (n,) that slide, 0 for those that stick; 1 without friction.
        coulomb: See `Friction`.
        static: See `Friction`.
        stribeck: See `Friction`.
        held: What holds the sticking joints (n,), N m or N.
        bias: Scratch (n,).
        still: Zeros (n,).
        mass: Scratch (n, n).
        matrix: Scratch (n, n).
        pivots: Scratch (n,).
    """

    mode: Vector
    coulomb: Vector
    static: Vector
    stribeck: Vector
    held: Vector
    bias: Vector
    still: Vector
    mass: Matrix
    matrix: Matrix
    pivots: Vector


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
def no_mass(q, out):
    """Write the mass matrix (n, n)."""


@inlined
def no_dynamics(q, v, a, out):
    """Write the efforts (n,) that give the accelerations a (n,)."""


@inlined
def no_limits(t, y, p, out):
    """Write the distances from the limits (k,)."""


efforts, motion, linear_motion = given, no_motion, no_derivatives
mass_matrix, inverse_dynamics, distances = no_mass, no_dynamics, no_limits


@inlined
def fall(speed, stribeck):
    """Return how much of what static friction is greater by is left at a speed."""
    if stribeck <= 0.0:
        return 0.0
    ratio = speed / stribeck
    return math.exp(-ratio * ratio)


@compiled(merge=True)
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
def hold(y, now, tau):
    """Take what holds the sticking joints from the efforts (n,)."""
    q, v, a = part(y, 0, N), part(y, N, N), now.still
    for i in range(N):
        a[i] = 0.0
    inverse_dynamics(q, v, a, now.bias)
    mass_matrix(q, now.mass)
    for i in range(N):
        slides = now.mode[i] != 0.0
        a[i] = tau[i] - now.bias[i] if slides else 0.0
        for j in range(N):
            both = slides and now.mode[j] != 0.0
            now.matrix[i, j] = now.mass[i, j] if both else 0.0
        if not slides:
            now.matrix[i, i] = 1.0
    factorize(now.matrix, now.pivots)
    solve(now.matrix, now.pivots, a)
    for i in range(N):
        if now.mode[i] == 0.0:
            needed = now.bias[i]
            for j in range(N):
                needed += now.mass[i, j] * a[j]
            now.held[i] = tau[i] - needed
            tau[i] = needed


@compiled(merge=True)
def rates(t, y, p, out):
    """Write the rates (2 n + 1,) of the state."""
    law, now = p
    tau = law[3]
    act(t, y, p, tau)
    motion(y, tau, out)
    for i in range(N):
        if now.mode[i] == 0.0:
            out[N + i] = 0.0


@compiled(merge=True)
def signals(t, y, p, out):
    """Write what passes zero downwards at an event (n + k,): joints, then limits of position."""
    law, now = p
    act(t, y, p, law[3])
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
