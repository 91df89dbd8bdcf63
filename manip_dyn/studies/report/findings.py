"""Findings of a study, the stored record of a run, and the list of a paper's items.

``docs/studies/PAPER.json`` stores the run of all items: commit and versions, tables, claims, names
of charts. Columns of times are marked; a later run must reproduce everything else.

``items.json`` of a paper lists every section, table, figure and claim, with a command and its
evidence:

    "TABLE: KEY"     the rows of a table whose first cell is KEY, with their status
    "claim: KEY"     verdicts
    "chart: NAME"    a picture
    "test: FILE"     a test, relative to the root of the repository

An item without evidence has a ``status``: that it has no result, or why none can be reproduced.
Claims of ``published.json`` that no item refers to follow at the end.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import write_atomically
from manip_dyn.studies.report.charts import Chart, draw
from manip_dyn.studies.report.claims import AT_THE_LIMIT, SECONDS, Claim, claim_rows, counted
from manip_dyn.studies.report.tables import EVIDENCE, Table, plain

DIGITS = 6
"""Of a number that is kept."""
SAME, SMALL = 0.01, 1e-9
"""Numbers that differ by this share, or are both as small, are the same."""

NUMBERS = ("number", "least", "most")
"""Of a claim: over its cases."""


class Record(NamedTuple):
    """A study's run.

    Attributes:
        paper: Its name.
        date: Day, UTC.
        seconds: Computing time of the run, s.
        setting: Commit, processor, versions.
        tables: Tables by name.
        claims: The claims, each as a mapping.
        charts: Names of the charts.
    """

    paper: str
    date: str
    seconds: float
    setting: Mapping[str, str]
    tables: Mapping[str, Table]
    claims: Sequence[Mapping[str, Any]]
    charts: Sequence[str]

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        tables = [rounded(plain(each._asdict())) for each in self.tables.values()]
        return rounded(plain(self._asdict() | {"tables": tables}))

    def keep(self, folder: Path) -> Path:
        """Write it into a folder, a line for a row, and return the file."""
        path = folder / f"{self.paper}.json"
        write_atomically(path, (_lines(self.content()) + "\n").encode())
        return path


def read_record(file: Path) -> Record:
    """Return a kept run.

    Raises:
        ManipDynError: If there is none, or the file is not one.
    """
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        tables = [Table(**each) for each in values.pop("tables")]
        return Record(tables={each.name: _tupled(each) for each in tables}, **values)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ManipDynError(f"'{file}' is no kept run of a study: {error}") from error


def stale(kept: Record, now: Record, same: float = SAME) -> list[str]:
    """Return the rows of tables and claims of a new run, of some items, that `kept` lacks.

    Columns of times, and claims counted in seconds, are not compared; of claims about steps at the
    limit of stability the verdict is, and not the numbers.
    """
    missing = []
    for table in now.tables.values():
        old = kept.tables.get(table.name)
        columns = [k for k, name in enumerate(table.head) if name not in table.timed]
        for row in table.rows:
            mine = [plain(row[k]) for k in columns]
            rows = [] if old is None or old.head != table.head else old.rows
            if not any(_alike(mine, [plain(each[k]) for k in columns], same) for each in rows):
                missing.append(f"{table.name}: {mine}")
    for claim in now.claims:
        if claim.get("counted") != SECONDS and not any(
            _alike(_repeated(claim), _repeated(each), same) for each in kept.claims
        ):
            missing.append(f"claim {claim['key']}: {claim['measure']}: {claim['verdict']}")
    return missing


def _repeated(claim: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what another machine repeats of a claim."""
    moves = NUMBERS if claim.get("counted") == AT_THE_LIMIT else ()
    return {key: value for key, value in plain(claim).items() if key not in moves}


def rounded(value: Any) -> Any:
    """Return nested values with numbers of `DIGITS` digits."""
    if isinstance(value, Mapping):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _alike(one: Any, other: Any, same: float) -> bool:
    """Return whether nested values are the same but for the last digits of numbers."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one == other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=same, abs_tol=SMALL)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[k], other[k], same) for k in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_alike(a, b, same) for a, b in pairs)
    return one == other


def _tupled(table: Table) -> Table:
    rows = tuple(tuple(row) for row in table.rows)
    return table._replace(head=tuple(table.head), timed=tuple(table.timed), rows=rows)


def _lines(content: Mapping[str, Any]) -> str:
    """Return JSON with a line for each row, so that a change shows where it is."""
    dumped = json.dumps
    tables = []
    for table in content["tables"]:
        head = {key: value for key, value in table.items() if key != "rows"}
        rows = ",\n    ".join(dumped(row, ensure_ascii=False) for row in table["rows"])
        tables.append(f'   {dumped(head, ensure_ascii=False)[:-1]}, "rows": [\n    {rows}]}}')
    claims = ",\n  ".join(dumped(each, ensure_ascii=False) for each in content["claims"])
    rest = {key: each for key, each in content.items() if key not in ("tables", "claims")}
    return (
        f'{dumped(rest, indent=1, ensure_ascii=False)[:-2]},\n "tables": [\n'
        + ",\n".join(tables)
        + f'\n ],\n "claims": [\n  {claims}\n ]\n}}'
    )


HEAD = ("item", "what", "status", EVIDENCE, "command")
MISSING = "missing"
ITEM_NAME = re.compile(r"(fig|table|section)(?:ure)?s?\.? ?(\d+(?:\.\d+)*)$")


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


def items_named(word: str, items: list[Item]) -> list[Item]:
    """Return what a paper has under a name such as ``fig3.6``, ``figure 3.6``, ``table5.1``."""
    wanted = ITEM_NAME.match(word.strip().lower())
    if wanted is None:
        return []
    return [each for each in items if _names(each.item, *wanted.groups())]


def _names(item: str, kind: str, number: str) -> bool:
    """Whether ``Figures 5.5 to 5.8``, or the like, names a figure, table or section."""
    first, _, rest = item.partition(" ")
    if not first.lower().startswith(kind):
        return False
    spans = [each.split(" to ") for each in rest.partition(", eq")[0].split(", ")]
    spans, place = [each for each in spans if each[0][:1].isdigit()], _numbers(number)
    return any(_numbers(span[0]) <= place <= _numbers(span[-1]) for span in spans)


def _numbers(number: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", number))


def items_table(items: list[Item], record: Record) -> Table:
    """Return the list with the status of each item in a run."""
    rows = []
    for each in items:
        found = [evidence_status(reference, record) for reference in each.evidence]
        words = "; ".join(dict.fromkeys(filter(None, [each.status, *found])))
        command = f"`{each.command}`" if each.command else "-"
        evidence = tuple(map(evidence_text, each.evidence))
        rows.append((each.item, each.about, words or MISSING, evidence, command))
    return Table("items", "Every section, table, figure and claim", HEAD, tuple(rows))


def evidence_text(reference: str) -> str:
    """Return where the evidence of a reference stands, in words."""
    kind, _, key = reference.partition(": ")
    if kind == "test":
        return key
    if kind in ("chart", "claim"):
        return f"{kind} {key}"
    return f"table {kind}, {key}" if key else f"table {kind}"


def evidence_status(reference: str, record: Record) -> str:
    """Return what a run says of a reference; `MISSING` where it has nothing."""
    kind, _, key = reference.partition(": ")
    if kind == "test":
        return "tested"
    if kind == "chart":
        return "drawn" if key in record.charts else MISSING
    if kind == "claim":
        return _counted_statuses([row["verdict"] for row in record.claims if row["key"] == key])
    table = record.tables.get(kind)
    rows = [row for row in table.rows if str(row[0]) == key or not key] if table else []
    if table is None or not rows:
        return MISSING
    if "status" not in table.head:
        return "computed"
    return _counted_statuses([row[table.head.index("status")] for row in rows])


def _counted_statuses(statuses: list[str]) -> str:
    """Return statuses with how often each is there; what was not printed is left out."""
    compared = [each for each in statuses if each != "not published"]
    if not compared:
        return "computed" if statuses else MISSING
    return counted(compared)


SHORT = 120
"""Rows of a table that a page has room for."""


@dataclass(frozen=True)
class Findings:
    """The base of what a study found; a paper adds its records and says how they are told.

    Attributes:
        setting: Commit, processor, versions.
    """

    paper: ClassVar[str]
    published: ClassVar[Mapping[str, Any]]
    """The paper's name, and its ``published.json``."""

    setting: Mapping[str, str]

    # ------------------------------------------------------------ what a paper says
    def paragraphs(self) -> Iterable[str]:
        """Return the text, published beside computed, in its parts."""
        raise NotImplementedError

    def values(self) -> Mapping[str, Any]:
        """Return everything for JSON: records as mappings, arrays and tuples as they are."""
        raise NotImplementedError

    def csv_tables(self) -> Iterable[Table]:
        """Return what is written as CSV."""
        return ()

    def pictures(self) -> Iterable[Chart]:
        """Return what is drawn."""
        return ()

    def page_tables(self) -> Iterable[Table]:
        """Return the tables of a page and of a kept run: the short ones, but for charts."""
        drawn = {chart.name for chart in self.pictures()}
        for table in self.csv_tables():
            if len(table.rows) <= SHORT and table.name not in drawn and table.name != "claims":
                yield table

    def judged(self) -> Sequence[Claim]:
        """Return the claims with their verdicts."""
        return getattr(self, "claims", ())

    def record(self, seconds: float) -> Record:
        """Return what a run of so many seconds found, as it is kept."""
        return Record(
            self.paper,
            datetime.now(timezone.utc).date().isoformat(),
            seconds,
            dict(self.setting),
            {each.name: each for each in self.page_tables()},
            claim_rows(self.judged(), self.published),
            [chart.name for chart in self.pictures()],
        )

    # --------------------------------------------------------------- how it is told
    def __str__(self) -> str:
        """Return everything as text."""
        setting = ", ".join(f"{key} {value}" for key, value in self.setting.items())
        return "\n\n".join([setting, *self.paragraphs()])

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; what is not a finite number is null."""
        head = {"paper": self.paper, "source": self.published["source"], "setting": self.setting}
        return plain(head | dict(self.values()))

    def write(self, folder: Path) -> list[Path]:
        """Write a CSV per table, and PNG and SVG of each chart; return the files."""
        files = [table.write(folder) for table in self.csv_tables()]
        for chart in self.pictures():
            files += draw(chart, folder)
        return files
