"""Efforts that depend on the state, and the motion under these efforts.

The functions are templates that are instantiated for each robot and law. The parameters p of the
efforts are the effort limits (n,), scratch for positions, velocities and efforts (n,) each, and
the values of the law.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from manip_dyn.core.arrays import part
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.linking import function_parameter, number_parameter
from manip_dyn.core.solvers import RELATIVE_CHANGE

TICK = 1e-6
"""Time step of finite differences, s."""
NONE, GRAVITY, COMPUTED = range(3)
"""Compensations of a `PDControl`: none, gravity, or the whole dynamics."""


@number_parameter()
def joints():
    """Return the number of joints."""
    return 1


@number_parameter()
def compensation():
    """Return the compensation of the `PDControl`."""
    return NONE


@function_parameter()
def law(t, q, v, p, tau):
    """Write the efforts (n,) of a law at time t, s, for positions and velocities (n,)."""


@function_parameter()
def inverse_dynamics(q, v, a, tau):
    """Write the efforts (n,) that produce the accelerations a (n,)."""


@function_parameter()
def efforts(t, y, p, tau):
    """Write the efforts (n,) of a law at time t, s, and the state y (2 n + 1,)."""


@function_parameter()
def linear_motion(t, y, tau, out, by_time):
    """Write the derivatives of the motion under constant efforts, see `Jacobian`."""


@compiled(merge=True)
def of_law(t, y, p, tau):
    """Write the saturated efforts (n,) of a law."""
    n = joints()
    limits, q, v, _, own = p
    for i in range(n):
        q[i], v[i] = y[i], y[n + i]
    law(t, q, v, own, tau)
    for i in range(n):
        tau[i] = min(max(tau[i], -limits[i]), limits[i])


@compiled(merge=True)
def of_weight(t, y, p, tau):
    """Write the saturated efforts (n,) that compensate gravity."""
    n = joints()
    limits, still = p[0], p[1]
    for i in range(n):
        still[i] = 0.0
    inverse_dynamics(part(y, 0, n), still, still, tau)
    for i in range(n):
        tau[i] = min(max(tau[i], -limits[i]), limits[i])


@compiled(merge=True)
def of_pd(t, y, p, tau):
    """Write the saturated efforts (n,) of a `PDControl` at time t, s, and the state y (2 n + 1,).

    The values of the law are scratch for accelerations (n,), stiffness and damping (2, n), knots
    (g,) and states (g, 2 n) of the reference, the times (2,) between which its accelerations are
    smooth, and feedforward efforts (n,).
    """
    n = joints()
    limits, q, v, _, a, gains, knots, states, span, beside = p
    follow(min(max(t, span[0]), span[1]), knots, states, q, v, a)
    for i in range(n):
        q[i] = gains[0, i] * (q[i] - y[i]) + gains[1, i] * (v[i] - y[n + i])
    if compensation() == COMPUTED:
        for i in range(n):
            a[i] += q[i]
        inverse_dynamics(part(y, 0, n), part(y, n, n), a, tau)
        for i in range(n):
            tau[i] += beside[i]
    elif compensation() == GRAVITY:
        for i in range(n):
            v[i] = 0.0
        inverse_dynamics(part(y, 0, n), v, v, tau)
        for i in range(n):
            tau[i] += beside[i] + q[i]
    else:
        for i in range(n):
            tau[i] = beside[i] + q[i]
    for i in range(n):
        tau[i] = min(max(tau[i], -limits[i]), limits[i])


@inlined
def follow(t, knots, states, q, v, a):
    """Write the reference position, velocity and acceleration (n,) at time `t` (s).

    The reference interpolates the states by cubic Hermite polynomials and rests after the last
    knot.
    """
    n = joints()
    first, last = 0, knots.shape[0] - 1
    if t >= knots[last]:
        for i in range(n):
            q[i], v[i], a[i] = states[last, i], states[last, n + i], 0.0
        return
    while last - first > 1:
        middle = (first + last) // 2
        if t < knots[middle]:
            last = middle
        else:
            first = middle
    length = knots[last] - knots[first]
    s = max((t - knots[first]) / length, 0.0)
    for i in range(n):
        q0, v0 = states[first, i], states[first, n + i]
        q1, v1 = states[last, i], states[last, n + i]
        rise = (q1 - q0) / length
        bend, twist = 3.0 * rise - 2.0 * v0 - v1, v0 + v1 - 2.0 * rise
        q[i] = q0 + length * s * (v0 + s * (bend + s * twist))
        v[i] = v0 + s * (2.0 * bend + 3.0 * s * twist)
        a[i] = (2.0 * bend + 6.0 * s * twist) / length


@lru_cache(maxsize=64)
def rates_of(efforts: Any, motion: Any) -> Any:
    """Return a function that writes the rates (2 n + 1,) of the state under compiled efforts.

    Args:
        efforts: ``efforts(t, y, p, tau)``.
        motion: The kernel `motion_and_work`.
    """

    @compiled(merge=True)
    def rates(t, y, p, out):
        tau = p[3]
        efforts(t, y, p, tau)
        motion(y, tau, out)

    return rates


@inlined
def add_law_derivatives(t, y, p, n, out, by_time):
    """Add the derivatives of a law of n joints to those of the motion under constant efforts.

    The derivatives of the law with respect to time and state are central differences. Without
    them, a method would lose its order.
    """
    high, low, place = np.empty(n), np.empty(n), y.copy()
    for column in range(2 * n):
        change = RELATIVE_CHANGE * max(1.0, abs(y[column]))
        place[column] = y[column] + change
        efforts(t, place, p, high)
        place[column] = y[column] - change
        efforts(t, place, p, low)
        place[column] = y[column]
        for i in range(n):
            slope = (high[i] - low[i]) / (2.0 * change)
            out[i, column] += slope
            out[n, column] += slope * y[n + i]
    efforts(t + TICK, y, p, high)
    efforts(t - TICK, y, p, low)
    for i in range(n):
        by_time[i] = (high[i] - low[i]) / (2.0 * TICK)
        by_time[n] += by_time[i] * y[n + i]


@compiled(merge=True)
def derivatives(t, y, p, out, by_time):
    """Write the derivatives of the rates (see `Jacobian`); those of the law are approximate."""
    n = joints()
    tau = np.empty(n)
    efforts(t, y, p, tau)
    linear_motion(t, y, tau, out, by_time)
    add_law_derivatives(t, y, p, n, out, by_time)
