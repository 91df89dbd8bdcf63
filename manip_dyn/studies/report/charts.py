"""Charts with several panels as plain data. Drawing them requires the extra ``plot``."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.plots import figure_type
from manip_dyn.studies.report.tables import Table

MARKERS = "os^Dv<>PX*"
LONG = 26
"""Number of characters above which the unit of a vertical label is on a separate line."""
FEW = 300.0
"""Ratio of the axis limits below which a logarithmic axis has labels between powers of ten."""


class Line(NamedTuple):
    """A line in a panel.

    Attributes:
        label: Label in the legend, or "".
        x: Horizontal values (m,).
        y: Vertical values (m,).
        color: Index in the colour cycle, or None for grey.
        style: Line style ``-``, ``--``, ``:`` or ``-.``. A following ``o`` adds a marker at every
            point, which is hollow for dashed lines. ``o`` alone draws only markers, ``bar`` bars.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    color: int | None = 0
    style: str = "-"


class Panel(NamedTuple):
    """A panel with a pair of axes.

    Attributes:
        title: Title of the panel.
        x: Label of the horizontal axis, with unit.
        y: Label of the vertical axis, with unit.
        lines: Lines in the panel.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is logarithmic.
        equal: Whether both axes have the same scale.
        ticks: Labels at the values 0, 1, ... of the horizontal axis for bars, of the vertical
            axis otherwise.
        bottom: Lower limit of the vertical axis, or None.
        top: Upper limit of the vertical axis, or None.
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
    """A chart with one or more panels.

    Attributes:
        name: Name of the chart and of its files.
        title: Title of the chart.
        panels: Panels, row by row.
        columns: Number of panels per row.
        size: Width and height, inches.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    columns: int
    size: tuple[float, float]

    def content(self) -> dict[str, Any]:
        """Return the chart as plain values for JSON."""
        panels = [
            panel._asdict() | {"lines": [line._asdict() for line in panel.lines]}
            for panel in self.panels
        ]
        return self._asdict() | {"panels": panels}

    def table(self) -> Table:
        """Return a table with panel, line, x and y of every point."""
        rows = (
            (panel.title, line.label, x, y)
            for panel in self.panels
            for line in panel.lines
            for x, y in zip(line.x, line.y, strict=True)
        )
        return Table(self.name, self.title, ("panel", "line", "x", "y"), tuple(rows))


def figure_name(item: str) -> str:
    """Return the title of an item: "Figure 7" for ``fig7``, the capitalized name for others."""
    return f"Figure {item[3:]}" if item[:3] == "fig" else item.capitalize()


def draw(chart: Chart, folder: Path) -> list[Path]:
    """Write a chart as PNG and SVG and return the file paths."""
    picture = figure_type()(figsize=chart.size, layout="constrained")
    rows = -(-len(chart.panels) // chart.columns)
    grid = picture.subplots(rows, chart.columns, squeeze=False)
    for axes, panel, below in zip_longest(grid.flat, chart.panels, chart.panels[chart.columns :]):
        if panel is None:
            axes.set_axis_off()
        else:
            _panel(axes, panel, labelled=below is None or below.x != panel.x)
    picture.suptitle(chart.title)
    _legend(picture, grid)
    files = [folder / f"{chart.name}.{kind}" for kind in ("png", "svg")]
    for file in files:
        picture.savefig(file, dpi=120)
        picture.set_layout_engine("none")  # later files reuse the layout of the first file
    return files


def _panel(axes: Any, panel: Panel, labelled: bool) -> None:
    for line in panel.lines:
        _line(axes, line)
    if panel.log_x:
        axes.set_xscale("log")
        _label_decades(axes)
    if panel.log_y:
        axes.set_yscale("log")
    if panel.ticks and panel.lines[0].style == "bar":
        axes.set_xticks(range(len(panel.ticks)), panel.ticks)
    elif panel.ticks:
        axes.set_yticks(range(len(panel.ticks)), panel.ticks)
        axes.invert_yaxis()
    if panel.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if panel.bottom is not None or panel.top is not None:
        axes.set_ylim(panel.bottom, panel.top)
    upright = panel.y.replace(" [", "\n[") if len(panel.y) > LONG else panel.y
    axes.set(title=panel.title, xlabel=panel.x if labelled else "", ylabel=upright)
    axes.title.set_fontsize(10)
    axes.xaxis.label.set_fontsize(9)
    axes.yaxis.label.set_fontsize(9)
    axes.grid(which="major", alpha=0.35)
    axes.set_axisbelow(True)


def _label_decades(axes: Any) -> None:
    """Label powers of ten on a horizontal axis, with multiples of 2 and 5 if there are few."""
    from matplotlib.ticker import LogLocator

    low, high = axes.get_xlim()
    few = low > 0.0 and high < FEW * low
    if few:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter("{x:g}")
    axes.tick_params(axis="x", which="minor", labelbottom=False)


def _line(axes: Any, line: Line) -> None:
    color = "0.45" if line.color is None else f"C{line.color}"
    label = line.label or None
    if line.style == "bar":
        bars = axes.bar(line.x, line.y, color=color, width=0.6, label=label)
        axes.bar_label(bars, fmt="%.3g", padding=2)
        return
    dash, dots = line.style.removesuffix("o"), line.style.endswith("o")
    axes.plot(
        line.x,
        line.y,
        color=color,
        label=label,
        linestyle=dash or "none",
        linewidth=1.3,
        marker=MARKERS[(line.color or 0) % len(MARKERS)] if dots else "",
        markersize=4.5 if dash else 6.0,
        markerfacecolor="white" if dash == "--" else color,
        alpha=1.0 if dash else 0.8,
    )


def _legend(picture: Any, grid: Any) -> None:
    """Draw a common legend below the panels if there are several labels."""
    entries: dict[str, Any] = {}
    for axes in grid.flat:
        handles, labels = axes.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    if len(entries) > 1:
        columns = int(12.0 * picture.get_figwidth() / (6 + max(map(len, entries))))
        lines = -(-len(entries) // max(1, min(columns, 7)))
        per_row = -(-len(entries) // lines)
        picture.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=per_row,
            frameon=False,
        )
