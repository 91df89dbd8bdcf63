"""Benchmark records: the rows of a suite with the commit, processor and library versions.

A suite is a module of this package that defines

    PACKAGES    names of the packages with recorded versions
    Row         a NamedTuple with one measurement
    measure     a function that measures and returns rows
    table       a function that formats rows as text
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
from manip_dyn.core.atomic_files import write_atomically
from manip_dyn.core.errors import ManipDynError

SUITES = (
    *("dynamics", "calls", "growth", "clik", "integrators"),
    *("planning", "path_timing", "execution", "stiff", "mechanisms", "ensembles"),
    *("collisions", "sweeps", "cold"),
)


class Suite(Protocol):
    """Interface of a suite module."""

    PACKAGES: tuple[str, ...]
    Row: Any

    def measure(self, *arguments: Any) -> Sequence[Any]:
        """Measure and return rows."""

    def table(self, rows: Sequence[Any]) -> str:
        """Format rows as text."""


def suite(name: str) -> Suite:
    """Return the module of a suite."""
    return import_module(f"manip_dyn.bench.{name}")


class Record(NamedTuple):
    """A measurement of a suite.

    Attributes:
        suite: One of `SUITES`.
        date: Date, UTC.
        setting: Commit, processor, library versions, and load average before the measurement.
        rows: Rows of the suite.
    """

    suite: str
    date: str
    setting: dict[str, str]
    rows: list[Any]

    def content(self) -> dict[str, Any]:
        """Return the record as plain values for JSON."""
        return self._asdict() | {"rows": [_plain(row) for row in self.rows]}

    def __str__(self) -> str:
        """Return the setting and the suite's table."""
        head = ", ".join(f"{key} {value}" for key, value in self.setting.items())
        return f"{head}\n{suite(self.suite).table(self.rows)}"


def bench(name: str, *arguments: Any) -> Record:
    """Run a benchmark suite and return its record.

    Args:
        name: One of `SUITES`.
        *arguments: Arguments of `measure`, such as the robots. Default: the suite's defaults.
    """
    module = suite(name)
    entries = dict(setting(module.PACKAGES))
    for package in module.PACKAGES:
        entries.setdefault(package, "not installed")
    if hasattr(os, "getloadavg"):
        entries["load"] = f"{os.getloadavg()[0]:.1f}"  # other load increases the times
    today = datetime.now(timezone.utc).date().isoformat()
    return Record(name, today, entries, list(module.measure(*arguments)))


# --------------------------------------------------------------------------- files
def keep(record: Record, folder: Path) -> Path:
    """Write a record to ``<suite>-<commit>.json`` and return the file path.

    Raises:
        ManipDynError: If the commit is not clean, or the file cannot be written.
    """
    path = folder / f"{record.suite}-{clean_commit(record.setting)}.json"
    text = json.dumps(record.content(), indent=1) + "\n"
    try:
        write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        raise ManipDynError(f"'{path}' cannot be written: {error.strerror or error}.") from error
    return path


def clean_commit(entries: dict[str, str]) -> str:
    """Return the commit of a setting.

    Raises:
        ManipDynError: If there are uncommitted changes, or the commit is unknown.
    """
    commit = entries.get("commit", "unknown")
    if commit == "unknown" or commit.endswith("-dirty"):
        raise ManipDynError(
            f"the commit of this package must be clean to store a record, got '{commit}'. "
            "Commit the changes first."
        )
    return commit


def read_record(path: Path) -> Record:
    """Read a record from a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    row_type = suite(content["suite"]).Row
    rows = [row_type(**_timed(row)) for row in content["rows"]]
    return Record(**content | {"rows": rows})


def _plain(row: Any) -> dict[str, Any]:
    values = row._asdict()
    if "timings" in values:
        values["timings"] = [timing._asdict() for timing in values["timings"]]
    return values


def _timed(values: dict[str, Any]) -> dict[str, Any]:
    if "timings" not in values:
        return values
    return values | {"timings": [Timing(**timing) for timing in values["timings"]]}
