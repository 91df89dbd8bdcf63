"""A suite's rows with the setting they were measured in: what `manip_dyn bench` prints and keeps.

A suite is a module of this package with

    PACKAGES    whose versions a time means nothing without
    Row         a NamedTuple: one measurement
    measure     what measures: returns rows
    table       the text of rows
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from manip_dyn.bench.timing import Timing, setting
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import write_atomically

SUITES = (
    *("dynamics", "growth", "clik", "integrators"),
    *("planning", "path_timing", "stiff", "ensembles", "cold"),
)


class Suite(Protocol):
    """What the module of a suite has."""

    PACKAGES: tuple[str, ...]
    Row: Any

    def measure(self, *arguments: Any) -> Sequence[Any]:
        """Return the rows."""

    def table(self, rows: Sequence[Any]) -> str:
        """Return them as text."""


def suite(name: str) -> Suite:
    """Return the module of a suite."""
    return import_module(f"manip_dyn.bench.{name}")


class Record(NamedTuple):
    """What was measured.

    Attributes:
        suite: One of `SUITES`.
        date: Day, UTC.
        setting: Commit, processor, versions, load of the machine before.
        rows: The suite's.
    """

    suite: str
    date: str
    setting: dict[str, str]
    rows: list[Any]

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return self._asdict() | {"rows": [_plain(row) for row in self.rows]}

    def __str__(self) -> str:
        """Return the setting and the suite's table."""
        head = ", ".join(f"{key} {value}" for key, value in self.setting.items())
        return f"{head}\n{suite(self.suite).table(self.rows)}"


def bench(name: str, *arguments: Any) -> Record:
    """Measure a suite.

    Args:
        name: One of `SUITES`.
        *arguments: For its `measure`, such as the robots; without, what it always takes.
    """
    module = suite(name)
    found = dict(setting(module.PACKAGES))
    for package in module.PACKAGES:
        found.setdefault(package, "not installed")
    if hasattr(os, "getloadavg"):
        found["load"] = f"{os.getloadavg()[0]:.1f}"  # of others: it tells how to read times
    today = datetime.now(timezone.utc).date().isoformat()
    return Record(name, today, found, list(module.measure(*arguments)))


# -------------------------------------------------------------------------- as data
def keep(record: Record, folder: Path) -> Path:
    """Write a record as ``<suite>-<commit>.json`` and return the file.

    Raises:
        ManipDynError: If it is not of a clean commit, or cannot be written.
    """
    path = folder / f"{record.suite}-{clean_commit(record.setting)}.json"
    text = json.dumps(record.content(), indent=1) + "\n"
    try:
        write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        raise ManipDynError(f"'{path}' cannot be written: {error.strerror or error}") from error
    return path


def clean_commit(found: dict[str, str]) -> str:
    """Return the commit of a setting, by which a record can be measured again.

    Raises:
        ManipDynError: If files were changed since, or there is no commit.
    """
    commit = found.get("commit", "unknown")
    if commit == "unknown" or commit.endswith("-dirty"):
        raise ManipDynError(
            f"the commit of this package is '{commit}'; expected a clean one to keep a record of: "
            "commit what is changed first"
        )
    return commit


def read_record(path: Path) -> Record:
    """Return a kept record."""
    content = json.loads(path.read_text(encoding="utf-8"))
    row_type = suite(content["suite"]).Row
    rows = [row_type(**_timed(row)) for row in content["rows"]]
    return Record(**content | {"rows": rows})


def _plain(row: Any) -> dict[str, Any]:
    values = row._asdict()
    if "timings" in values:
        values["timings"] = [each._asdict() for each in values["timings"]]
    return values


def _timed(values: dict[str, Any]) -> dict[str, Any]:
    if "timings" not in values:
        return values
    return values | {"timings": [Timing(**each) for each in values["timings"]]}
