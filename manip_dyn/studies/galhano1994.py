"""Galhano, Machado (1994): Table 1 and Figures 2 to 7 recomputed, and the paper's claims judged.

Tenreiro Machado, J. A., Galhano, A. M. S. F., Evaluation of manipulator direct dynamics using
customized Runge-Kutta methods (received June 1994). Beside the paper's RR arm the same charts
for the PA-10, and a chart of energy drift. All choices are in ``config/galhano1994.yaml``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.bench.timing import setting
from manip_dyn.integrate import METHODS
from manip_dyn.studies import galhano1994_report as report
from manip_dyn.studies.charts import draw
from manip_dyn.studies.galhano1994_claims import Claim, claims
from manip_dyn.studies.galhano1994_figures import Figure, evenly_stepped, sketch, timed_figures
from manip_dyn.studies.galhano1994_findings import Findings, Reference, StageRow
from manip_dyn.studies.galhano1994_settings import Settings, read_settings
from manip_dyn.studies.motion import Motion

PUBLISHED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
FIGURES = tuple(PUBLISHED["figures"])
ITEMS = ("table1", *FIGURES, "energy", "claims", "all")


class Galhano1994(Findings):
    """What the study found, and how it is told."""

    def __str__(self) -> str:
        """Return all tables."""
        return report.text(self, PUBLISHED)

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; what is not a number is null."""
        return report.content(self, PUBLISHED)

    def write(self, folder: Path) -> list[Path]:
        """Write a CSV per table and chart, and PNG and SVG of each chart; return the files."""
        files = report.write_tables(self, folder)
        for figure in self.figures:
            files += draw(figure, folder)
        return files


def table1() -> tuple[StageRow, ...]:
    """Return Table 1: the number of stages of each method."""
    rows = []
    for name, published in PUBLISHED["stages"].items():
        computed = METHODS[name].stages
        status = "reproduced" if computed == published else "differs"
        rows.append(StageRow(name, published, computed, computed - published, status))
    return tuple(rows)


def recompute(
    item: str = "all",
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Galhano1994:
    """Return an item of the paper, recomputed.

    Args:
        item: One of `ITEMS`; ``"claims"`` takes all figures.
        settings: Default: those in ``config/galhano1994.yaml``.
        progress: Told what is being done.
    """
    found = Galhano1994(dict(setting(("manip_dyn", "numba", "numpy"))))
    if item in ("table1", "all"):
        found = replace(found, table1=table1())
    names = [name for name in FIGURES if item in (name, "claims", "all")]
    settings = settings or read_settings()
    for robot in settings.motions if names else ():
        found = _with_figures(found, robot, names, settings, progress)
    if item in ("energy", "all"):
        for robot in settings.motions:
            progress(f"energy, {robot}")
            found = replace(found, figures=(*found.figures, _energy(robot, settings)))
    return found


def _with_figures(
    found: Galhano1994,
    robot: str,
    names: Sequence[str],
    settings: Settings,
    progress: Callable[[str], None],
) -> Galhano1994:
    """Return what was found with one robot's charts and, if they are complete, its claims."""
    motion = Motion(robot, settings.motions[robot], settings.most_steps)
    reference = Reference(robot, motion.reference.steps, motion.cross_check)
    sketches = []
    for name in names:
        progress(f"{name}, {robot}: errors")
        sketches.append(sketch(name, PUBLISHED["figures"][name], motion, settings))
    progress(f"{', '.join(names)}, {robot}: times")
    figures = timed_figures(sketches, settings)
    judged = list(_claims(motion, figures, settings)) if len(names) == len(FIGURES) else []
    return replace(
        found,
        references=(*found.references, reference),
        figures=(*found.figures, *figures),
        claims=(*found.claims, *judged),
    )


def _claims(motion: Motion, figures: Sequence[Figure], settings: Settings) -> Iterable[Claim]:
    embedded = [curve for figure in figures if figure.name > "fig3" for curve in figure.curves]
    even = [evenly_stepped(motion, curve) for curve in embedded]
    return claims(figures, even, settings.compared_errors)


def _energy(robot: str, settings: Settings) -> Figure:
    """Return the energy-drift chart: the same start, no efforts."""
    start = settings.motions[robot]
    free = replace(start, efforts=np.zeros_like(start.efforts))
    motion = Motion(robot, free, settings.most_steps)
    (figure,) = timed_figures([sketch("energy", "free motion", motion, settings)], settings)
    return figure
