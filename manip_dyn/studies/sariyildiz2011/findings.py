"""What the study of sariyildiz2011 finds, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manip_dyn.studies.report.charts import Chart
from manip_dyn.studies.report.claims import Claim, claims_content, claims_table, claims_text
from manip_dyn.studies.report.findings import Findings
from manip_dyn.studies.report.tables import Table, columns, number

PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
LONG = 100
"""Rows of a long table."""
CLAIM_COLUMNS = {
    name: name
    for name in (
        "key",
        "measure",
        "number",
        "least",
        "most",
        "cases",
        "share",
        "status",
        "verdict",
        "holds",
        "exceptions",
    )
}


@dataclass(frozen=True)
class Sariyildiz2011(Findings):
    """What the study found; what was not asked for is empty.

    Attributes:
        setting: Commit, processor, versions.
        charts: Pictures.
        tables: Tables.
        claims: The claims.
    """

    paper = "sariyildiz2011"
    published = PUBLISHED

    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()

    def paragraphs(self) -> Iterable[str]:
        """Return tables, largest values of charts, and claims published beside computed."""
        if not self.tables:
            yield from map(chart_text, self.charts)
        for table in self.tables:
            yield table_text(table, alone=len(self.tables) == 1)
        if self.claims:
            yield claims_text("claims", self.claims, PUBLISHED["claims"])

    def values(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "charts": [chart.content() for chart in self.charts],
            "tables": [table.content() for table in self.tables],
            "claims": claims_content(self.claims, CLAIM_COLUMNS, PUBLISHED["claims"]),
        }

    def csv_tables(self) -> Iterable[Table]:
        """Return the points of each chart, the tables and the claims."""
        yield from (chart.table() for chart in self.charts)
        for table in {each.name: each for each in self.tables}.values():
            yield table._replace(name=f"{table.name}_table")
        if self.claims:
            yield claims_table(self.claims, CLAIM_COLUMNS)

    def page_tables(self) -> Iterable[Table]:
        """Return the tables but for those too long for a page."""
        unique = {each.name: each for each in self.tables}.values()
        return (table for table in unique if len(table.rows) <= LONG)

    def pictures(self) -> Iterable[Chart]:
        """Return the charts."""
        return self.charts


def chart_text(chart: Chart) -> str:
    """Return the first, largest and last value of each line."""
    rows: list[tuple[str, ...]] = [("panel", "line", "first", "largest", "last")]
    for panel in chart.panels:
        for line in panel.lines:
            values = [y for y in line.y if y == y]
            if values:
                ends = (values[0], max(values, key=abs), values[-1])
                rows.append((panel.title, line.label, *(number(each, ".3g") for each in ends)))
    return f"{chart.name}: {chart.title}\n{columns(rows)}"


def table_text(table: Table, alone: bool) -> str:
    """Return a table; a long one among others only as a hint."""
    if len(table.rows) > LONG and not alone:
        return f"{table.name}: {len(table.rows)} rows, see the item {table.name}, --json or --out"
    return table.text(_cell)


def _cell(value: Any) -> str:
    return number(value, ".2g") if isinstance(value, float) else str(value)
