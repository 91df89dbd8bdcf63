"""A user's effort function, evaluated lane by lane; specialized for each function."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.core.arrays import part, row
from manip_dyn.core.compiled import compiled
from manip_dyn.simulation.saturated import no_law

# Bound for each robot and law.
N, COUNT = 1, 0
"""Number of joints, and number of parameters of the law."""

law = no_law


@compiled(python=False)
def of_lanes(t, y, p, state, tau):
    """Write the efforts (n, LANES) of a law at times t (LANES,) and states y (2 n, LANES).

    If the law raises an exception, its efforts are NaN, which ends the motion.
    """
    q, v = part(row(state, 0), 0, N), part(row(state, 1), 0, N)
    parameters = part(row(state, 2), 0, COUNT)
    for lane in range(LANES):
        for i in range(N):
            q[i], v[i] = y[i, lane], y[N + i, lane]
        for i in range(COUNT):
            parameters[i] = p[i, lane]
        try:
            wanted = law(t[lane], q, v, parameters)
            for i in range(N):
                tau[i, lane] = wanted[i]
        except Exception:
            for i in range(N):
                tau[i, lane] = np.nan
