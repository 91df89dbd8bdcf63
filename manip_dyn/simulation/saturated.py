"""Efforts that depend on the state, within their limits; specialized for each robot and law.

Parameters are the effort limits (n,), three scratch arrays (n,), and numbers (k,) of the law.
"""

from __future__ import annotations

from manip_dyn.core.arrays.views import part
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.simulation.laws.law_stand_ins import no_law

# Bound for each robot and law.
N = 1
"""Number of joints."""


@inlined
def no_dynamics(q, v, a, tau):
    """Write the efforts (n,) that give the accelerations a (n,)."""


law, inverse_dynamics = no_law, no_dynamics


@compiled(merge=True)
def of_law(t, y, p, tau):
    """Write the law's efforts (n,)."""
    limits, q, v, _, own = p
    for i in range(N):
        q[i], v[i] = y[i], y[N + i]
    wanted = law(t, q, v, own)
    for i in range(N):
        tau[i] = min(max(wanted[i], -limits[i]), limits[i])


@compiled(merge=True)
def of_weight(t, y, p, tau):
    """Write what holds the arm's weight (n,)."""
    limits, still, _, _, _ = p
    for i in range(N):
        still[i] = 0.0
    inverse_dynamics(part(y, 0, N), still, still, tau)
    for i in range(N):
        tau[i] = min(max(tau[i], -limits[i]), limits[i])
