"""Motion under efforts that depend on the state; specialized for each robot and law.

Parameters are those of the efforts, see `saturated`; the fourth one is scratch for the efforts.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.numerics import RELATIVE_CHANGE
from manip_dyn.simulation.saturated import of_law as efforts

TICK = 1e-6
"""Time step of finite differences, s."""

# Bound for each robot and law.
N = 1
"""Number of joints."""


@inlined
def no_motion(y, tau, out):
    """Write the rates of the state y (2 n + 1,), with the work, under efforts (n,)."""


@inlined
def no_derivatives(t, y, tau, out, by_time):
    """Write the derivatives of the motion under constant efforts, see `Jacobian`."""


motion, linear_motion = no_motion, no_derivatives


@compiled(merge=True)
def rates(t, y, p, out):
    """Write the rates (2 n + 1,) of the state."""
    tau = p[3]
    efforts(t, y, p, tau)
    motion(y, tau, out)


@compiled(merge=True)
def derivatives(t, y, p, out, by_time):
    """Write the derivatives of the rates, see `Jacobian`.

    The derivatives of the motion are exact. The derivatives of the law by time and state are
    central differences; without them a method would lose its order.
    """
    tau, high, low, place = np.empty(N), np.empty(N), np.empty(N), y.copy()
    efforts(t, y, p, tau)
    linear_motion(t, y, tau, out, by_time)
    for column in range(2 * N):
        change = RELATIVE_CHANGE * max(1.0, abs(y[column]))
        place[column] = y[column] + change
        efforts(t, place, p, high)
        place[column] = y[column] - change
        efforts(t, place, p, low)
        place[column] = y[column]
        for i in range(N):
            slope = (high[i] - low[i]) / (2.0 * change)
            out[i, column] += slope
            out[N, column] += slope * y[N + i]
    efforts(t + TICK, y, p, high)
    efforts(t - TICK, y, p, low)
    for i in range(N):
        by_time[i] = (high[i] - low[i]) / (2.0 * TICK)
        by_time[N] += by_time[i] * y[N + i]
