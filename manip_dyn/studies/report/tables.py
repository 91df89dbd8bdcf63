"""Tables as aligned text, plain values and CSV files."""

from __future__ import annotations

import csv
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

WIDTH = 99
EVIDENCE = "evidence"
"""Name of the column that refers to other tables, charts and tests."""
LARGE = 1e5
"""Magnitude from which a page shows a large number in scientific notation."""


class Table(NamedTuple):
    """A named table with a title, column names and rows.

    Attributes:
        name: Name of the table and of its file.
        title: Title with units.
        head: Column names.
        rows: Rows of strings and numbers.
        timed: Names of columns with measured times, which depend on the machine and its load.
        digits: Significant digits of numbers on a page.
        rounded: Names of columns whose numbers amplify rounding errors, such as errors of unstable
            runs. They vary between machines, see `report.findings.stale`.
    """

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    timed: tuple[str, ...] = ()
    digits: int = 3
    rounded: tuple[str, ...] = ()

    def content(self) -> dict[str, Any]:
        """Return the table as plain values, with one mapping per row."""
        rows = [dict(zip(self.head, row, strict=True)) for row in self.rows]
        return {"name": self.name, "title": self.title, "rows": rows}

    def text(self, shown: Callable[[Any], str] = str) -> str:
        """Format the table with its title as text; `shown` converts a cell to a string."""
        title = textwrap.wrap(f"{self.name}: {self.title}", WIDTH)
        return "\n".join([*title, columns([self.head, *(map(shown, row) for row in self.rows)])])

    def write(self, folder: Path) -> Path:
        """Write the table as a CSV file and return the file path.

        In a cell with several items, numbers are separated by " " and strings by "; ".
        """
        path = folder / f"{self.name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.head)
            writer.writerows([_cell(value) for value in row] for row in self.rows)
        return path


def table_of(name: str, title: str, rows: Sequence[Any]) -> Table:
    """Create a table from a non-empty sequence of NamedTuples of one type."""
    return Table(name, title, rows[0]._fields, tuple(tuple(row) for row in rows))


def columns(rows: Iterable[Iterable[str]]) -> str:
    """Format rows as aligned text: the first column to the left, the others to the right."""
    cells = [tuple(row) for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = []
    for first, *rest in cells:
        right = (f"  {cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        lines.append(f"  {first:<{widths[0]}}{''.join(right)}".rstrip())
    return "\n".join(lines)


def number(value: float, form: str) -> str:
    """Format a number, or return a dash if it is not finite."""
    return format(value, form) if math.isfinite(value) else "-"


def cell(value: Any, digits: int = 3) -> str:
    """Format a value as the text of a table cell."""
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return "; ".join(cell(item, digits) for item in value) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "-"
        text = format(value, f".{digits}g")
        return f"{float(text):.0f}" if 10.0**digits <= abs(value) < LARGE else text
    return str(value)


def plain(value: Any) -> Any:
    """Convert nested values for JSON: tuples and arrays to lists, non-finite numbers to None."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    return ("; " if all(isinstance(item, str) for item in value) else " ").join(map(str, value))
