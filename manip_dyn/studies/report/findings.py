"""Findings of a study, stored records of runs, and the items of a paper.

``docs/studies/PAPER.json`` stores a run of all items: commit and versions, tables, claims and
names of charts. `stale` compares the tables and claims of a new run with those of a stored run,
except for numbers that depend on the machine.

``items.json`` of a paper lists every section, table, figure and claim. An item has a command and
references to its evidence:

    "TABLE: KEY"     the rows of a table whose first cell is KEY, with their status
    "TABLE"          all rows of a table
    "claim: KEY"     the verdicts of a claim
    "chart: NAME"    a picture
    "test: FILE"     a test, relative to the root of the repository

An item without evidence has a ``status``, because it has no result or its result cannot be
reproduced. Claims of ``published.json`` to which no item refers are appended.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from manip_dyn.core.atomic_files import write_atomically
from manip_dyn.core.errors import ManipDynError
from manip_dyn.studies.report.charts import Chart, draw
from manip_dyn.studies.report.claims import (
    AMPLIFIED,
    AT_THE_LIMIT,
    SECONDS,
    Claim,
    claim_rows,
    counted,
)
from manip_dyn.studies.report.inputs import input_digests
from manip_dyn.studies.report.tables import EVIDENCE, Table, plain

DIGITS = 6
"""Significant digits of a stored number."""
SAME, SMALL = 0.01, 1e-9
"""Largest relative and largest absolute difference of numbers that count as equal."""

FACTOR, SLIGHT = 10.0, 0.1
"""Largest ratio and largest difference of similar numbers."""
Test = Callable[[float, float], bool]

NUMBERS = ("number", "least", "most")
"""Statistics of a claim over its cases."""


class Record(NamedTuple):
    """A stored run of a study.

    Attributes:
        paper: Name of the paper.
        date: Date of the run (UTC).
        seconds: CPU time of the run, s.
        setting: Commit, processor and versions.
        tables: Tables by name.
        claims: Claims as mappings.
        charts: Names of the charts.
        inputs: Digests of the inputs by name of the file, see `report.inputs`.
    """

    paper: str
    date: str
    seconds: float
    setting: Mapping[str, str]
    tables: Mapping[str, Table]
    claims: Sequence[Mapping[str, Any]]
    charts: Sequence[str]
    inputs: Mapping[str, str] = MappingProxyType({})

    def content(self) -> dict[str, Any]:
        """Return the record as plain values for JSON, with numbers rounded to `DIGITS`."""
        tables = [rounded(plain(table._asdict())) for table in self.tables.values()]
        return rounded(plain(self._asdict() | {"tables": tables}))

    def keep(self, folder: Path) -> Path:
        """Write the record to a JSON file in `folder` and return the file path."""
        path = folder / f"{self.paper}.json"
        write_atomically(path, (_lines(self.content()) + "\n").encode())
        return path


def read_record(file: Path) -> Record:
    """Read a stored run.

    Raises:
        ManipDynError: If the file is missing or does not contain a stored run.
    """
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        tables = [Table(**table) for table in values.pop("tables")]
        return Record(tables={table.name: _tupled(table) for table in tables}, **values)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ManipDynError(
            f"file must be a stored run of a study, got '{file}': {error}."
        ) from error


def stale(record: Record, now: Record, same: float = SAME) -> list[str]:
    """Return the rows and claims of a new run that are not in a stored run.

    Columns with times and claims counted in seconds are not compared. Columns that amplify
    rounding errors are compared within a factor of `FACTOR`. For claims about steps at the
    stability limit and about unstable runs, only the verdicts are compared.

    Args:
        record: The stored run of all items.
        now: The new run of some or all items.
        same: Largest relative difference of numbers that count as equal.
    """
    missing = []
    for table in now.tables.values():
        old = record.tables.get(table.name)
        rows = [] if old is None or old.head != table.head else old.rows
        tests = [
            _similar if name in table.rounded else partial(_close, same=same)
            for name in table.head
        ]
        for row in table.rows:
            if not any(_same_row(row, old_row, table, tests) for old_row in rows):
                untimed = [
                    plain(x)
                    for x, name in zip(row, table.head, strict=True)
                    if name not in table.timed
                ]
                missing.append(f"{table.name}: {untimed}")
    for claim in now.claims:
        if claim.get("counted") != SECONDS and not any(
            _alike(_reproducible(claim), _reproducible(old_claim), partial(_close, same=same))
            for old_claim in record.claims
        ):
            missing.append(f"claim {claim['key']}: {claim['measure']}: {claim['verdict']}")
    return missing


def _same_row(
    first: Sequence[Any], second: Sequence[Any], table: Table, tests: Sequence[Test]
) -> bool:
    """Return whether two rows agree, apart from columns with times."""
    cells = zip(first, second, table.head, tests, strict=True)
    return all(
        name in table.timed or _alike(plain(a), plain(b), test) for a, b, name, test in cells
    )


def _reproducible(claim: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the entries of a claim, without numbers that depend on the machine."""
    if claim.get("counted") == AT_THE_LIMIT:
        return {key: value for key, value in claim.items() if key not in NUMBERS}
    if claim.get("counted") == AMPLIFIED:
        return {key: value for key, value in claim.items() if key not in (*NUMBERS, "share")}
    return claim


def rounded(value: Any) -> Any:
    """Round all floats in nested values to `DIGITS` significant digits; tuples become lists."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _close(first: float, second: float, same: float) -> bool:
    return math.isclose(first, second, rel_tol=same, abs_tol=SMALL)


def _similar(first: float, second: float) -> bool:
    """Return whether numbers agree within a factor of `FACTOR`, or differ by at most `SLIGHT`."""
    if abs(first - second) <= SLIGHT:
        return True
    return first * second > 0.0 and 1.0 / FACTOR <= first / second <= FACTOR


def _alike(first: Any, second: Any, test: Test) -> bool:
    """Return whether nested values are equal; `test` compares two numbers."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first == second
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return test(first, second)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            _alike(first[k], second[k], test) for k in first
        )
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(_alike(a, b, test) for a, b in pairs)
    return first == second


def _tupled(table: Table) -> Table:
    rows = tuple(tuple(row) for row in table.rows)
    return table._replace(
        head=tuple(table.head),
        timed=tuple(table.timed),
        rounded=tuple(table.rounded),
        rows=rows,
    )


def _lines(content: Mapping[str, Any]) -> str:
    """Return JSON with one line per row, so that differences of files are readable."""
    dumped = json.dumps
    tables = []
    for table in content["tables"]:
        head = {key: value for key, value in table.items() if key != "rows"}
        rows = ",\n    ".join(dumped(row, ensure_ascii=False) for row in table["rows"])
        tables.append(f'   {dumped(head, ensure_ascii=False)[:-1]}, "rows": [\n    {rows}]}}')
    claims = ",\n  ".join(dumped(claim, ensure_ascii=False) for claim in content["claims"])
    rest = {key: item for key, item in content.items() if key not in ("tables", "claims")}
    return (
        f'{dumped(rest, indent=1, ensure_ascii=False)[:-2]},\n "tables": [\n'
        + ",\n".join(tables)
        + f'\n ],\n "claims": [\n  {claims}\n ]\n}}'
    )


# ------------------------------------------------------------------------------------- items
HEAD = ("item", "description", "status", EVIDENCE, "command")
MISSING = "missing"
ITEM_NAME = re.compile(r"(fig|table|section)(?:ure)?s?\.? ?(\d+(?:\.\d+)*)$")


class Item(NamedTuple):
    """A section, table, figure or claim of a paper.

    Attributes:
        item: Name in the paper.
        about: Description, including choices that the paper leaves open.
        command: Command that recomputes the item, or "".
        evidence: References to results of a run.
        status: Status of an item without evidence, or "".
    """

    item: str
    about: str
    command: str = ""
    evidence: tuple[str, ...] = ()
    status: str = ""


def read_items(folder: Path) -> list[Item]:
    """Return the items of ``items.json`` in the folder of a paper, and its other claims.

    Without this file, the list is empty.
    """
    file = folder / "items.json"
    if not file.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    items = [Item(**row | {"evidence": tuple(row.get("evidence", ()))}) for row in rows]
    named = {reference for item in items for reference in item.evidence}
    published = json.loads((folder / "published.json").read_text(encoding="utf-8"))
    command = f"manip_dyn study {folder.name} claims"
    return items + [
        Item("Claim", sentence, command, (f"claim: {key}",))
        for key, sentence in published.get("claims", {}).items()
        if f"claim: {key}" not in named
    ]


def items_named(word: str, items: list[Item]) -> list[Item]:
    """Return the items that match a name such as ``fig3.6``, ``figure 3.6`` or ``table5.1``."""
    match = ITEM_NAME.match(word.strip().lower())
    if match is None:
        return []
    return [item for item in items if _names(item.item, *match.groups())]


def _names(item: str, kind: str, number: str) -> bool:
    """Return whether an item such as ``Figures 5.5 to 5.8`` includes a number of this kind."""
    first, _, rest = item.partition(" ")
    if not first.lower().startswith(kind):
        return False
    spans = [span.split(" to ") for span in rest.partition(", eq")[0].split(", ")]
    spans, digits = [span for span in spans if span[0][:1].isdigit()], _numbers(number)
    return any(_numbers(span[0]) <= digits <= _numbers(span[-1]) for span in spans)


def _numbers(number: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", number))


def items_table(items: list[Item], record: Record) -> Table:
    """Return a table of the items with their status in a run."""
    rows = []
    for item in items:
        statuses = [evidence_status(reference, record) for reference in item.evidence]
        words = "; ".join(dict.fromkeys(filter(None, [item.status, *statuses])))
        command = f"`{item.command}`" if item.command else "-"
        evidence = tuple(map(evidence_text, item.evidence))
        rows.append((item.item, item.about, words or MISSING, evidence, command))
    return Table("items", "Every section, table, figure and claim", HEAD, tuple(rows))


def evidence_text(reference: str) -> str:
    """Format a reference to evidence for a table: ``chart: NAME`` becomes ``chart NAME``."""
    kind, _, key = reference.partition(": ")
    if kind == "test":
        return key
    if kind in ("chart", "claim"):
        return f"{kind} {key}"
    return f"table {kind}, {key}" if key else f"table {kind}"


def evidence_status(reference: str, record: Record) -> str:
    """Return the status of a reference in a run, or `MISSING`."""
    kind, _, key = reference.partition(": ")
    if kind == "test":
        return "tested"
    if kind == "chart":
        return "plotted" if key in record.charts else MISSING
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
    """Return statuses with their counts as text, without "not published".

    If no other status is left, return "computed", or `MISSING` without any status.
    """
    compared = [status for status in statuses if status != "not published"]
    if not compared:
        return "computed" if statuses else MISSING
    return counted(compared)


# ---------------------------------------------------------------------------------- findings
SHORT = 120
"""Maximum number of rows of a table on a page."""


@dataclass(frozen=True)
class Findings:
    """Base class of the findings of a study. Each paper adds results and their presentation.

    Attributes:
        paper: Name of the paper.
        published: Content of the paper's ``published.json``.
        inputs: Names of additional input files, see `report.inputs`.
        setting: Commit, processor and versions of the run.
    """

    paper: ClassVar[str]
    published: ClassVar[Mapping[str, Any]]
    inputs: ClassVar[tuple[str, ...]] = ()

    setting: Mapping[str, str]

    # ------------------------------------------------------- implemented by a paper
    def paragraphs(self) -> Iterable[str]:
        """Return the findings as paragraphs of text, with published and computed values."""
        raise NotImplementedError

    def values(self) -> Mapping[str, Any]:
        """Return the findings as values for JSON; arrays and tuples are allowed."""
        raise NotImplementedError

    def csv_tables(self) -> Iterable[Table]:
        """Return the tables for CSV files."""
        return ()

    def pictures(self) -> Iterable[Chart]:
        """Return the charts."""
        return ()

    def page_tables(self) -> Iterable[Table]:
        """Yield the tables for pages and stored runs: short ones, without charts and claims."""
        drawn = {chart.name for chart in self.pictures()}
        for table in self.csv_tables():
            if len(table.rows) <= SHORT and table.name not in drawn and table.name != "claims":
                yield table

    def judged(self) -> Sequence[Claim]:
        """Return the claims with their verdicts."""
        return getattr(self, "claims", ())

    def record(self, seconds: float) -> Record:
        """Create the record of this run, which took `seconds` of CPU time."""
        return Record(
            self.paper,
            datetime.now(timezone.utc).date().isoformat(),
            seconds,
            dict(self.setting),
            {table.name: table for table in self.page_tables()},
            claim_rows(self.judged(), self.published),
            [chart.name for chart in self.pictures()],
            input_digests(self.paper, self.inputs),
        )

    # ---------------------------------------------------------------- presentation
    def __str__(self) -> str:
        """Return the findings as text."""
        setting = ", ".join(f"{key} {value}" for key, value in self.setting.items())
        return "\n\n".join([setting, *self.paragraphs()])

    def content(self) -> dict[str, Any]:
        """Return the findings as plain values for JSON. Non-finite numbers become None."""
        head = {"paper": self.paper, "source": self.published["source"], "setting": self.setting}
        return plain(head | dict(self.values()))

    def write(self, folder: Path) -> list[Path]:
        """Write each table as CSV and each chart as PNG and SVG; return the file paths."""
        files = [table.write(folder) for table in self.csv_tables()]
        for chart in self.pictures():
            files += draw(chart, folder)
        return files
