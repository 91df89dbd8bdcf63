"""State-dependent efforts, saturated at the limits; specialized for each robot and law.

Parameters are the effort limits (n,), three scratch arrays (n,), and numbers (k,) of the law.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.arrays import part
from manip_dyn.core.compiled import compiled, inlined

# Bound for each robot and law.
N = 1
"""Number of joints."""


@inlined
def no_law(t, q, v, p):
    """Return the efforts (n,) of a law at time t, s, for positions and velocities (n,)."""
    return np.zeros(N)


@inlined
def no_function(t, q, v):
    """Return the efforts (n,) of a law without parameters."""
    return np.zeros(N)


@inlined
def no_dynamics(q, v, a, tau):
    """Write the efforts (n,) that produce the accelerations a (n,)."""


function, law, inverse_dynamics = no_function, no_law, no_dynamics


@inlined
def without_parameters(t, q, v, p):
    """Call a law that has no parameters."""
    return function(t, q, v)


@compiled(merge=True)
def of_law(t, y, p, tau):
    """Write the saturated efforts (n,) of a law."""
    limits, q, v, _, own = p
    for i in range(N):
        q[i], v[i] = y[i], y[N + i]
    wanted = law(t, q, v, own)
    for i in range(N):
        tau[i] = min(max(wanted[i], -limits[i]), limits[i])


@compiled(merge=True)
def of_weight(t, y, p, tau):
    """Write the efforts (n,) that compensate gravity."""
    limits, still, _, _, _ = p
    for i in range(N):
        still[i] = 0.0
    inverse_dynamics(part(y, 0, N), still, still, tau)
    for i in range(N):
        tau[i] = min(max(tau[i], -limits[i]), limits[i])
