"""The motion under constant efforts and Coulomb friction; specialized for each robot.

Friction F opposes the velocity by F tanh(v / v0): smooth, and 96 % of F from 2 v0 on. It does not
hold an arm for good: below F an effort lets a joint creep. Parameters are the commanded efforts
(n,), F (n,) and scratch (n,).
"""

from __future__ import annotations

import math

from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.friction import CREEP

# Bound for each robot.
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
    commanded, friction, tau = p
    for i in range(N):
        tau[i] = commanded[i] - friction[i] * math.tanh(y[N + i] / CREEP)
    motion(y, tau, out)


@compiled(merge=True)
def derivatives(t, y, p, out, by_time):
    """Write the derivatives of the rates, see `Jacobian`."""
    commanded, friction, tau = p
    for i in range(N):
        tau[i] = commanded[i] - friction[i] * math.tanh(y[N + i] / CREEP)
    linear_motion(t, y, tau, out, by_time)
    for i in range(N):
        share = math.tanh(y[N + i] / CREEP)
        slope = -friction[i] * (1.0 - share * share) / CREEP
        out[i, N + i] += slope
        out[N, N + i] += slope * y[N + i]
