"""Draws a `Chart` as PNG and SVG; needs matplotlib (the extra ``plot``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manip_dyn.plots import figure_type
from manip_dyn.studies.panels import Chart, Line, Panel

MARKERS = "os^Dv<>P"


def draw(chart: Chart, folder: Path) -> list[Path]:
    """Write a chart as PNG and SVG; return the files."""
    picture = figure_type()(figsize=chart.size, layout="constrained")
    rows = -(-len(chart.panels) // chart.columns)
    grid = picture.subplots(rows, chart.columns, squeeze=False)
    for axes, panel in zip(grid.flat, chart.panels, strict=False):
        _panel(axes, panel)
    picture.suptitle(chart.title)
    _legend(picture, grid)
    files = [folder / f"{chart.name}.{kind}" for kind in ("png", "svg")]
    for file in files:
        picture.savefig(file, dpi=120)
    return files


def _panel(axes: Any, panel: Panel) -> None:
    for line in panel.lines:
        _line(axes, line)
    if panel.log_x:
        axes.set_xscale("log")
        axes.tick_params(axis="x", which="minor", labelbottom=False)
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
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    axes.title.set_fontsize(10)
    axes.grid(which="major", alpha=0.35)


def _line(axes: Any, line: Line) -> None:
    color = "0.45" if line.color is None else f"C{line.color}"
    label = line.label or None
    if line.style == "bar":
        bars = axes.bar(line.x, line.y, color=color, width=0.6, label=label)
        axes.bar_label(bars, fmt="%.3g", padding=2)
    elif line.style == "o":
        marker = MARKERS[(line.color or 0) % len(MARKERS)]
        axes.plot(line.x, line.y, marker, color=color, label=label, alpha=0.8)
    else:
        axes.plot(line.x, line.y, line.style, color=color, linewidth=1.3, label=label)


def _legend(picture: Any, grid: Any) -> None:
    """Draw one legend of all labels below the panels."""
    found: dict[str, Any] = {}
    for axes in grid.flat:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    if len(found) > 1:
        room = int(12.0 * picture.get_figwidth() / (6 + max(map(len, found))))
        lines = -(-len(found) // max(1, min(room, 7)))
        per_row = -(-len(found) // lines)
        picture.legend(
            found.values(), found.keys(), loc="outside lower center", ncols=per_row,
            frameon=False,
        )  # fmt: skip
