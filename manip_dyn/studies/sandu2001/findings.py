"""What the study of sandu2001 finds, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from manip_dyn.studies.report.charts import Chart
from manip_dyn.studies.report.claims import Claim, claims_content, claims_table, claims_text
from manip_dyn.studies.report.findings import Findings
from manip_dyn.studies.report.tables import Table, table_of
from manip_dyn.studies.sandu2001.rows import (
    PUBLISHED,
    CarRow,
    ErrorRow,
    FitRow,
    GrowthRow,
    LeadRow,
    MatrixRow,
    Point,
    TimeRow,
    VariantRow,
)

TITLES = {
    "errors": "errors of the stiff pendulum; control of eq. 13 to 16 if not named",
    "fit": "eight points of the published motion, rad and rad/s, and the pendulum fitted to them",
    "matrices": "the W-method and the Rosenbrock-Nystrom method with other Jacobians",
    "times": "computing times of the HMMWV, s",
    "growth": "by what factor table 4 grows",
    "variants": "what table 4's growth from 1e-2 to 1e-5 depends on: evaluations over 4 s",
    "leads": "explicit over implicit method, 4 s of the HMMWV: published times, ours in all",
    "car": "HMMWV",
    "squeezer": "Andrews' squeezing mechanism at 0.03 s: error of the angles, rad",
}
"""What it has rows of, and their titles."""
HEADS = {"variants": ("variant", "1e-2", "1e-3", "1e-4", "1e-5", "growth", "last decade")}
"""Heads that are no names of fields."""
TIMED = {
    "times": ("computed_s",),
    "growth": ("time",),
    "leads": ("time",),
    "squeezer": ("seconds",),
}
"""Columns that depend on the machine and its load."""
CLAIM_COLUMNS = {
    name: name
    for name in (
        *("key", "measure", "number", "least", "most", "cases", "share"),
        *("status", "counted", "verdict", "holds", "exceptions"),
    )
}


@dataclass(frozen=True)
class Sandu2001(Findings):
    """What the study found; what was not asked for is empty.

    Attributes:
        setting: Commit, processor, versions.
        errors: Errors of the pendulum's runs.
        fit: The pendulum that is nearest to the published points.
        matrices: Errors of the W-method with other Jacobians.
        times: Computing times of the HMMWV.
        growth: By what those of table 4 grow.
        variants: What that depends on.
        leads: How many times the explicit method takes as much.
        car: Numbers of the HMMWV.
        squeezer: Andrews' squeezing mechanism by several solvers.
        charts: Pictures.
        claims: The claims, with their verdicts.
    """

    paper = "sandu2001"
    published = PUBLISHED

    errors: tuple[ErrorRow, ...] = ()
    fit: tuple[FitRow, ...] = ()
    matrices: tuple[MatrixRow, ...] = ()
    times: tuple[TimeRow, ...] = ()
    growth: tuple[GrowthRow, ...] = ()
    variants: tuple[VariantRow, ...] = ()
    leads: tuple[LeadRow, ...] = ()
    squeezer: tuple[Point, ...] = ()
    car: tuple[CarRow, ...] = ()
    charts: tuple[Chart, ...] = ()
    claims: tuple[Claim, ...] = ()

    def paragraphs(self) -> Iterable[str]:
        """Return all tables, and claims published beside computed."""
        for table in self._tables():
            yield table.text(_shown)
        if self.claims:
            yield claims_text("claims", self.claims, PUBLISHED["claims"])

    def values(self) -> dict[str, Any]:
        """Return everything for JSON."""
        values: dict[str, Any] = {
            name: [row._asdict() for row in getattr(self, name)] for name in TITLES
        }
        claims = claims_content(self.claims, CLAIM_COLUMNS, PUBLISHED["claims"])
        return values | {"charts": [chart.content() for chart in self.charts], "claims": claims}

    def csv_tables(self) -> Iterable[Table]:
        """Return errors, times, the points of each chart, and claims."""
        yield from self._tables()
        yield from (chart.table() for chart in self.charts)
        if self.claims:
            yield claims_table(self.claims, CLAIM_COLUMNS)

    def pictures(self) -> Iterable[Chart]:
        """Return the charts."""
        return self.charts

    def _tables(self) -> Iterable[Table]:
        for name, title in TITLES.items():
            rows = getattr(self, name)
            if rows:
                table = table_of(f"sandu2001_{name}", title, rows)
                yield table._replace(head=HEADS.get(name, table.head), timed=TIMED.get(name, ()))


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
