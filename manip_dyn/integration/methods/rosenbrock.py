"""Rosenbrock methods: linearly implicit steps for stiff systems, and their Nystrom form.

With J1 = df/dy and J2 = df/dy' at the start of a step on y'' = f(t, y, y'), stage i solves

    (I / gamma - h J2 - h^2 gamma J1) z_i = h f(t + alpha_i h, Y_i, Y'_i) + sum_j c_ij z_j
            + h^2 gamma_i df/dt + h^2 J1 (gamma_i y' + sum_j delta_ij z_j),
    Y_i = y + h (alpha_i y' + sum_j theta_ij z_j),   Y'_i = y' + sum_j a_ij z_j,

where all sums are over j < i. The step adds h y' + h sum mu_i z_i to y and sum m_i z_i to y'. This
is theorem 2.1 of Sandu et al. (2001), divided by gamma. All stages and the error estimate use the
same factorization.

If there is a mass matrix, all equations are multiplied by its value M at the start of the step, as
in eq. 43 to 45, so that the right-hand sides contain M f. Eq. 45 prints the force at Y_i instead.
With this force, the method would have order 1 if the mass matrix depends on y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from manip_dyn.integration.methods import implicit_step
from manip_dyn.integration.methods.method import Method, Options, Step, step_arguments
from manip_dyn.integration.methods.rosenbrock_tableaus import RosenbrockTableau


@dataclass(frozen=True)
class Rosenbrock(Method):
    """A Rosenbrock method. Unless `w` is set, its order requires the exact Jacobian.

    Attributes:
        tableau: Coefficients.
        w: Whether the order holds for any approximation of the Jacobian (W-method).
    """

    tableau: RosenbrockTableau
    w: bool = False

    @property
    def family(self) -> str:
        """Name of the family: Rosenbrock-Nystrom, or W-method."""
        return "W-method" if self.w else "Rosenbrock-Nystrom"

    @property
    def source(self) -> str:
        """Source of the tableau."""
        return self.tableau.source

    @property
    def order(self) -> int:
        """Order of the solution."""
        return self.tableau.order

    @property
    def embedded_order(self) -> int:
        """Order of the embedded solution."""
        return self.tableau.embedded_order

    @property
    def implicit(self) -> bool:
        """True, because the method uses derivatives of the right-hand side."""
        return True

    @property
    def stages(self) -> int:
        """Evaluations of the right-hand side per step, excluding those for the Jacobian."""
        return sum(not self.tableau.repeats(i) for i in range(self.tableau.stages))

    @property
    def dense_order(self) -> int:
        """Order of the dense output."""
        return min(self.order, 4)

    @property
    def stability_interval(self) -> float:
        """Infinity, because the registered methods are A-stable."""
        return math.inf

    def step(self, options: Options, rhs: Any) -> Step:
        """Return the compiled functions of a step."""
        table, size, n = self.tableau, options.size, options.positions
        power = float(self.embedded_order + 1)
        coefficients = _coefficients(table)
        arguments = step_arguments(implicit_step, power=power, paper_power=power, **coefficients)
        scratch = (size - n + (n or size), size + (n if options.mass else 0))
        return Step(arguments, implicit_step.Z + table.stages, degree=3, scratch=scratch)


def _coefficients(table: RosenbrockTableau) -> dict[str, Any]:
    """Return the coefficients by their names in `template_parameters`."""
    difference = tuple(x - y for x, y in zip(table.b, table.b_hat, strict=True))
    moves = [
        weights
        for b in (table.b, difference)
        for weights in (table.position_weights(b), table.weights(b))
    ]
    repeats = [table.repeats(i) for i in range(table.stages)]
    of_stage = [table.alpha_sums, table.gamma_sums, repeats]
    tables = {
        "of_stage": of_stage,
        "a": table.a,
        "c": table.c,
        "theta": table.theta,
        "delta": table.delta,
        "moves": moves,
    }
    arrays = {name: np.array(rows, dtype=np.float64) for name, rows in tables.items()}
    return {"stage_count": table.stages, "gamma": float(table.diagonal), **arrays}
