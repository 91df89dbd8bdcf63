"""Distances from joint limits, as event functions; specialized for each robot."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.compiled import compiled

# Bound for each robot.
JOINTS, SIGNS, BOUNDS = np.zeros(1, dtype=np.int64), np.ones(1), np.zeros(1)
"""For each limit (k,): joint, 1 for a lower and -1 for an upper limit, and its position."""


@compiled(merge=True)
def distances(t, y, p, out):
    """Write the distances (k,), rad or m, of the state y from the limits."""
    for k in range(JOINTS.size):
        out[k] = SIGNS[k] * (y[JOINTS[k]] - BOUNDS[k])
