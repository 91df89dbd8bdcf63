"""How the columns of the Jacobian change with the joints, from the columns alone."""

from __future__ import annotations

from manip_dyn.core.compiled import inlined


@inlined
def curvature(actual, u, n, i, k):
    """Return u . dJ_i/dq_k, from the columns of J alone, which `actual` has from 12 on by rows.

    A column's linear part changes by the angular part of the one of both joints that is nearer
    to the base, crossed with the linear part of the other; its angular part only with joints
    before it. (Hourtash 2005 gives the kinematic Hessian; holds for prismatic joints too.)
    """
    low, high = (i, k) if i < k else (k, i)
    total = _triple(actual, u, 0, n, low, high, 0)
    if k < i:
        total += _triple(actual, u, 3, n, k, i, 3)
    return total


@inlined
def _triple(actual, u, first, n, low, high, part):
    """Return u[first:first + 3] . (angular part of J_low x part of J_high)."""
    a = 12 + 3 * n + low
    b = 12 + part * n + high
    ax, ay, az = actual[a], actual[a + n], actual[a + 2 * n]
    x, y, z = actual[b], actual[b + n], actual[b + 2 * n]
    return (
        u[first] * (ay * z - az * y)
        + u[first + 1] * (az * x - ax * z)
        + u[first + 2] * (ax * y - ay * x)
    )
