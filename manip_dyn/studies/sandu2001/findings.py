"""What the study of sandu2001 finds, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.studies.report.charts import Chart
from manip_dyn.studies.report.findings import Findings
from manip_dyn.studies.report.tables import Table, table_of

PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


class ErrorRow(NamedTuple):
    """Errors of one run at one tolerance beside the published ones."""

    table: str
    run: str
    tolerance: float
    published_max: float
    max_error: float
    at_s: float
    published_mean: float
    mean_error: float
    steps: int
    status: str


class TimeRow(NamedTuple):
    """Computing time of the HMMWV up to a time; published on another machine of 2001."""

    table: str
    duration_s: int
    tolerance: float
    published_s: float
    computed_s: float
    steps: int
    note: str


class CarRow(NamedTuple):
    """A number of the HMMWV, published and computed."""

    name: str
    published: float
    computed: float


@dataclass(frozen=True)
class Sandu2001(Findings):
    """What the study found; what was not asked for is empty.

    Attributes:
        setting: Commit, processor, versions.
        errors: Errors of the pendulum's runs.
        times: Computing times of the HMMWV.
        car: Numbers of the HMMWV.
        charts: Pictures.
    """

    paper = "sandu2001"
    published = PUBLISHED

    errors: tuple[ErrorRow, ...] = ()
    times: tuple[TimeRow, ...] = ()
    car: tuple[CarRow, ...] = ()
    charts: tuple[Chart, ...] = ()

    def paragraphs(self) -> Iterable[str]:
        """Return all tables."""
        for table in (
            *self._tables(),
            *([table_of("car", "HMMWV", self.car)] if self.car else []),
        ):
            yield table.text(_shown)

    def values(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "errors": [row._asdict() for row in self.errors],
            "times": [row._asdict() for row in self.times],
            "car": [row._asdict() for row in self.car],
            "charts": [chart.content() for chart in self.charts],
        }

    def csv_tables(self) -> Iterable[Table]:
        """Return errors, times and the points of each chart."""
        yield from self._tables()
        yield from (chart.table() for chart in self.charts)

    def pictures(self) -> Iterable[Chart]:
        """Return the charts."""
        return self.charts

    def _tables(self) -> Iterable[Table]:
        if self.errors:
            yield table_of("sandu2001_errors", "errors of the stiff pendulum", self.errors)
        if self.times:
            yield table_of("sandu2001_times", "computing times of the HMMWV, s", self.times)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
