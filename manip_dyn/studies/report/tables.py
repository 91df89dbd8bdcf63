"""Tables: as text in columns, as plain values, as CSV files."""

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
"""The column that refers to other tables, charts and tests."""
LARGE = 1e5
"""From here on a page shows a number with a power of ten."""


class Table(NamedTuple):
    """A table.

    Attributes:
        name: Its name, and that of its file.
        title: What it says, with units.
        head: Names of the columns.
        rows: Texts and numbers.
        timed: Columns whose numbers depend on the machine and its load.
        digits: How many a page shows of a number.
    """

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    timed: tuple[str, ...] = ()
    digits: int = 3

    def content(self) -> dict[str, Any]:
        """Return it as plain values, a mapping per row."""
        rows = [dict(zip(self.head, row, strict=True)) for row in self.rows]
        return {"name": self.name, "title": self.title, "rows": rows}

    def text(self, shown: Callable[[Any], str] = str) -> str:
        """Return it under its title; `shown` makes text of a cell."""
        title = textwrap.wrap(f"{self.name}: {self.title}", WIDTH)
        return "\n".join([*title, columns([self.head, *(map(shown, row) for row in self.rows)])])

    def write(self, folder: Path) -> Path:
        """Write it as CSV and return the file; lists of numbers have blanks, of texts "; "."""
        path = folder / f"{self.name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.head)
            writer.writerows([_cell(value) for value in row] for row in self.rows)
        return path


def table_of(name: str, title: str, rows: Sequence[Any]) -> Table:
    """Return records of one type, a NamedTuple, as a table."""
    return Table(name, title, rows[0]._fields, tuple(tuple(row) for row in rows))


def columns(rows: Iterable[Iterable[str]]) -> str:
    """Return rows as text: the first column to the left, the others to the right."""
    cells = [tuple(row) for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = []
    for first, *others in cells:
        right = (f"  {cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        lines.append(f"  {first:<{widths[0]}}{''.join(right)}".rstrip())
    return "\n".join(lines)


def number(value: float, form: str) -> str:
    """Return a number as text; a dash if it is not finite."""
    return format(value, form) if math.isfinite(value) else "-"


def cell(value: Any, digits: int = 3) -> str:
    """Return a value as text."""
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return "; ".join(cell(each, digits) for each in value) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "-"
        told = format(value, f".{digits}g")
        return f"{float(told):.0f}" if 10.0**digits <= abs(value) < LARGE else told
    return str(value)


def plain(value: Any) -> Any:
    """Return nested values with lists for tuples and arrays, and None for what is not finite."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    return ("; " if all(isinstance(each, str) for each in value) else " ").join(map(str, value))
