"""Tables and claims of a kept run in Markdown, for the page of studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from manip_dyn.studies.report.record import Record
from manip_dyn.studies.report.tables import Table, cell

CLAIM_HEAD = ("the paper says", "measured", "median (least to most)", "cases", "verdict")


def markdown(table: Table) -> str:
    """Return a table in Markdown."""
    return _grid(table.head, [[cell(each, table.digits) for each in row] for row in table.rows])


def claims_markdown(record: Record) -> str:
    """Return the claims of a run in Markdown: words of the paper, numbers, verdicts."""
    if not record.claims:
        return "No claim of this paper is judged by the kept run.\n"
    return markdown(claims_page_table(record.claims))


def claims_page_table(claims: Sequence[Mapping[str, Any]]) -> Table:
    """Return claims, as a record has them, as a table; a paper's words stand once."""
    rows, said = [], None
    for each in claims:
        about = f"{each['about']}: " if each.get("about") else ""
        counted = f" (in {each['counted']})" if each.get("counted") else ""
        words = f"**{each['published']}**" if each["published"] != said else "..."
        said = each["published"]
        numbers = "-"
        if each["cases"]:
            numbers = f"{cell(each['number'])} ({cell(each['least'])} to {cell(each['most'])})"
        share = f"{each['share']:.0%} of {each['cases']}" if each["cases"] else "-"
        rows.append((words, f"{about}{each['measure']}{counted}", numbers, share, each["verdict"]))
    return Table("claims", "The claims and their verdicts", CLAIM_HEAD, tuple(rows))


def setting_text(record: Record) -> str:
    """Return when, where and of what a run is."""
    setting = ", ".join(f"{key} {value}" for key, value in record.setting.items())
    return f"Run of {record.date}, {record.seconds:.0f} s of computing time; {setting}."


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([each.replace("|", "\\|") for each in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped) + "\n"
