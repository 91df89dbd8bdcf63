"""Errors at equal cost, counted in evaluations of the inverse, and how Adams methods start.

An evaluation is one generalized inverse of the Jacobian, what the paper calls the computational
load: it is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from manip_dyn.integration import METHODS
from manip_dyn.studies.report.charts import Chart, Line, Panel
from manip_dyn.studies.report.tables import Table
from manip_dyn.studies.sariyildiz2011.cases import (
    COARSE,
    FINE,
    LABELS,
    Case,
    shown,
)
from manip_dyn.studies.sariyildiz2011.runs import Runs

TARGETS = (1e-4, 1e-6, 1e-8)
"""Errors whose cost is compared, m; 1e-6 m is what the paper prints for RK2 at 100 ms."""
ADAMS = {"ab4": "ab4_rising", "abm4": "abm4_rising"}
Curve = list[tuple[float, float]]
"""Evaluations per second of motion, and error, m, from coarse to fine."""


def places(runs: Runs) -> list[tuple[str, float]]:
    """Return every circle with the two gains of the study's tables."""
    gains = dict.fromkeys((runs.settings.gain, runs.settings.gains[-1]))
    return [(circle, gain) for circle in runs.settings.circles for gain in gains]


def curve(runs: Runs, circle: str, gain: float, method: str) -> Curve:
    """Return error over evaluations of a method, stable runs only."""
    found = []
    for step in sorted(runs.settings.order_steps, reverse=True):
        run = runs.run(Case(circle, method, step, gain, laps=runs.settings.laps))
        if run.stable:
            found.append((METHODS[method].stages / step, run.steady))
    return found


def evaluations_to(points: Curve, error: float) -> float:
    """Return the evaluations per second with which an error is first reached; inf: never."""
    if points and points[0][1] <= error:
        return points[0][0]
    for (count, large), (more, small) in pairwise(points):
        if large > error >= small:
            share = np.log(large / error) / np.log(large / small)
            return float(np.exp(np.log(count) + share * np.log(more / count)))
    return float("inf")


def efficiency_chart(runs: Runs, methods: Sequence[str]) -> Chart:
    """Return errors over evaluations per second on the circles that figures show."""
    panels = []
    for circle in runs.settings.shown_circles:
        for gain in dict.fromkeys((runs.settings.gain, runs.settings.gains[-1])):
            lines = []
            for k, method in enumerate(methods):
                points = curve(runs, circle, gain, method)
                x, y = (tuple(float(each[i]) for each in points) for i in range(2))
                lines.append(Line(LABELS[method], x, y, k, "-o"))
            title, x_label = f"{shown(circle)}, K = {gain:g} / s", "evaluations per second [1/s]"
            panels.append(
                Panel(title, x_label, "position error [m]", tuple(lines), log_x=True, log_y=True)
            )
    title = "PA-10: position error after the first lap over evaluations of the inverse"
    return Chart("efficiency", title, tuple(panels), 2, (11.0, 8.4))


def efficiency_table(runs: Runs, methods: Sequence[str]) -> Table:
    """Return how many evaluations per second each method needs for each error."""
    rows = tuple(
        (
            circle,
            gain,
            target,
            *(evaluations_to(curve(runs, circle, gain, method), target) for method in methods),
        )
        for circle, gain in places(runs)
        for target in TARGETS
    )
    title = "Evaluations per second of motion for a position error after the first lap; -: none"
    return Table("efficiency", title, ("circle", "gain [1/s]", "error [m]", *methods), rows)


def cheaper(runs: Runs, error: float) -> list[tuple[str, float]]:
    """Return evaluations of the better of RK2 and RK4 over those of the better Adams method.

    Args:
        runs: Where runs are made.
        error: To reach, m.
    """
    ratios = []
    for circle, gain in places(runs):
        needed = {
            method: evaluations_to(curve(runs, circle, gain, method), error)
            for method in ("rk2", "rk4", *ADAMS)
        }
        ratio = min(needed["rk2"], needed["rk4"]) / min(needed[each] for each in ADAMS)
        if np.isfinite(ratio):
            ratios.append((f"{circle}, K {gain:g}", ratio))
    return ratios


# ------------------------------------------------------------------------------ start
def start_table(runs: Runs) -> Table:
    """Return errors of Adams methods after both starts, in the first lap and after it."""
    rows = []
    for circle, gain in places(runs):
        for method, low in ADAMS.items():
            for step in (COARSE, FINE):
                pair = [
                    runs.run(Case(circle, each, step, gain, laps=runs.settings.laps))
                    for each in (method, low)
                ]
                errors = [run.first for run in pair] + [run.steady for run in pair]
                rows.append((circle, gain, method, step, *errors))
    head = (
        *("circle", "gain [1/s]", "method", "step [s]"),
        *("first lap, rk4 start", "first lap, low start"),
        *("later, rk4 start", "later, low start"),
    )
    title = "Adams methods started by rk4 (ours) and by lower orders (the paper's): errors, m"
    return Table("starts", title, head, tuple(rows))


def low_starts(runs: Runs, step: float) -> list[tuple[str, float]]:
    """Return ab4's error over abm4's, both started by lower orders."""
    ratios = []
    for circle, gain in places(runs):
        first, second = (
            runs.run(Case(circle, each, step, gain, laps=runs.settings.laps)).steady
            for each in ADAMS.values()
        )
        ratios.append((f"{circle}, K {gain:g}", first / second))
    return ratios
