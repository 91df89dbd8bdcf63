"""Findings of the study of Sandu et al. (2001): table rows and their presentation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.studies.report.charts import Chart
from manip_dyn.studies.report.claims import Claim, claims_content, claims_table, claims_text
from manip_dyn.studies.report.findings import Findings
from manip_dyn.studies.report.tables import Table, table_of

PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


class ErrorRow(NamedTuple):
    """Published and computed errors of a run for a tolerance.

    Errors are in rad (table 1) or rad/s (table 2). ``corrected_max`` is the printed largest error
    without its misprint: a tenth of it in three rows of table 1. ``at_s`` is t*, the time of the
    largest error, s. ``rel_percent`` is RelErr, the largest error in percent of the reference at
    this time. ``status`` compares the largest error with the corrected one, ``mean_status`` the
    mean errors.
    """

    table: str
    run: str
    tolerance: float
    published_max: float
    corrected_max: float
    max_error: float
    published_at_s: float
    at_s: float
    published_rel_percent: float
    rel_percent: float
    published_mean: float
    mean_error: float
    mean_status: str
    steps: int
    status: str


class TimeRow(NamedTuple):
    """Costs of a motion of the HMMWV.

    Published times, s, are from the paper of 2001; NaN if it prints none.
    """

    table: str
    control: str
    duration_s: float
    tolerance: float
    published_s: float
    computed_s: float
    steps: int
    evaluations: int
    note: str


class GrowthRow(NamedTuple):
    """Growth of the costs in table 4: published times, computed evaluations and times."""

    growth: str
    control: str
    published_time: float
    evaluations: float
    time: float


class VariantRow(NamedTuple):
    """Costs of a variant for 4 s by tolerance: evaluations, or published times (s).

    ``growth`` and ``last_decade`` are the ratios of the last cost to the first one and to the one
    at 1e-4.
    """

    variant: str
    at_1e_2: float
    at_1e_3: float
    at_1e_4: float
    at_1e_5: float
    growth: float
    last_decade: float


class LeadRow(NamedTuple):
    """Cost ratios of the explicit to the implicit method for a motion of 4 s."""

    control: str
    tolerance: float
    published_time: float
    steps: float
    evaluations: float
    time: float


class CarRow(NamedTuple):
    """Published and computed value of a quantity of the HMMWV."""

    name: str
    published: float
    computed: float


CLOSE = 0.01
"""Largest relative error of a point of the fitted pendulum that counts as close."""


class FitRow(NamedTuple):
    """A point of the motion, a parameter or an end of the motion's range.

    The values are the published one, the computed one for slender rods, and that of the fitted
    pendulum; NaN if there is none.
    """

    quantity: str
    at_s: float
    published: float
    computed: float
    fitted: float
    residual: float
    status: str


class RepartitionRow(NamedTuple):
    """Cost of a motion for a growth of the condition number that requires a new partition.

    ``seconds`` is the least CPU time of three runs.
    """

    mechanism: str
    growth: float
    partitions: int
    steps: int
    evaluations: int
    seconds: float


class MatrixRow(NamedTuple):
    """Errors (rad, rad/s) of a method for a Jacobian and a tolerance; NaN if the run fails."""

    method: str
    jacobian: str
    tolerance: float
    angle_error: float
    rate_error: float
    steps: int


class Point(NamedTuple):
    """Result of a solver: final error of the angles (rad), CPU time (s) and evaluations."""

    solver: str
    tolerance: float
    error: float
    seconds: float
    evaluations: int


# ---------------------------------------------------------------------------------- findings
TITLES = {
    "errors": "errors of the stiff pendulum; control of eq. 13 to 16 if not named",
    "fit": "eight points of the published motion, rad and rad/s, and the pendulum fitted to them",
    "matrices": "the W-method and the Rosenbrock-Nystrom method with other Jacobians",
    "times": "computing times of the HMMWV, s",
    "growth": "factors by which table 4 grows",
    "variants": "evaluations over 4 s; the variants with growth near the published one are first",
    "repartition": "cost of the condition number at which coordinates are repartitioned",
    "leads": "ratio of explicit to implicit method, 4 s of the HMMWV, published and computed",
    "car": "HMMWV",
    "squeezer": "Andrews' squeezing mechanism at 0.03 s: error of the angles, rad",
}
"""Titles of tables by attribute of the findings."""
HEADS = {"variants": ("variant", "1e-2", "1e-3", "1e-4", "1e-5", "growth", "last decade")}
"""Column names of tables whose columns are not named like the fields."""
TIMED = {
    "times": ("computed_s",),
    "growth": ("time",),
    "leads": ("time",),
    "squeezer": ("seconds",),
    "repartition": ("seconds",),
}
"""Columns that depend on the machine and its load."""
ROUNDED = {"fit": ("fitted", "residual")}
"""Columns that amplify rounding errors: the fit is nearly singular."""
CLAIM_COLUMNS = {
    name: name
    for name in (
        *("key", "measure", "number", "least", "most", "cases", "share"),
        *("status", "counted", "verdict", "holds", "exceptions"),
    )
} | {"share": "fraction"}


@dataclass(frozen=True)
class Sandu2001(Findings):
    """Findings of the study. Items that were not recomputed are empty.

    Attributes:
        setting: Commit, processor and versions of the run.
        errors: Errors of the pendulum runs.
        fit: Points, parameters and ranges of the pendulum that fits the published points best.
        matrices: Errors of two methods with exact and inexact Jacobians.
        times: Computing times of the HMMWV.
        growth: Growth of the costs in table 4.
        variants: Growth for variants of the method.
        leads: Cost ratios of explicit and implicit methods.
        car: Quantities of the HMMWV.
        repartition: Costs of criteria for a new partition.
        squeezer: Results of several solvers for Andrews' squeezing mechanism.
        charts: Charts of figures 2 and 5 and of the squeezing mechanism.
        claims: Claims of the paper with verdicts.
    """

    paper = "sandu2001"
    published = PUBLISHED
    inputs = (
        *("urdf/stiff_pendulum.urdf", "urdf/stiff_pendulum.yaml"),
        "manip_dyn/multibody/model/hmmwv.py",
    )

    errors: tuple[ErrorRow, ...] = ()
    fit: tuple[FitRow, ...] = ()
    matrices: tuple[MatrixRow, ...] = ()
    times: tuple[TimeRow, ...] = ()
    growth: tuple[GrowthRow, ...] = ()
    variants: tuple[VariantRow, ...] = ()
    leads: tuple[LeadRow, ...] = ()
    repartition: tuple[RepartitionRow, ...] = ()
    squeezer: tuple[Point, ...] = ()
    car: tuple[CarRow, ...] = ()
    charts: tuple[Chart, ...] = ()
    claims: tuple[Claim, ...] = ()

    def paragraphs(self) -> Iterable[str]:
        """Yield all tables and the claims, with published and computed values, as paragraphs."""
        for table in self._tables():
            yield table.text(_shown)
        if self.claims:
            yield claims_text("claims", self.claims, PUBLISHED["claims"])

    def values(self) -> dict[str, Any]:
        """Return the findings as values for JSON."""
        values: dict[str, Any] = {
            name: [row._asdict() for row in getattr(self, name)] for name in TITLES
        }
        claims = claims_content(self.claims, CLAIM_COLUMNS, PUBLISHED["claims"])
        return values | {"charts": [chart.content() for chart in self.charts], "claims": claims}

    def csv_tables(self) -> Iterable[Table]:
        """Yield all tables, the points of each chart, and the claims."""
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
                yield table._replace(
                    head=HEADS.get(name, table.head),
                    timed=TIMED.get(name, ()),
                    rounded=ROUNDED.get(name, ()),
                )


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
