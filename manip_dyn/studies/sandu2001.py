"""Sandu et al. (2001): Tables 1 to 4 and Figures 2 and 5 recomputed.

Tables 1 and 2, errors on the stiff double pendulum; Tables 3 and 4, computing times of the
HMMWV by an explicit and by the Rosenbrock-Nystrom method. Explicit times come from a short run,
whose steps stability rules throughout; they say so. Figure 2 is the pendulum, figure 5 the car.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench.timing import setting
from manip_dyn.multibody.linearization import linearization
from manip_dyn.multibody.model.hmmwv import hmmwv
from manip_dyn.multibody.simulate import MechanismMotion, simulate_mechanism
from manip_dyn.studies.panel_charts import draw
from manip_dyn.studies.panels import Chart, Line, Panel
from manip_dyn.studies.plain_text import columns
from manip_dyn.studies.plain_values import write_csv
from manip_dyn.studies.sandu2001_pendulum import RUNS, Run, errors, reference, run
from manip_dyn.validate import Vector

PUBLISHED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
TOLERANCES = tuple(PUBLISHED["tolerances"])
ITEMS = ("table1", "table2", "table3", "table4", "fig2", "fig5", "all")
SHORT, EXPLICIT = 0.01, "rkdp54"
"""Length of the explicit runs, s, and their method."""


class ErrorRow(NamedTuple):
    """Errors of one run at one tolerance beside the published ones."""

    table: str
    run: str
    tolerance: float
    published_max: float
    max_error: float
    at_s: float
    published_mean: float
    mean_error: float
    steps: int
    status: str


class TimeRow(NamedTuple):
    """Computing time of the HMMWV up to a time; published on another machine of 2001."""

    table: str
    duration_s: int
    tolerance: float
    published_s: float
    computed_s: float
    steps: int
    note: str


@dataclass(frozen=True)
class Sandu2001:
    """What the study found, and how it is told."""

    setting: dict[str, str]
    errors: tuple[ErrorRow, ...] = ()
    times: tuple[TimeRow, ...] = ()
    car: tuple[tuple[str, float, float], ...] = ()
    charts: tuple[Chart, ...] = ()

    def __str__(self) -> str:
        """Return all tables."""
        parts = [", ".join(f"{key} {value}" for key, value in self.setting.items())]
        for rows in (self.errors, self.times):
            if rows:
                parts.append(
                    columns([rows[0]._fields, *([_shown(x) for x in row] for row in rows)])
                )
        if self.car:
            head = ("HMMWV", "published", "computed")
            parts.append(columns([head, *([_shown(x) for x in row] for row in self.car)]))
        return "\n\n".join(parts)

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {
            "paper": "sandu2001",
            "setting": self.setting,
            "errors": [row._asdict() for row in self.errors],
            "times": [row._asdict() for row in self.times],
            "car": [{"name": n, "published": a, "computed": b} for n, a, b in self.car],
            "charts": [chart.content() for chart in self.charts],
        }

    def write(self, folder: Path) -> list[Path]:
        """Write a CSV per kind of table and figure, and the figures; return the files."""
        files = [
            write_csv(folder / f"sandu2001_{name}.csv", rows[0]._fields, rows)
            for name, rows in (("errors", self.errors), ("times", self.times))
            if rows
        ]
        for chart in self.charts:
            head = ("panel", "line", "x", "y")
            files += [write_csv(folder / f"{chart.name}.csv", head, chart.rows())]
            files += draw(chart, folder)
        return files


def recompute(
    item: str = "all",
    progress: Callable[[str], None] = lambda line: None,
    tolerances: tuple[float, ...] = TOLERANCES,
    runs: tuple[str, ...] = tuple(RUNS),
) -> Sandu2001:
    """Return an item of the paper, recomputed.

    Args:
        item: One of `ITEMS`.
        progress: Told what is being done.
        tolerances: Which of the tables' columns.
        runs: Which of `RUNS`.
    """
    found = Sandu2001(dict(setting(("manip_dyn", "numba", "numpy"))))
    if item in ("table1", "table2", "fig2", "all"):
        exact = reference()
        if item != "fig2":
            rows = _error_rows(exact, tolerances, runs, progress)
            found = replace(found, errors=tuple(r for r in rows if item in (r.table, "all")))
        if item in ("fig2", "all"):
            found = replace(found, charts=(_pendulum_chart(run("joint", 1e-6, {})),))
    if item in ("table3", "all"):
        progress("table3")
        found = replace(found, times=tuple(_explicit_rows(tolerances)))
    if item in ("table4", "all"):
        progress("table4")
        found = replace(found, times=(*found.times, *_implicit_rows(tolerances)))
    if item in ("fig5", "all"):
        progress("fig5")
        motion = simulate_mechanism(hmmwv(), 5.0, rtol=1e-3)
        charts = (*found.charts, _car_chart(motion))
        found = replace(found, charts=charts, car=(*_facts(motion), *_leads(found.times)))
    return found


def _error_rows(exact: Run, tolerances, runs, progress) -> list[ErrorRow]:
    rows = []
    for name in runs:
        coordinates, options = RUNS[name]
        for tolerance in tolerances:
            progress(f"pendulum, {name}, {tolerance:g}")
            k = TOLERANCES.index(tolerance)
            both = errors(run(coordinates, tolerance, options), exact)
            for table, kind, each in zip(
                ("table1", "table2"), ("position", "velocity"), both, strict=True
            ):
                most, mean = PUBLISHED[kind][k], PUBLISHED[f"{kind}_mean"][k]
                status = "not above" if each.largest <= most else "above"
                rows.append(
                    ErrorRow(table, name, tolerance, most, each.largest, each.at, mean,
                             each.mean, each.steps, status)
                )  # fmt: skip
    return sorted(rows, key=lambda row: row.table)


def _explicit_rows(tolerances) -> list[TimeRow]:
    car, rows = hmmwv(), []
    simulate_mechanism(car, 1e-4, method=EXPLICIT, rtol=1e-3)
    for tolerance in tolerances:
        seconds, motion = _timed(car, SHORT, tolerance, EXPLICIT)
        for duration in range(1, 5):
            published = PUBLISHED["explicit"][str(duration)][TOLERANCES.index(tolerance)]
            rows.append(
                TimeRow("table3", duration, tolerance, published, seconds * duration / SHORT,
                        round(motion.steps * duration / SHORT), f"{SHORT:g} s run, scaled")
            )  # fmt: skip
    return rows


def _implicit_rows(tolerances) -> list[TimeRow]:
    car, rows = hmmwv(), []
    simulate_mechanism(car, 1e-3, rtol=1e-3)
    for tolerance in tolerances:
        for duration in range(1, 5):
            published = PUBLISHED["implicit"][str(duration)][TOLERANCES.index(tolerance)]
            seconds, motion = _timed(car, float(duration), tolerance, "rosenbrock_nystrom")
            rows.append(
                TimeRow("table4", duration, tolerance, published, seconds, motion.steps, "")
            )
    return rows


def _timed(car, duration: float, tolerance: float, method: str) -> tuple[float, MechanismMotion]:
    began = time.process_time()
    motion = simulate_mechanism(car, duration, method=method, rtol=tolerance)
    return time.process_time() - began, motion


def _facts(motion: MechanismMotion) -> tuple[tuple[str, float, float], ...]:
    car = hmmwv()
    fastest = float(linearization(car).eigenvalues[0].real)
    return (
        ("degrees of freedom", 18.0, float(car.freedoms)),
        ("dominant eigenvalue [1/s]", PUBLISHED["dominant_eigenvalue"], fastest),
        ("chassis height after 5 s [m]", PUBLISHED["settled_height"], float(motion.q[-1, 2])),
        ("largest violation of a constraint", 0.0, motion.violation),
    )


def _leads(times: tuple[TimeRow, ...]) -> list[tuple[str, float, float]]:
    """Return how many times the explicit method takes as long, over 4 s at each tolerance."""
    rows = {(row.table, row.tolerance): row for row in times if row.duration_s == 4}
    return [
        (
            f"explicit over implicit time, 4 s at {row.tolerance:g}",
            row.published_s / rows["table4", row.tolerance].published_s,
            row.computed_s / rows["table4", row.tolerance].computed_s,
        )
        for (table, _), row in rows.items()
        if table == "table3"
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return columns([head, *([_shown(value) for value in row] for row in rows)])


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _pendulum_chart(found: Run) -> Chart:
    """Return figure 2."""
    labels = ("angle [rad]", "rate [rad/s]")
    panels = tuple(
        Panel(title, "time [s]", label, (_line(found.t, found.states[:, i]),))
        for i, (title, label) in enumerate(
            zip(("angle of body 1", "its rate"), labels, strict=True)
        )
    )
    return Chart("sandu2001_fig2", "Figure 2: the stiff double pendulum", panels, 2, (10.0, 4.2))


def _car_chart(motion: MechanismMotion) -> Chart:
    """Return figure 5."""
    height = _line(motion.t, motion.q[:, 2])
    steps = _line(motion.t[1:], np.diff(motion.t))
    panels = (
        Panel("chassis height", "time [s]", "height [m]", (height,)),
        Panel("step at 1e-3", "time [s]", "step [s]", (steps,), log_y=True),
    )
    return Chart("sandu2001_fig5", "Figure 5: the HMMWV over a bump", panels, 1, (8.0, 6.6))


def _line(t: Vector, values: Vector) -> Line:
    return Line("", tuple(t.tolist()), tuple(values.tolist()))
