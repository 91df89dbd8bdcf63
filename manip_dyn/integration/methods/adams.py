"""Fixed-step Adams methods of order 4: Adams-Bashforth, and Adams-Moulton as corrector.

Both use the derivatives of the last three steps. These are not available at the start, after a
switch or an event, and in a step shortened by a stop. Such steps use the classical Runge-Kutta
method. Its error per step is O(h^5), which preserves order 4. With `rising`, full-length steps use
the Adams formulas of orders 1, 2 and 3 instead, as in Sariyildiz, Temeltas (2011). The error of
the first step, O(h^2), or O(h^3) with Moulton's formula, then remains.

Hairer, Norsett, Wanner, Solving ODEs I, section III.1, eq. 1.5 and 1.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manip_dyn.core.specialization import specialized
from manip_dyn.integration.methods import multistep
from manip_dyn.integration.methods.linear_combinations import explicit_stages, weighted_sum
from manip_dyn.integration.methods.method import Method, Options, Step
from manip_dyn.integration.methods.tableaus import first_growth, tableaus

BASHFORTH = (55 / 24, -59 / 24, 37 / 24, -9 / 24)
"""Weights of the derivatives at the starts of the last four steps, newest first."""
MOULTON = (9 / 24, 19 / 24, -5 / 24, 1 / 24)
"""Weights of the derivative at the end of the step and at the starts of the last three."""
LOWER_BASHFORTH = ((1.0,), (3 / 2, -1 / 2), (23 / 12, -16 / 12, 5 / 12))
LOWER_MOULTON = ((1 / 2, 1 / 2), (5 / 12, 8 / 12, -1 / 12))
"""Weights for orders 1, 2, 3 (Bashforth) and for orders 2, 3 (Moulton)."""


@dataclass(frozen=True)
class Adams(Method):
    """An Adams method of order 4.

    Attributes:
        corrected: Whether Moulton's formula corrects Bashforth's once (PECE: predict, evaluate,
            correct, evaluate).
        rising: Whether formulas of lower orders start the method instead of Runge-Kutta steps.
    """

    corrected: bool
    rising: bool = False

    @property
    def family(self) -> str:
        """Name of the family: Adams, or Adams predictor and corrector."""
        return "Adams, PECE" if self.corrected else "Adams"

    @property
    def source(self) -> str:
        """Authors of the formulas."""
        name = "Bashforth, Adams (1883)"
        return f"{name}; Moulton (1926)" if self.corrected else name

    @property
    def order(self) -> int:
        """Order of the solution, 4."""
        return 4

    @property
    def multistep(self) -> bool:
        """Whether steps use earlier steps: True."""
        return True

    @property
    def stages(self) -> int:
        """Evaluations of the right-hand side per step."""
        return 2 if self.corrected else 1

    @property
    def dense_order(self) -> int:
        """Order of the dense output."""
        return 4

    @cached_property
    def stability_interval(self) -> float:
        """Largest x with all roots of the characteristic polynomial in the unit circle."""
        return first_growth(self._largest_root)

    def _largest_root(self, s: float) -> float:
        """Return the largest modulus of a characteristic root for y' = -s y and step 1."""
        new = np.array([1.0, 0.0, 0.0, 0.0])  # y_{n+1} as a combination of y_n .. y_{n-3}
        predicted = new - s * np.array(BASHFORTH)
        if self.corrected:
            predicted = new - s * (MOULTON[0] * predicted + np.array([*MOULTON[1:], 0.0]))
        return float(np.abs(np.roots([1.0, *-predicted])).max())

    def step(self, options: Options, rhs: Any, jacobian: Any) -> Step:
        """Return the compiled functions of a step."""
        size, start = options.size, multistep.RATE
        before = [start, *range(multistep.PAST, multistep.PAST + 3)]
        lower = {
            f"bashforth_{k + 1}": weighted_sum(weights, before[: k + 1], size)
            for k, weights in enumerate(LOWER_BASHFORTH)
        } | {
            f"moulton_{k + 2}": weighted_sum(weights, [multistep.END, *before[: k + 1]], size)
            for k, weights in enumerate(LOWER_MOULTON)
        }
        module = specialized(
            multistep,
            rhs=rhs,
            stages=explicit_stages(tableaus()["rk4"], range(4), rhs, size),
            **lower,
            bashforth=weighted_sum(BASHFORTH, before, size),
            moulton=weighted_sum(MOULTON, [multistep.END, *before[:3]], size),
            SIZE=size,
            CORRECTED=self.corrected,
            RISING=self.rising,
        )
        return Step(module, rows=multistep.ROWS, degree=3)
