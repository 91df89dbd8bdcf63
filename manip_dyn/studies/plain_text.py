"""Text of studies: columns, numbers, indented paragraphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

WIDTH = 99


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for first, *others in rows:
        cells = (f"  {cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        lines.append(f"  {first:<{widths[0]}}{''.join(cells)}".rstrip())
    return "\n".join(lines)


def number(value: float, form: str) -> str:
    """Return a number as text; a dash if it is not finite."""
    return format(value, form) if math.isfinite(value) else "-"


def indented(width: int) -> dict[str, Any]:
    """Return the options of `textwrap.wrap` for an indented paragraph."""
    return {"initial_indent": " " * width, "subsequent_indent": " " * width}
