"""The table of docs/fault_cases.md, from the outcomes of recorded cases."""

from __future__ import annotations

from faults.matrix import CASES

BEGIN, END = "<!-- cases -->\n", "<!-- end of cases -->\n"
HEAD = (
    "case",
    "fault",
    "node",
    "state",
    "level",
    "message",
    "beyond",
    "fastest",
    "ends",
)


def updated_page(page: str, rows: list[dict]) -> str:
    """Return the page with a new table between its two marks."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return before + BEGIN + table(rows) + END + after


def table(rows: list[dict]) -> str:
    """Return the table of outcomes."""
    cases = {case.name: case for case in CASES}
    lines = [HEAD, ("---",) * len(HEAD), *(_cells(row, cases[row["case"]]) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(row, case):
    return (
        f"`{row['case']}`",
        case.done,
        case.node,
        f"`{row['state']}`",
        row["level"],
        row["sentence"].replace("|", "\\|"),
        f"{row['beyond']:.2g}",
        f"{row['speed']:.2g}",
        {"rest": "at rest"}.get(row["ends"], row["ends"]),
    )
