"""Derivatives of a robot's motion for implicit integrators, under each kind of effort law.

The motion's own are exact, from the expression graph. Those of a feedback law, any function of
time and state, are central differences; without them a method would lose
its order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba
import numpy as np

from manip_dyn.codegen import Kernels
from manip_dyn.integrate import Jacobian
from manip_dyn.integrate.implicit import RELATIVE_CHANGE

TICK = 1e-6
"""Change of time for differences, s."""


def constant_jacobian(kernels: Kernels) -> Jacobian:
    """Return the derivatives under constant efforts, with the work."""
    return Jacobian(kernels.linearization_with_work, kernels.robot.n, mass=True)


@lru_cache(maxsize=16)
def law_jacobian(kernels: Kernels, efforts: Any) -> Jacobian:
    """Return the derivatives under efforts that depend on time and state, with the work.

    Args:
        kernels: The robot's.
        efforts: Jitted ``efforts(t, y, p, tau)`` that writes the saturated efforts (n,).
    """
    constant, n = kernels.linearization_with_work, kernels.robot.n

    @numba.njit(error_model="numpy")
    def changed(t, y, p, out, by_time):
        tau, high, low, place = np.empty(n), np.empty(n), np.empty(n), y.copy()
        efforts(t, y, p, tau)
        constant(t, y, tau, out, by_time)
        for column in range(2 * n):
            change = RELATIVE_CHANGE * max(1.0, abs(y[column]))
            place[column] = y[column] + change
            efforts(t, place, p, high)
            place[column] = y[column] - change
            efforts(t, place, p, low)
            place[column] = y[column]
            for i in range(n):
                slope = (high[i] - low[i]) / (2.0 * change)
                out[i, column] += slope
                out[n, column] += slope * y[n + i]
        efforts(t + TICK, y, p, high)
        efforts(t - TICK, y, p, low)
        for i in range(n):
            by_time[i] = (high[i] - low[i]) / (2.0 * TICK)
            by_time[n] += by_time[i] * y[n + i]

    return Jacobian(changed, n, mass=True)
