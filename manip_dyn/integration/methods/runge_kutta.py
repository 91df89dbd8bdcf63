"""Explicit Runge-Kutta methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integration.methods import explicit_step
from manip_dyn.integration.methods.linear_combinations import K, explicit_stages, weighted_sum
from manip_dyn.integration.methods.method import Method, Options, Step, step_arguments
from manip_dyn.integration.methods.tableaus import (
    Row,
    Tableau,
    growth_polynomial,
    stability_interval,
    tableaus,
)

RightHandSide = Callable[[float, Vector], Vector]


def rk4_step(rhs: RightHandSide, t: float, y: Vector, step: float) -> Vector:
    """Return y(t + step) for y' = rhs(t, y) by the classical method of order 4.

    Args:
        rhs: Function of t and y (m,) that returns the derivative (m,).
        t: Time, s.
        y: State (m,); not changed.
        step: Length of the step, s.

    Kutta (1901); Hairer, Norsett, Wanner, Solving ODEs I, table II.1.2.
    """
    k1 = rhs(t, y)
    k2 = rhs(t + 0.5 * step, y + (0.5 * step) * k1)
    k3 = rhs(t + 0.5 * step, y + (0.5 * step) * k2)
    k4 = rhs(t + step, y + step * k3)
    return y + (step / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)


@dataclass(frozen=True)
class RungeKutta(Method):
    """An explicit Runge-Kutta method, embedded if its tableau has two rows of weights.

    Attributes:
        tableau: Coefficients.
    """

    tableau: Tableau

    @classmethod
    def of(cls, key: str) -> RungeKutta:
        """Return the method with the tableau `key` of ``tableaus.json``."""
        if key not in tableaus():
            hint = closest(str(key), tableaus())
            raise ManipDynError(f"key must be one of md.tableaus(), got {key!r}{hint}")
        return cls(key, tableaus()[key])

    @property
    def family(self) -> str:
        """Name of the family: Runge-Kutta or embedded Runge-Kutta."""
        return "Runge-Kutta" if self.embedded_order is None else "embedded Runge-Kutta"

    @property
    def source(self) -> str:
        """Source of the tableau."""
        return self.tableau.source

    @property
    def order(self) -> int:
        """Order of the solution."""
        return self.tableau.order

    @property
    def embedded_order(self) -> int | None:
        """Order of the embedded solution, or None."""
        return self.tableau.embedded_order

    @property
    def stages(self) -> int:
        """Number of stages of the tableau."""
        return self.tableau.stages

    @property
    def fsal(self) -> bool:
        """Whether the last stage is the first stage of the next step."""
        return self.tableau.fsal

    @property
    def dense_order(self) -> int:
        """Order of the dense output."""
        return min(self.order, 4 if self.tableau.bump is None else 5)

    @cached_property
    def stability_interval(self) -> float:
        """Largest x such that |R(-s)| <= 1 for 0 <= s <= x."""
        return stability_interval(growth_polynomial(self.tableau))

    def step(self, options: Options, rhs: Any) -> Step:
        """Return the compiled functions of a step."""
        table = self.tableau
        bump = table.bump if options.dense else None
        error = table.error_weights if options.adaptive else None
        live = table.needed(table.b, error, bump)
        if table.fsal and table.stages - 1 not in live:
            live.append(table.stages - 1)  # the first stage of the next step
        arguments = step_arguments(
            explicit_step,
            stages=explicit_stages(table, live, rhs),
            estimate=None if error is None else _of_stages(error),
            bump=None if bump is None else _of_stages(bump),
            power=float(min(self.order, self.embedded_order or 0) + 1),
            paper_power=float(max(self.order, self.embedded_order or 0) + 1),
            stage_count=table.stages,
            evaluations=len(live) - 1,
            fsal=int(table.fsal),
            bumped=int(bump is not None),
            **(explicit_step.ADAPTIVE if options.adaptive else {}),
        )
        return Step(arguments, rows=table.stages + 3, degree=4 if bump else 3)


def _of_stages(weights: Row) -> Any:
    """Return a compiled sum of stages with the weights (s,)."""
    return weighted_sum([float(weight) for weight in weights], range(K, K + len(weights)))
