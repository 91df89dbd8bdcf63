"""Findings of the study of Galhano, Machado (1994): tables, charts and their presentation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.studies.galhano1994.curves import Curve, Figure, Point
from manip_dyn.studies.galhano1994.verdicts import CustomRow
from manip_dyn.studies.report.charts import Chart, Line, Panel, figure_name
from manip_dyn.studies.report.claims import Claim, claims_content, claims_table, claims_text
from manip_dyn.studies.report.findings import Findings
from manip_dyn.studies.report.tables import Table, cell, columns, number, table_of

PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
LEVELS = (1e-3, 1e-6, 1e-9, 1e-12)
"""Errors for which costs are printed, rad or J."""
NEAR_ORDER = 0.25
DRAWN = (2e-15, 10.0)
"""Range of errors in charts."""
CLAIM_COLUMNS = {
    "key": "key",
    "robot": "about",
    "measure": "measure",
    "number": "number",
    "comparisons": "cases",
    "share": "fraction",
    "status": "status",
    "verdict": "verdict",
    "exceptions": "exceptions",
}


class StageRow(NamedTuple):
    """A row of Table 1: published and computed number of stages of a method."""

    method: str
    published: int
    computed: int
    difference: int
    status: str


class SafetyRow(NamedTuple):
    """Evaluations for an error of 1e-6 rad, and fraction of rejected steps, for a value of sigma.

    sigma is the safety factor of the step control, eq. 14.
    """

    robot: str
    method: str
    sigma: float
    evaluations: float
    failed_fraction: float


class ReferenceRun(NamedTuple):
    """A reference solution with its difference (rad) from an independent run."""

    robot: str
    steps: int
    cross_check: float


@dataclass(frozen=True)
class Galhano1994(Findings):
    """Findings of the study. Items that were not recomputed are empty.

    Attributes:
        setting: Commit, processor and versions of the run.
        table1: Rows of Table 1.
        references: Checks of the reference solutions, one per robot.
        figures: Figures for each robot.
        customizing: Costs of plain and customized steps for each robot and method.
        safeties: Costs for each robot, method and value of sigma.
        claims: Claims of the paper with verdicts, for each robot.
    """

    paper = "galhano1994"
    published = PUBLISHED
    inputs = tuple(f"urdf/{name}" for name in ("rr.urdf", "rr.yaml", "pa10.urdf", "pa10.yaml"))

    table1: tuple[StageRow, ...] = ()
    references: tuple[ReferenceRun, ...] = ()
    figures: tuple[Figure, ...] = ()
    customizing: tuple[CustomRow, ...] = ()
    safeties: tuple[SafetyRow, ...] = ()
    claims: tuple[Claim, ...] = ()

    def paragraphs(self) -> Iterable[str]:
        """Yield the tables, the figures and the claims as paragraphs of text."""
        if self.table1:
            yield self._stages().text()
        for run in self.references:
            yield (
                f"reference of {run.robot}: Taylor series in {run.steps} steps; rkdp87 differs "
                f"by {run.cross_check:.1e} rad at most"
            )
        yield from map(figure_text, self.figures)
        for table in self._across():
            yield table.text(cell)
        for robot in dict.fromkeys(claim.about for claim in self.claims):
            mine = [claim for claim in self.claims if claim.about == robot]
            yield claims_text(f"claims, {robot}", mine, PUBLISHED["claims"])

    def values(self) -> dict[str, Any]:
        """Return the findings as values for JSON."""
        return {
            "table1": [row._asdict() for row in self.table1],
            "references": [run._asdict() for run in self.references],
            "figures": [figure_content(figure) for figure in self.figures],
            "customizing": [row._asdict() for row in self.customizing],
            "sigma": [row._asdict() for row in self.safeties],
            "claims": claims_content(self.claims, CLAIM_COLUMNS, PUBLISHED["claims"]),
        }

    def csv_tables(self) -> Iterable[Table]:
        """Yield Table 1, the points of each figure, the other tables and the claims."""
        if self.table1:
            yield self._stages()
        yield from map(figure_table, self.figures)
        yield from self._across()
        if self.claims:
            yield claims_table(self.claims, CLAIM_COLUMNS)

    def pictures(self) -> Iterable[Chart]:
        """Return the charts of all figures."""
        return map(figure_chart, self.figures)

    def page_tables(self) -> Iterable[Table]:
        """Yield Table 1, the orders and costs of all curves, and the other short tables."""
        if self.table1:
            yield self._stages()
        yield from map(cost_table, self.figures)
        yield from self._across()

    def _across(self) -> Iterable[Table]:
        if {figure.name for figure in self.figures} >= set(PUBLISHED["figures"]):
            yield fastest_table(self.figures)
        if self.customizing:
            title = "A step, plain and customized: operations, and CPU time"
            timed = ("plain_us", "customized_us", "time_ratio")
            yield table_of("customizing", title, self.customizing)._replace(timed=timed)
        if self.safeties:
            title = "Cost of embedded methods to an error of 1e-6 rad over sigma of eq. 14"
            yield table_of("sigma", title, self.safeties)

    def _stages(self) -> Table:
        return table_of("table1", "stages", self.table1)


def figure_text(figure: Figure) -> str:
    """Format the orders and computing times of a figure's curves as text."""
    head = ("method", "order", "measured", "difference", "status")
    rows = [(*head, *(f"us to {level:.0e}" for level in LEVELS))]
    for curve in figure.curves:
        measured = curve.between(figure.floor, 1.0).measured_order()
        status = _order_status(measured - curve.order)
        times = (curve.between(0.0, math.inf).time_at_error(level) * 1e6 for level in LEVELS)
        row = (curve.label, str(curve.order), number(measured, ".2f"))
        difference = number(measured - curve.order, "+.2f")
        rows.append((*row, difference, status, *(number(time, ".1f") for time in times)))
    title = f"{figure.name}, {figure.robot}: {figure.title}; {figure.quantity}"
    return f"{title}\n{columns(rows)}"


def cost_table(figure: Figure) -> Table:
    """Return a table of measured orders, steps and computing times of a figure's curves."""
    rows = []
    for curve in figure.curves:
        whole, used = curve.between(0.0, math.inf), curve.between(figure.floor, 1.0)
        gap = used.measured_order() - curve.order
        times = (whole.time_at_error(level) * 1e6 for level in LEVELS)
        tries = (whole.tries_at_error(level) for level in LEVELS)
        rows.append((curve.label, curve.order, gap, _order_status(gap), *tries, *times))
    timed = tuple(f"us to {level:.0e}" for level in LEVELS)
    counted = tuple(f"steps to {level:.0e}" for level in LEVELS)
    head = ("method", "order", "measured minus nominal order", "status", *counted, *timed)
    title = f"{figure.name}, {figure.robot}: {figure.title}; {figure.quantity}"
    rounded = ("measured minus nominal order", *counted)
    return Table(f"{figure.name}_{figure.robot}", title, head, tuple(rows), timed, rounded=rounded)


def fastest_table(figures: Sequence[Figure]) -> Table:
    """Return a table of the cheapest Runge-Kutta methods for given errors, compared with RK4."""
    rows = []
    for robot in dict.fromkeys(figure.robot for figure in figures):
        mine = [f for f in figures if f.robot == robot and "fig3" <= f.name <= "fig7"]
        curves = [curve.between(0.0, math.inf) for figure in mine for curve in figure.curves]
        (plain,) = (curve for curve in curves if curve.method == "rk4")
        for level in LEVELS:
            best = _least((curve.evaluations_at_error(level), curve.label) for curve in curves)
            quick = _least((curve.time_at_error(level) * 1e6, curve.label) for curve in curves)
            base = plain.evaluations_at_error(level), plain.time_at_error(level) * 1e6
            rows.append((robot, level, best[1], best[0], base[0], quick[1], quick[0], base[1]))
    counted = ("fewest evaluations by", "evaluations", "evaluations of RK4")
    timed = ("fastest", "time, us", "time of RK4, us")
    title = "Cheapest Runge-Kutta methods for an error, rad"
    return Table("fastest", title, ("robot", "error, rad", *counted, *timed), tuple(rows), timed)


def _least(costs: Iterable[tuple[float, str]]) -> tuple[float, str]:
    """Return the least finite cost and the name of its method, or (NaN, "-")."""
    return min((cost for cost in costs if math.isfinite(cost[0])), default=(math.nan, "-"))


def _order_status(difference: float) -> str:
    if math.isnan(difference):
        return "not measured"
    if abs(difference) <= NEAR_ORDER:
        return "expected order"
    return "higher order" if difference > 0.0 else "lower order"


def figure_content(figure: Figure) -> dict[str, Any]:
    """Return a figure as values for JSON."""
    curves = [
        curve._asdict() | {"points": [point._asdict() for point in curve.points]}
        for curve in figure.curves
    ]
    return figure._asdict() | {"curves": curves}


def figure_table(figure: Figure) -> Table:
    """Return a table of the points of all curves of a figure."""
    rows = (
        (curve.method, curve.label, curve.order, *point)
        for curve in figure.curves
        for point in curve.points
    )
    head = ("method", "label", "order", *Point._fields)
    return Table(f"{figure.name}_{figure.robot}", figure.title, head, tuple(rows))


def figure_chart(figure: Figure) -> Chart:
    """Return a chart of error over computing time. A dashed variant has the preceding colour."""
    color, lines = -1, []
    for curve in figure.curves:
        color += not curve.dashed
        lines.append(_line(curve, color))
    title = f"{figure_name(figure.name)}, {figure.robot.upper()}: {figure.title}"
    time = "computing time of the motion, one CPU core [s]"
    panel = Panel("", time, figure.quantity, tuple(lines), log_x=True, log_y=True)
    return Chart(f"{figure.name}_{figure.robot}", title, (panel,), 1, (8.0, 5.4))


def _line(curve: Curve, color: int) -> Line:
    points = curve.between(*DRAWN).points
    x, y = tuple(p.seconds for p in points), tuple(p.error for p in points)
    return Line(curve.label, x, y, color, "--o" if curve.dashed else "-o")
