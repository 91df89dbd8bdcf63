"""Explicit Runge-Kutta methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.specialized import specialized
from manip_dyn.integrate.methods.method import Method, Options, Step
from manip_dyn.integrate.steps import explicit, first_step
from manip_dyn.integrate.steps.stages import K, explicit_stages, weighted_sum
from manip_dyn.integrate.tableaus.stability import growth_polynomial, stability_interval
from manip_dyn.integrate.tableaus.tableau import Row, Tableau, tableaus


@dataclass(frozen=True)
class RungeKutta(Method):
    """An explicit Runge-Kutta method, embedded if its tableau has two rows of weights.

    Attributes:
        tableau: Its coefficients.
    """

    tableau: Tableau

    @classmethod
    def of(cls, key: str) -> RungeKutta:
        """Return the method of any tableau in ``tableaux.json``."""
        if key not in tableaus():
            raise ManipDynError(f"there is no tableau '{key}'{closest(str(key), tableaus())}")
        return cls(key, tableaus()[key])

    @property
    def family(self) -> str:
        """Runge-Kutta or embedded Runge-Kutta."""
        return "Runge-Kutta" if self.embedded_order is None else "embedded Runge-Kutta"

    @property
    def source(self) -> str:
        """What the tableau says."""
        return self.tableau.source

    @property
    def order(self) -> int:
        """Order of the solution that is carried on."""
        return self.tableau.order

    @property
    def embedded_order(self) -> int | None:
        """Order of the solution that it is compared with."""
        return self.tableau.embedded_order

    @property
    def stages(self) -> int:
        """Stages of the tableau."""
        return self.tableau.stages

    @property
    def fsal(self) -> bool:
        """Whether the last stage is the first one of the next step."""
        return self.tableau.fsal

    @property
    def dense_order(self) -> int:
        """Order of the error between the steps."""
        return min(self.order, 4 if self.tableau.bump is None else 5)

    @cached_property
    def stability_interval(self) -> float:
        """Largest x such that |R(-s)| <= 1 for 0 <= s <= x."""
        return stability_interval(growth_polynomial(self.tableau))

    def step(self, options: Options, rhs: Any, jacobian: Any) -> Step:
        """Return the compiled functions of a step."""
        table, size = self.tableau, options.size
        bump = table.bump if options.dense else None
        compared = table.error_weights if options.adaptive else None
        live = table.needed(table.b, compared, bump)
        if table.fsal and table.stages - 1 not in live:
            live.append(table.stages - 1)  # the next step's first
        sums = {
            "estimate": None if compared is None else _of_stages(compared, size),
            "bump": None if bump is None else _of_stages(bump, size),
        }
        power = min(self.order, self.embedded_order or 0) + 1
        module = specialized(
            explicit,
            rhs=rhs,
            plan_first=specialized(first_step, rhs=rhs).plan_first,
            stages=explicit_stages(table, live, rhs, size),
            **sums,
            **control_of(options, power, max(self.order, self.embedded_order or 0) + 1),
            SIZE=size,
            STAGES=table.stages,
            EVALUATIONS=len(live) - 1,
            FSAL=table.fsal,
            DENSE=options.dense,
            BUMP=bump is not None,
        )
        return Step(module, rows=table.stages + 3, degree=4 if bump else 3)


def control_of(options: Options, power: int, paper_power: int) -> dict[str, Any]:
    """Return what the step size control of an engine is bound to."""
    return {
        "ADAPTIVE": options.adaptive,
        "RMS": options.norm == "rms",
        "PAPER": options.controller == "paper",
        "POWER": float(power),
        "PAPER_POWER": float(paper_power),
    }


def _of_stages(weights: Row, size: int) -> Any:
    """Return the sum of stages with weights (s,), for compiled code."""
    return weighted_sum([float(each) for each in weights], range(K, K + len(weights)), size)
