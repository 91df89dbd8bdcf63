"""The speed from which a joint can just be stopped at its goal, by where it is; compiled."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.compiled import compiled


@compiled(short=True, python=False)
def speed(curve, h, sign, q):
    """Return the curve's speed at q; 0 beyond the goal, infinite before its beginning.

    Args:
        curve: Position, velocity, acceleration by time to rest, (k + 1, 3).
        h: Spacing of that time, s.
        sign: Of the joint's way.
        q: Where the joint is, rad or m.
    """
    low, high = 0, curve.shape[0] - 1
    if sign * (curve[0, 0] - q) <= 0.0:
        return 0.0
    if sign * (q - curve[high, 0]) < 0.0:
        return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        if sign * (curve[middle, 0] - q) > 0.0:
            low = middle
        else:
            high = middle
    begin, end = curve[low], curve[high]
    left, right, s = 0.0, 1.0, 0.5
    for _ in range(60):  # Newton's method on the cubic, inside of what holds the root
        rise, here, there = end[0] - begin[0], -h * begin[1], -h * end[1]
        bent, turned = 3.0 * rise - 2.0 * here - there, here + there - 2.0 * rise
        off = begin[0] + s * (here + s * (bent + s * turned)) - q
        if sign * off > 0.0:
            left = s
        else:
            right = s
        slope = here + s * (2.0 * bent + 3.0 * s * turned)
        new = s - off / slope if slope != 0.0 else left - 1.0
        if not left <= new <= right:
            new = 0.5 * (left + right)
        done, s = abs(new - s) < 1e-15, new
        if done:
            break
    rise, here, there = end[1] - begin[1], -h * begin[2], -h * end[2]
    bent, turned = 3.0 * rise - 2.0 * here - there, here + there - 2.0 * rise
    return sign * (begin[1] + s * (here + s * (bent + s * turned)))
