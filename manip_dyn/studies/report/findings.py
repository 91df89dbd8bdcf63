"""What a study found and how it is told: text for people, JSON, CSV files and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar

from manip_dyn.studies.report.charts import Chart, draw
from manip_dyn.studies.report.claims import Claim, claim_rows
from manip_dyn.studies.report.record import Record
from manip_dyn.studies.report.tables import Table, plain

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
