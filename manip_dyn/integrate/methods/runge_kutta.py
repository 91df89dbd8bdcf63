"""Explicit Runge-Kutta methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integrate.methods.method import Method, Options, Step, open_step
from manip_dyn.integrate.steps import explicit
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
        emitted = {
            "stages": explicit_stages(table, live, rhs, size),
            "estimate": None if compared is None else _of_stages(compared, size),
            "bump": None if bump is None else _of_stages(bump, size),
        }
        power = min(self.order, self.embedded_order or 0) + 1
        numbers = {
            **numbers_of(options, power, max(self.order, self.embedded_order or 0) + 1),
            "stage_count": table.stages,
            "evaluations": len(live) - 1,
            "fsal": int(table.fsal),
            "bumped": int(bump is not None),
        }
        motion, adaptive = {"rhs": rhs}, options.adaptive
        module, fills = open_step(explicit, motion, numbers, emitted, ADAPTIVE=adaptive)
        return Step(module, rows=table.stages + 3, degree=4 if bump else 3, fills=fills)


def numbers_of(options: Options, power: int, paper_power: int) -> dict[str, float]:
    """Return what a step and its control have to know, by the names in `steps.numbers`."""
    return {
        "size": options.size,
        "dense": int(options.dense),
        "rms": int(options.norm == "rms"),
        "paper": int(options.controller == "paper"),
        "power": float(power),
        "paper_power": float(paper_power),
    }


def _of_stages(weights: Row, size: int) -> Any:
    """Return the sum of stages with weights (s,), for compiled code."""
    return weighted_sum([float(each) for each in weights], range(K, K + len(weights)), size)
