"""The list of what a paper has, each item with its status, which is read from a kept run.

``items.json`` beside a paper's ``published.json`` names every section, table, figure and claim,
with a command and its evidence:

    "TABLE: KEY"     the rows of a table whose first cell is KEY, with their status
    "claim: KEY"     verdicts
    "chart: NAME"    a picture
    "test: FILE"     a test of ours, from the repository's root

An item without evidence says itself what it is in ``status``: that it has no result, or why none
can be reproduced. Claims of ``published.json`` that no item refers to follow at the end.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.studies.report.record import Record
from manip_dyn.studies.report.status import counted
from manip_dyn.studies.report.tables import EVIDENCE, Table

HEAD = ("item", "what", "status", EVIDENCE, "command")
MISSING = "missing"
ASKED = re.compile(r"(fig|table|section)(?:ure)?s?\.? ?(\d+(?:\.\d+)*)$")


class Item(NamedTuple):
    """Something that a paper has.

    Attributes:
        item: Its name in the paper.
        about: What it is, and what of it is our choice.
        command: What recomputes it; empty: nothing to compute.
        evidence: References into a run.
        status: In words, where there is no evidence.
    """

    item: str
    about: str
    command: str = ""
    evidence: tuple[str, ...] = ()
    status: str = ""


def read_items(folder: Path) -> list[Item]:
    """Return the items of a paper's folder; none where it has no list."""
    file = folder / "items.json"
    if not file.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    items = [Item(**row | {"evidence": tuple(row.get("evidence", ()))}) for row in rows]
    named = {reference for each in items for reference in each.evidence}
    published = json.loads((folder / "published.json").read_text(encoding="utf-8"))
    command = f"manip_dyn study {folder.name} claims"
    return items + [
        Item("Claim", words, command, (f"claim: {key}",))
        for key, words in published.get("claims", {}).items()
        if f"claim: {key}" not in named
    ]


def named(word: str, items: list[Item]) -> list[Item]:
    """Return what a paper has under a name such as ``fig3.6``, ``figure 3.6``, ``table5.1``."""
    wanted = ASKED.match(word.strip().lower())
    if wanted is None:
        return []
    return [each for each in items if _names(each.item, *wanted.groups())]


def _names(item: str, kind: str, number: str) -> bool:
    """Whether ``Figures 5.5 to 5.8``, or the like, names a figure, table or section."""
    first, _, rest = item.partition(" ")
    if not first.lower().startswith(kind):
        return False
    spans = [each.split(" to ") for each in rest.partition(", eq")[0].split(", ")]
    spans, place = [each for each in spans if each[0][:1].isdigit()], _place(number)
    return any(_place(span[0]) <= place <= _place(span[-1]) for span in spans)


def _place(number: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", number))


def items_table(items: list[Item], record: Record) -> Table:
    """Return the list with the status of each item in a run."""
    rows = []
    for each in items:
        found = [status(reference, record) for reference in each.evidence]
        words = "; ".join(dict.fromkeys(filter(None, [each.status, *found])))
        command = f"`{each.command}`" if each.command else "-"
        evidence = tuple(map(told, each.evidence))
        rows.append((each.item, each.about, words or MISSING, evidence, command))
    return Table("items", "Every section, table, figure and claim", HEAD, tuple(rows))


def told(reference: str) -> str:
    """Return where the evidence of a reference stands, in words."""
    kind, _, key = reference.partition(": ")
    if kind == "test":
        return key
    if kind in ("chart", "claim"):
        return f"{kind} {key}"
    return f"table {kind}, {key}" if key else f"table {kind}"


def status(reference: str, record: Record) -> str:
    """Return what a run says of a reference; `MISSING` where it has nothing."""
    kind, _, key = reference.partition(": ")
    if kind == "test":
        return "tested"
    if kind == "chart":
        return "drawn" if key in record.charts else MISSING
    if kind == "claim":
        return _counted([row["verdict"] for row in record.claims if row["key"] == key])
    table = record.tables.get(kind)
    rows = [row for row in table.rows if str(row[0]) == key or not key] if table else []
    if table is None or not rows:
        return MISSING
    if "status" not in table.head:
        return "computed"
    return _counted([row[table.head.index("status")] for row in rows])


def _counted(statuses: list[str]) -> str:
    """Return statuses with how often each is there; what was not printed is left out."""
    compared = [each for each in statuses if each != "not published"]
    if not compared:
        return "computed" if statuses else MISSING
    return counted(compared)
