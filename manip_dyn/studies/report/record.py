"""A study's run as data that a page is written from, and whether a later run still says the same.

``docs/studies/PAPER.json`` keeps the run of all items: commit and versions, tables, claims, names
of charts. Columns of times are marked; everything else must come out again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import write_whole
from manip_dyn.studies.report.status import AT_THE_LIMIT, SECONDS
from manip_dyn.studies.report.tables import Table, plain

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
        write_whole(path, (_lines(self.content()) + "\n").encode())
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
