"""T_ij of Galhano, Machado (1994), figure 2: Taylor polynomials of two orders.

The position's is of order i, the velocity's of order j.
T_p,p-1 is the standard series: the derivative of the position's polynomial is the velocity's.
T_pp is the paper's heuristic: one more term of the velocity, so one more coefficient to compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manip_dyn.codegen import Kernels
from manip_dyn.core.compiled import compiled
from manip_dyn.integration import Series


def heuristic_series(kernels: Kernels) -> Series:
    """Return T_pp: the series of y = (q, v), both to order p."""
    return Series(kernels.series.of_state, kernels.series.width)


def standard_series(kernels: Kernels) -> Series:
    """Return T_p,p-1: q to order p, v to order p - 1, without computing the term left out."""
    of_state: Callable[..., Any] = kernels.series.of_state
    n = kernels.robot.n

    @compiled(merge=True)
    def of_position(t, y, p, order, work, out):
        of_state(t, y, p, order - 1, work, out)
        for i in range(n):
            out[order, i] = out[order - 1, n + i] / order
            out[order, n + i] = 0.0

    return Series(of_position, kernels.series.width)
