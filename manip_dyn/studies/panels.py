"""Charts of several panels and tables, as plain records that can be drawn, printed and stored."""

from __future__ import annotations

from typing import Any, NamedTuple


class Line(NamedTuple):
    """A line of a panel.

    Attributes:
        label: What it is; empty for none in the legend.
        x: Horizontal values.
        y: Vertical values, as many.
        color: Which colour of the cycle; None for grey.
        style: ``-``, ``--``, ``:``, ``o`` for dots only, ``bar`` for bars.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    color: int | None = 0
    style: str = "-"


class Panel(NamedTuple):
    """A pair of axes.

    Attributes:
        title: What it shows.
        x: Label of the horizontal axis, with unit.
        y: Label of the vertical axis, with unit.
        lines: What is drawn.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is logarithmic.
        equal: Whether both axes have one scale.
        ticks: Names at horizontal (or, for dots over names, vertical) places 0, 1, ...
        bottom: Least vertical value that is shown; None for all.
        top: Largest vertical value that is shown; None for all.
    """

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    equal: bool = False
    ticks: tuple[str, ...] = ()
    bottom: float | None = None
    top: float | None = None


class Chart(NamedTuple):
    """A picture.

    Attributes:
        name: Its name, and that of its files.
        title: What it shows.
        panels: Row by row.
        columns: Panels in a row.
        size: Width and height, inch.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    columns: int
    size: tuple[float, float]

    def content(self) -> dict[str, Any]:
        """Return it as plain values."""
        panels = [
            panel._asdict() | {"lines": [line._asdict() for line in panel.lines]}
            for panel in self.panels
        ]
        return self._asdict() | {"panels": panels}

    def rows(self) -> list[tuple[str, str, float, float]]:
        """Return panel, line, x and y of every point."""
        return [
            (panel.title, line.label, x, y)
            for panel in self.panels
            for line in panel.lines
            for x, y in zip(line.x, line.y, strict=True)
        ]


class Table(NamedTuple):
    """A table.

    Attributes:
        name: Its name, and that of its file.
        title: What it says, with units.
        head: Names of the columns.
        rows: Texts and numbers.
    """

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def content(self) -> dict[str, Any]:
        """Return it as plain values, a mapping per row."""
        rows = [dict(zip(self.head, row, strict=True)) for row in self.rows]
        return {"name": self.name, "title": self.title, "rows": rows}
