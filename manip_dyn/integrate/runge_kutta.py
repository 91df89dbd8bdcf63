"""Explicit Runge-Kutta methods: one step, unrolled from a tableau's non-zero coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.integrate.control import (
    adapt_lines,
    finite_lines,
    first_step_lines,
    judge_lines,
)
from manip_dyn.integrate.dense import hermite_lines
from manip_dyn.integrate.method import Method, Options, Pieces, combination, over
from manip_dyn.integrate.stability import growth_polynomial, stability_interval
from manip_dyn.integrate.tableau import Row, Tableau, tableaus


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

    @property
    def stability_interval(self) -> float:
        """Largest x such that |R(-s)| <= 1 for 0 <= s <= x."""
        return stability_interval(growth_polynomial(self.tableau))

    def pieces(self, options: Options) -> Pieces:
        """Return the text of a step."""
        table, size = self.tableau, options.size
        bump = table.bump if options.dense else None
        compared = table.error_weights if options.adaptive else None
        live = table.needed(table.b, compared, bump)
        if table.fsal and table.stages - 1 not in live:
            live.append(table.stages - 1)  # the next step's first
        names = [f"k{i}" for i in range(table.stages)]
        rows = ["u", *(names[i] for i in live)]
        end, ending = names[-1], []
        if options.dense and not table.fsal:
            end, ending = "k_end", ["rhs(last, u, p, k_end)", "evaluations += 1"]
            rows.append(end)
        if options.adaptive and "k1" not in rows:
            rows.append("k1")  # the first step is found with it
        weights = _floats(bump or ())
        judge, adapt, first = self._control(options, compared, names)
        return Pieces(
            rows=len(rows),
            views=[f"{name} = work[{row}]" for row, name in enumerate(rows)],
            prepare=[*start_lines("k0"), *first],
            attempt=stage_lines(table, size, live),
            judge=judge,
            polynomial=ending + hermite_lines(size, end, weights, names[: len(weights)]),
            closing=over(size, f"k0[i] = {end}[i]")
            if table.fsal or options.dense
            else ["known = 0"],
            adapt=adapt,
            degree=4 if bump else 3,
        )

    def _control(
        self, options: Options, compared: Row | None, names: list[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the lines that judge a step, plan the next one and plan the first one."""
        if compared is None or self.embedded_order is None:
            return finite_lines("u", options.size), [], []
        power = min(self.order, self.embedded_order) + 1
        return (
            judge_lines(options, f"h * ({combination(_floats(compared), names)})", power),
            adapt_lines(options, power, max(self.order, self.embedded_order) + 1),
            first_step_lines(options, power),
        )


def start_lines(name: str) -> list[str]:
    """Return the lines that evaluate the derivative at the start of a step if need be."""
    return [
        "if known == 0:",
        f"    rhs(first, y, p, {name})",
        "    evaluations += 1",
        "    known = 1",
    ]


def stage_lines(table: Tableau, size: int, live: Sequence[int]) -> list[str]:
    """Return the lines that compute `u` from `y` and the first derivative, k0.

    Args:
        table: The coefficients.
        size: Length of the state.
        live: The stages that are wanted.
    """
    names = [f"k{i}" for i in range(table.stages)]
    lines: list[str] = []
    for i in live[1:]:
        row = table.a[i]
        lines += over(size, f"u[i] = y[i] + h * ({combination(_floats(row), names)})")
        lines.append(f"rhs({_time(table.c[i])}, u, p, {names[i]})")
    if not table.fsal:
        lines += over(size, f"u[i] = y[i] + h * ({combination(_floats(table.b), names)})")
    if len(live) > 1:
        lines.append(f"evaluations += {len(live) - 1}")
    return lines


def _time(c: Fraction) -> str:
    if c in (0, 1):
        return "last" if c else "first"
    return f"t + {float(c)!r} * h"


def _floats(row: Sequence[Fraction]) -> list[float]:
    return [float(number) for number in row]
