"""What a sweep found: a row for every case."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.results import Result
from manip_dyn.ensembles.sweeps.parts import read_rows
from manip_dyn.ensembles.sweeps.rows import Row


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(Result):
    """The rows of a sweep, by case.

    Attributes:
        rows: For each case its number, its values, the results, ``success``, ``status`` and
            ``reason``.
        folder: Where they are kept; None if they are not.
        repeated: How many cases were done before, by a sweep that this one resumed.
    """

    rows: list[Row] = field(repr=False)
    folder: Path | None = None
    repeated: int = 0

    @property
    def success(self) -> bool:
        """Whether every case is a success."""
        return all(row["success"] for row in self.rows)

    @property
    def status(self) -> str:
        """``solved`` if every case is a success, else ``partly``."""
        return "solved" if self.success else "partly"

    @property
    def reason(self) -> str:  # type: ignore[override]
        """The same in one sentence."""
        count = sum(row["success"] for row in self.rows)
        return f"{count} of {len(self.rows)} cases succeeded"

    @property
    def statuses(self) -> Counter[str]:
        """How many cases have each status."""
        return Counter(row["status"] for row in self.rows)

    def column(self, name: str) -> np.ndarray:
        """Return a column, (cases,), or (cases, k) for vectors; NaN where a number is missing."""
        known = list(dict.fromkeys(each for row in self.rows for each in row))
        if name not in known:
            raise ManipDynError(f"the sweep has no column '{name}'{closest(name, known)}")
        values: list[Any] = [row.get(name) for row in self.rows]
        kept = [value for value in values if value is not None]
        if kept and isinstance(kept[0], list):
            none = [np.nan] * len(kept[0])
            return np.array([none if value is None else value for value in values])
        if kept and not isinstance(kept[0], str) and len(kept) < len(values):
            return np.array([np.nan if value is None else value for value in values], float)
        return np.array(values)


def read_sweep(folder: str | Path) -> SweepResult:
    """Return what a sweep has written so far.

    Args:
        folder: Its parts, ``part-*.parquet``.

    Raises:
        ManipDynError: If there are none, or pyarrow is not installed.
    """
    return SweepResult(read_rows(folder), Path(folder))
