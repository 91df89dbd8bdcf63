"""Compiled efforts of `PDControl`; specialized for each robot and compensation.

Parameters are the effort limits (n,), scratch for positions, velocities, efforts and accelerations
(n,) each, stiffness and damping (2, n), knots (g,) and states (g, 2 n) of the reference, the times
(2,) between which its accelerations are smooth, and feedforward efforts (n,).
"""

from __future__ import annotations

from manip_dyn.core.arrays import part
from manip_dyn.core.compiled import compiled, inlined

# Bound for each robot and compensation.
N = 1
"""Number of joints."""
GRAVITY, COMPUTED = False, False
"""Whether gravity, or the whole dynamics, is compensated."""


@inlined
def no_dynamics(q, v, a, tau):
    """Write the efforts that produce the accelerations a (n,)."""


inverse_dynamics = no_dynamics


@compiled(merge=True)
def of_pd(t, y, p, tau):
    """Write the efforts (n,) at time t, s, and the state y."""
    limits, q, v, _, a, gains, knots, states, span, beside = p
    follow(min(max(t, span[0]), span[1]), knots, states, q, v, a)
    for i in range(N):
        q[i] = gains[0, i] * (q[i] - y[i]) + gains[1, i] * (v[i] - y[N + i])
    if COMPUTED:
        for i in range(N):
            a[i] += q[i]
        inverse_dynamics(part(y, 0, N), part(y, N, N), a, tau)
        for i in range(N):
            tau[i] += beside[i]
    elif GRAVITY:
        for i in range(N):
            v[i] = 0.0
        inverse_dynamics(part(y, 0, N), v, v, tau)
        for i in range(N):
            tau[i] += beside[i] + q[i]
    else:
        for i in range(N):
            tau[i] = beside[i] + q[i]
    for i in range(N):
        tau[i] = min(max(tau[i], -limits[i]), limits[i])


@compiled(merge=True)
def follow(t, knots, states, q, v, a):
    """Write position, velocity and acceleration at t, s: cubic, at rest after the last knot."""
    first, last = 0, knots.shape[0] - 1
    if t >= knots[last]:
        for i in range(N):
            q[i], v[i], a[i] = states[last, i], states[last, N + i], 0.0
        return
    while last - first > 1:
        middle = (first + last) // 2
        if t < knots[middle]:
            last = middle
        else:
            first = middle
    length = knots[last] - knots[first]
    s = max((t - knots[first]) / length, 0.0)
    for i in range(N):
        q0, v0 = states[first, i], states[first, N + i]
        q1, v1 = states[last, i], states[last, N + i]
        rise = (q1 - q0) / length
        bend, twist = 3.0 * rise - 2.0 * v0 - v1, v0 + v1 - 2.0 * rise
        q[i] = q0 + length * s * (v0 + s * (bend + s * twist))
        v[i] = v0 + s * (2.0 * bend + 3.0 * s * twist)
        a[i] = (2.0 * bend + 6.0 * s * twist) / length
