"""What stands where compiled efforts call the user's law; specialized for each law."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.compiled import inlined

# Bound for each law.
N = 1
"""Number of joints."""


@inlined
def no_law(t, q, v, p):
    """Return the efforts (n,) that are wanted at time t, s, positions and velocities (n,)."""
    return np.zeros(N)


@inlined
def without_parameters(t, q, v, p):
    """Call a law that has no parameters."""
    return function(t, q, v)


@inlined
def no_function(t, q, v):
    """Return the efforts (n,)."""
    return np.zeros(N)


function = no_function
