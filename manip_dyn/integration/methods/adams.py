"""Fixed-step Adams methods of order 4: Adams-Bashforth, with or without a Moulton corrector.

Both use the derivatives of previous steps, which must have equal lengths. The classical
Runge-Kutta method is used at the start, after a switch or an event, and for steps shortened by a
stop. Its error per step is O(h^5), which preserves order 4. With `rising`, the first three
full-length steps use Adams formulas of orders 1 to 3 (corrected: 2 to 4) instead, as in
Sariyildiz, Temeltas (2011). The error of the first step then dominates: O(h^2), or O(h^3) with
Moulton's formula.

Hairer, Norsett, Wanner, Solving ODEs I, section III.1, eq. 1.5 and 1.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manip_dyn.integration.methods import multistep
from manip_dyn.integration.methods.linear_combinations import explicit_stages
from manip_dyn.integration.methods.method import Method, Options, Step, step_arguments
from manip_dyn.integration.methods.multistep import BASHFORTH, MOULTON
from manip_dyn.integration.methods.tableaus import first_growth, tableaus


@dataclass(frozen=True)
class Adams(Method):
    """An Adams method of order 4.

    Attributes:
        corrected: Whether Moulton's formula corrects the result of Bashforth's once (PECE:
            predict, evaluate, correct, evaluate).
        rising: Whether lower-order Adams formulas start the method instead of Runge-Kutta steps.
    """

    corrected: bool
    rising: bool = False

    @property
    def family(self) -> str:
        """Name of the family: "Adams", or "Adams, PECE" with a corrector."""
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
        """True, because a step uses derivatives of earlier steps."""
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
        """Largest x such that y' = -s y is stable for 0 <= h s <= x."""
        return first_growth(self._largest_root)

    def _largest_root(self, s: float) -> float:
        """Return the largest modulus of the characteristic roots for y' = -s y and h = 1."""
        new = np.array([1.0, 0.0, 0.0, 0.0])  # y_{n+1} as a combination of y_n .. y_{n-3}
        predicted = new - s * np.array(BASHFORTH)
        if self.corrected:
            predicted = new - s * (MOULTON[0] * predicted + np.array([*MOULTON[1:], 0.0]))
        return float(np.abs(np.roots([1.0, *-predicted])).max())

    def step(self, options: Options, rhs: Any) -> Step:
        """Return the compiled functions of a step."""
        arguments = step_arguments(
            multistep, stages=explicit_stages(tableaus()["rk4"], range(4), rhs)
        ) | {multistep.corrected: int(self.corrected), multistep.rising: int(self.rising)}
        return Step(arguments, rows=multistep.ROWS, degree=3)
