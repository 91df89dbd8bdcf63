"""Charts of error against computing time; need matplotlib (the extra ``plot``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manip_dyn.plots import figure_type
from manip_dyn.studies.galhano1994_figures import Figure

SHOWN = (2e-15, 10.0)
"""Errors that a chart shows at most."""
MARKERS = "os^Dv<>PX*"


def draw(figure: Figure, folder: Path) -> list[Path]:
    """Write a chart as PNG and SVG; return the files."""
    picture = figure_type()(figsize=(8.0, 5.4), layout="constrained")
    axes = picture.subplots()
    _lines(axes, figure)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("computing time of the motion, one CPU core [s]")
    axes.set_ylabel(figure.quantity)
    axes.set_title(f"{figure.robot}, {figure.name}: {figure.title}")
    axes.grid(which="major", alpha=0.35)
    axes.grid(which="minor", alpha=0.08)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    files = [folder / f"{figure.name}_{figure.robot}.{kind}" for kind in ("png", "svg")]
    for file in files:
        picture.savefig(file, dpi=130)
    return files


def _lines(axes: Any, figure: Figure) -> None:
    """Draw a line per curve; a dashed one shares colour and marker with the curve before it."""
    style = -1
    for curve in figure.curves:
        shown = curve.between(*SHOWN).points
        style += not curve.dashed
        axes.plot(
            [point.seconds for point in shown],
            [point.error for point in shown],
            color=f"C{style % 10}",
            marker=MARKERS[style % len(MARKERS)],
            markersize=4.5,
            markerfacecolor="white" if curve.dashed else None,
            linestyle="--" if curve.dashed else "-",
            linewidth=1.3,
            label=curve.label,
        )
