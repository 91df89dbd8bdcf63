"""What `study sariyildiz2011` says: text for people, plain values for JSON, CSV files."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from manip_dyn.studies.panels import Chart, Table
from manip_dyn.studies.plain_text import WIDTH, columns, indented, number
from manip_dyn.studies.plain_values import plain, write_csv
from manip_dyn.studies.sariyildiz2011_claims import Claim
from manip_dyn.studies.sariyildiz2011_findings import Findings

LISTED, LONG = 8, 100
"""Cases that are named in text, JSON and CSV have all of them; rows of a long table."""


def text(found: Findings, published: Mapping[str, Any]) -> str:
    """Return tables, largest values of charts, and claims published beside computed."""
    parts = [", ".join(f"{key} {value}" for key, value in found.setting.items())]
    if not found.tables:
        parts += [_chart_text(chart) for chart in found.charts]
    parts += [_table_text(table, len(found.tables) == 1) for table in found.tables]
    if found.claims:
        parts.append(_claims_text(found.claims, published["claims"]))
    return "\n\n".join(parts)


def _chart_text(chart: Chart) -> str:
    """Return the first, largest and last value of each line."""
    rows: list[tuple[str, ...]] = [("panel", "line", "first", "largest", "last")]
    for panel in chart.panels:
        for line in panel.lines:
            values = [y for y in line.y if y == y]
            if values:
                ends = (values[0], max(values, key=abs), values[-1])
                rows.append((panel.title, line.label, *(number(each, ".3g") for each in ends)))
    return f"{chart.name}: {chart.title}\n{columns(rows)}"


def _table_text(table: Table, alone: bool) -> str:
    """Return a table; a long one among others only as a hint."""
    if len(table.rows) > LONG and not alone:
        return f"{table.name}: {len(table.rows)} rows, see the item {table.name}, --json or --out"
    rows = [table.head, *(tuple(map(_cell, row)) for row in table.rows)]
    title = textwrap.wrap(f"{table.name}: {table.title}", WIDTH)
    return "\n".join([*title, columns(rows)])


def _cell(value: Any) -> str:
    return number(value, ".2g") if isinstance(value, float) else str(value)


def _claims_text(found: Sequence[Claim], texts: Mapping[str, str]) -> str:
    lines = ["claims"]
    for key in dict.fromkeys(each.key for each in found):
        lines.append(f'  published: "{texts[key]}"')
        for each in (claim for claim in found if claim.key == key):
            lines.append(
                f"    computed: {each.status}, {each.share:.0%} of {each.cases} cases, median "
                f"{each.number:.2g} ({each.least:.2g} .. {each.most:.2g})"
            )
            lines += textwrap.wrap(f"({each.measure})", WIDTH, **indented(6))
            fewer, word = each.exceptions, "except"
            if len(each.holds) < len(each.exceptions):
                fewer, word = each.holds, "only"
            if fewer:
                lines += textwrap.wrap(f"{word} {_listed(fewer)}", WIDTH, **indented(6))
    return "\n".join(lines)


def _listed(cases: Sequence[str]) -> str:
    more = f"; and {len(cases) - LISTED} more" if len(cases) > LISTED else ""
    return "; ".join(cases[:LISTED]) + more


def content(found: Findings, published: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything as plain values; what is not finite is None."""
    claims = [
        {"published": published["claims"][each.key], **each._asdict()} for each in found.claims
    ]
    return plain(
        {
            "paper": "sariyildiz2011",
            "source": published["source"],
            "setting": found.setting,
            "charts": [chart.content() for chart in found.charts],
            "tables": [table.content() for table in found.tables],
            "claims": claims,
        }
    )


def write_tables(found: Findings, folder: Path) -> list[Path]:
    """Write a CSV per chart and table and ``claims.csv``; return the files."""
    head = ("panel", "line", "x", "y")
    files = [write_csv(folder / f"{each.name}.csv", head, each.rows()) for each in found.charts]
    tables = {each.name: each for each in found.tables}
    for name, table in tables.items():
        files.append(write_csv(folder / f"{name}_table.csv", table.head, table.rows))
    if found.claims:
        rows = [(*c[:-2], "; ".join(c.holds), "; ".join(c.exceptions)) for c in found.claims]
        files.append(write_csv(folder / "claims.csv", Claim._fields, rows))
    return files
