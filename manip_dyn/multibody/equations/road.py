"""A half-cylinder on the road under a rolling wheel."""

from __future__ import annotations

from math import sqrt

from manip_dyn.core.compiled import inlined

RADIUS, HEIGHT, SPEED, HIT = 4, 5, 6, 7
"""Where the wheel's radius, the bump's, m, the speed, m/s, and the time of contact, s, stand."""


@inlined
def height(c, t):
    """Return by how much a bump lifts a wheel that rolls over it, its rate and second rate.

    The centre of a rigid wheel of radius R on a half-cylinder of radius r moves on a circle of
    radius R + r, from where both touch while the wheel still stands on the road.

    Args:
        c: Constants of a tyre (8,).
        t: Time, s.
    """
    reach = c[RADIUS] + c[HEIGHT]
    half = sqrt(reach * reach - c[RADIUS] * c[RADIUS])
    x = (t - c[HIT]) * c[SPEED] - half
    if not abs(x) < half:
        return 0.0, 0.0, 0.0
    up = sqrt(reach * reach - x * x)
    slope = -x / up
    bend = -(1.0 + slope * slope) / up
    return up - c[RADIUS], slope * c[SPEED], bend * c[SPEED] * c[SPEED]
