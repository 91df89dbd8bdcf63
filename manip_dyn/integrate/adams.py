"""Adams methods of order 4 with fixed steps: Bashforth's, and Moulton's as its corrector.

Both need the derivatives of the last three steps. Until there are any, which is at the start,
after a switch or an event, and over a step that a stop cuts short, the classical Runge-Kutta
method takes the step; its error per step is O(h^5), so that order 4 is kept.

Hairer, Norsett, Wanner, Solving ODEs I, section III.1, eq. 1.5 and 1.9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manip_dyn.integrate.control import finite_lines
from manip_dyn.integrate.dense import hermite_lines
from manip_dyn.integrate.method import Method, Options, Pieces, combination, over
from manip_dyn.integrate.runge_kutta import stage_lines, start_lines
from manip_dyn.integrate.stability import first_growth
from manip_dyn.integrate.tableau import tableaus

BASHFORTH = (55 / 24, -59 / 24, 37 / 24, -9 / 24)
"""Weights of the derivatives at the start of the last four steps, newest first."""
MOULTON = (9 / 24, 19 / 24, -5 / 24, 1 / 24)
"""Weights of the derivative at the end of the step and at the start of the last three."""
_HISTORY = ("k0", "past1", "past2", "past3")


@dataclass(frozen=True)
class Adams(Method):
    """An Adams method of order 4.

    Attributes:
        corrected: Whether Moulton's formula corrects Bashforth's once (PECE: predict, evaluate,
            correct, evaluate).
    """

    corrected: bool

    @property
    def family(self) -> str:
        """Explicit multistep, or predictor and corrector."""
        return "Adams, PECE" if self.corrected else "Adams"

    @property
    def source(self) -> str:
        """Who found the formula."""
        name = "Bashforth, Adams (1883)"
        return f"{name}; Moulton (1926)" if self.corrected else name

    @property
    def order(self) -> int:
        """4."""
        return 4

    @property
    def stages(self) -> int:
        """Evaluations per step."""
        return 2 if self.corrected else 1

    @property
    def dense_order(self) -> int:
        """Order of the error between the steps."""
        return 4

    @property
    def stability_interval(self) -> float:
        """Largest x such that all roots of the characteristic polynomial stay in the circle."""
        return first_growth(self._largest_root)

    def _largest_root(self, s: float) -> float:
        """Return the largest modulus of a root for y' = -s y and a step of 1."""
        new = np.array([1.0, 0.0, 0.0, 0.0])  # y_{n+1} in terms of y_n .. y_{n-3}
        predicted = new - s * np.array(BASHFORTH)
        if self.corrected:
            predicted = new - s * (MOULTON[0] * predicted + np.array([*MOULTON[1:], 0.0]))
        return float(np.abs(np.roots([1.0, *-predicted])).max())

    def pieces(self, options: Options) -> Pieces:
        """Return the text of a step."""
        starter, size = tableaus()["rk4"], options.size
        rows = ["u", *_HISTORY, "k1", "k2", "k3", "k_end"]
        return Pieces(
            rows=len(rows),
            views=[f"{name} = work[{row}]" for row, name in enumerate(rows)],
            prepare=start_lines("k0"),
            attempt=[
                "regular = abs(h - step) <= 1e-9 * abs(step) and not locating",
                "if regular and known == 4:",
                *("    " + line for line in self._formula(size)),
                "else:",
                *("    " + line for line in stage_lines(starter, size, range(4))),
                "rhs(last, u, p, k_end)",
                "evaluations += 1",
            ],
            judge=finite_lines("u", size),
            polynomial=hermite_lines(size, "k_end", (), ()),
            closing=[
                "known = min(known + 1, 4) if regular else 1",
                *over(
                    size,
                    "past3[i] = past2[i]",
                    "past2[i] = past1[i]",
                    "past1[i] = k0[i]",
                    "k0[i] = k_end[i]",
                ),
            ],
            adapt=[],
            degree=3,
        )

    def _formula(self, size: int) -> list[str]:
        lines = over(size, f"u[i] = y[i] + h * ({combination(BASHFORTH, _HISTORY)})")
        if self.corrected:
            names = ("k_end", *_HISTORY[:3])
            lines += ["rhs(last, u, p, k_end)", "evaluations += 1"]
            lines += over(size, f"u[i] = y[i] + h * ({combination(MOULTON, names)})")
        return lines
