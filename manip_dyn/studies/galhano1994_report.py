"""What `study galhano1994` says: text for people, plain values for JSON, CSV files."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from manip_dyn.studies.galhano1994_claims import Claim
from manip_dyn.studies.galhano1994_figures import Figure
from manip_dyn.studies.galhano1994_findings import Findings
from manip_dyn.studies.plain_text import WIDTH, columns, indented, number
from manip_dyn.studies.plain_values import plain, write_csv
from manip_dyn.studies.work_precision import Curve, Point

LEVELS = (1e-3, 1e-6, 1e-9, 1e-12)
"""Errors, rad or J, whose computing times are printed."""
NEAR_ORDER = 0.25


# ------------------------------------------------------------------------- people
def text(found: Findings, published: Mapping[str, Any]) -> str:
    """Return the tables, published beside computed."""
    parts = [", ".join(f"{key} {value}" for key, value in found.setting.items())]
    if found.table1:
        parts.append(_table1_text(found))
    parts += [
        f"reference of {each.robot}: Taylor series in {each.steps} steps; rkdp87 differs by "
        f"{each.cross_check:.1e} rad at most"
        for each in found.references
    ]
    parts += [_figure_text(figure) for figure in found.figures]
    for robot in dict.fromkeys(each.robot for each in found.claims):
        mine = [each for each in found.claims if each.robot == robot]
        parts.append(_claims_text(robot, mine, published["claims"]))
    return "\n\n".join(parts)


def _table1_text(found: Findings) -> str:
    rows = [list(found.table1[0]._fields), *([str(cell) for cell in row] for row in found.table1)]
    return "Table 1: stages\n" + columns(rows)


def _figure_text(figure: Figure) -> str:
    head = ("method", "order", "measured", "difference", "status")
    rows = [(*head, *(f"us to {level:.0e}" for level in LEVELS))]
    for curve in figure.curves:
        measured = curve.between(figure.floor, 1.0).measured_order()
        status = _order_status(measured - curve.order)
        times = (curve.between(0.0, math.inf).time_at_error(level) * 1e6 for level in LEVELS)
        row = (curve.label, str(curve.order), number(measured, ".2f"))
        difference = number(measured - curve.order, "+.2f")
        rows.append((*row, difference, status, *(number(each, ".1f") for each in times)))
    title = f"{figure.name}, {figure.robot}: {figure.title}; {figure.quantity}"
    return f"{title}\n{columns(rows)}"


def _order_status(difference: float) -> str:
    if math.isnan(difference):
        return "not measured"
    if abs(difference) <= NEAR_ORDER:
        return "has its order"
    return "steeper" if difference > 0.0 else "flatter"


def _claims_text(robot: str, mine: Sequence[Claim], texts: Mapping[str, str]) -> str:
    lines = [f"claims, {robot}"]
    for key in dict.fromkeys(each.key for each in mine):
        lines.append(f'  published: "{texts[key]}"')
        for each in (claim for claim in mine if claim.key == key):
            lines.append(
                f"    computed: {each.status}, {each.share:.0%} of {each.comparisons} "
                f"comparisons, median {each.number:.3g}"
            )
            lines += textwrap.wrap(f"({each.measure})", WIDTH, **indented(6))
            if each.exceptions:
                exceptions = f"except {'; '.join(each.exceptions)}"
                lines += textwrap.wrap(exceptions, WIDTH, **indented(6))
    return "\n".join(lines)


# --------------------------------------------------------------------------- JSON
def content(found: Findings, published: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything as plain values; what is not finite is None."""
    return plain(
        {
            "paper": "galhano1994",
            "source": published["source"],
            "setting": found.setting,
            "table1": [row._asdict() for row in found.table1],
            "references": [each._asdict() for each in found.references],
            "figures": [_figure_content(figure) for figure in found.figures],
            "claims": [
                {"published": published["claims"][each.key], **each._asdict()}
                for each in found.claims
            ],
        }
    )


def _figure_content(figure: Figure) -> dict[str, Any]:
    curves = [
        curve._asdict() | {"points": [point._asdict() for point in curve.points]}
        for curve in figure.curves
    ]
    return figure._asdict() | {"curves": curves}


# -------------------------------------------------------------------------- files
def write_tables(found: Findings, folder: Path) -> list[Path]:
    """Write ``table1.csv``, a CSV per chart and ``claims.csv``; return the files."""
    files = []
    if found.table1:
        files.append(write_csv(folder / "table1.csv", found.table1[0]._fields, found.table1))
    for figure in found.figures:
        rows = [_point_row(curve, point) for curve in figure.curves for point in curve.points]
        name = f"{figure.name}_{figure.robot}.csv"
        files.append(write_csv(folder / name, ("method", "label", "order", *Point._fields), rows))
    if found.claims:
        rows = [(*each[:-1], "; ".join(each.exceptions)) for each in found.claims]
        files.append(write_csv(folder / "claims.csv", Claim._fields, rows))
    return files


def _point_row(curve: Curve, point: Point) -> tuple[Any, ...]:
    return (curve.method, curve.label, curve.order, *point)
