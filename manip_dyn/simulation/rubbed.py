"""Efforts that depend on the state, and Coulomb friction; specialized for each robot and law.

Parameters are those of the efforts.
"""

from __future__ import annotations

import math

import numpy as np

from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.friction import CREEP

# Bound for each robot and law.
FRICTION = np.zeros(1)
"""Coulomb friction (n,), N m or N."""


@inlined
def no_efforts(t, y, p, tau):
    """Write the efforts (n,) at time t, s, in the state y."""


efforts = no_efforts


@compiled(merge=True)
def of_both(t, y, p, tau):
    """Write the efforts less the friction (n,), see `friction`."""
    efforts(t, y, p, tau)
    for i in range(FRICTION.size):
        tau[i] -= FRICTION[i] * math.tanh(y[FRICTION.size + i] / CREEP)
