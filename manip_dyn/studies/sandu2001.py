"""Sandu et al. (2001): Tables 1 to 4 and Figures 2 and 5 recomputed.

Tables 1 and 2, errors on the stiff double pendulum; Tables 3 and 4, computing times of the
HMMWV by an explicit and by the Rosenbrock-Nystrom method. Explicit times come from a short run,
whose steps stability rules throughout; they say so. Figure 2 is the pendulum, figure 5 the car.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench.timing import setting
from manip_dyn.multibody.hmmwv import hmmwv
from manip_dyn.multibody.linearization import linearization
from manip_dyn.multibody.simulate import MechanismMotion, simulate_mechanism
from manip_dyn.plots import figure_type
from manip_dyn.studies.sandu2001_pendulum import RUNS, Run, errors, reference, run

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
    pendulum: Run | None = None
    motion: MechanismMotion | None = None

    def __str__(self) -> str:
        """Return all tables."""
        lines = [", ".join(f"{key} {value}" for key, value in self.setting.items())]
        for rows in (self.errors, self.times):
            if rows:
                lines += ["", "  ".join(rows[0]._fields)]
                lines += ["  ".join(_shown(value) for value in row) for row in rows]
        lines += [f"{name}: published {a:g}, computed {b:.6g}" for name, a, b in self.car]
        return "\n".join(lines)

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {
            "setting": self.setting,
            "errors": [row._asdict() for row in self.errors],
            "times": [row._asdict() for row in self.times],
            "car": [{"name": n, "published": a, "computed": b} for n, a, b in self.car],
        }

    def write(self, folder: Path) -> list[Path]:
        """Write a CSV per kind of table and the figures as PNG and SVG; return the files."""
        files = []
        for name, rows in (("errors", self.errors), ("times", self.times)):
            if rows:
                files.append(folder / f"sandu2001_{name}.csv")
                with files[-1].open("w", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerows([rows[0]._fields, *rows])
        if self.pendulum is not None:
            curves = [("angle [rad]", self.pendulum.t, self.pendulum.states[:, 0]),
                      ("rate [rad/s]", self.pendulum.t, self.pendulum.states[:, 1])]  # fmt: skip
            files += _draw(folder / "sandu2001_fig2", curves)
        if self.motion is not None:
            t = self.motion.t
            curves = [("chassis height [m]", t, self.motion.q[:, 2]),
                      ("step [s]", t[1:], np.diff(t))]  # fmt: skip
            files += _draw(folder / "sandu2001_fig5", curves, log_last=True)
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
            found = replace(found, pendulum=run("joint", 1e-6, {}))
    if item in ("table3", "all"):
        progress("table3")
        found = replace(found, times=tuple(_explicit_rows(tolerances)))
    if item in ("table4", "all"):
        progress("table4")
        found = replace(found, times=(*found.times, *_implicit_rows(tolerances)))
    if item in ("fig5", "all"):
        progress("fig5")
        found = _with_car(found)
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


def _with_car(found: Sandu2001) -> Sandu2001:
    car = hmmwv()
    motion = simulate_mechanism(car, 5.0, rtol=1e-3)
    fastest = float(linearization(car).eigenvalues[0].real)
    facts = (
        ("degrees of freedom", 18.0, float(car.freedoms)),
        ("dominant eigenvalue [1/s]", PUBLISHED["dominant_eigenvalue"], fastest),
        ("chassis height after 5 s [m]", PUBLISHED["settled_height"], float(motion.q[-1, 2])),
        ("largest violation of a constraint", 0.0, motion.violation),
    )
    return replace(found, motion=motion, car=facts)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _draw(stem: Path, curves: list, log_last: bool = False) -> list[Path]:
    picture = figure_type()(figsize=(8.0, 5.4), layout="constrained")
    panels = picture.subplots(len(curves), 1, sharex=True)
    for axes, (label, t, values) in zip(panels, curves, strict=True):
        axes.plot(t, values)
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    if log_last:
        panels[-1].set_yscale("log")
    panels[-1].set_xlabel("time [s]")
    files = [stem.with_suffix(f".{kind}") for kind in ("png", "svg")]
    for file in files:
        picture.savefig(file, dpi=130)
    return files
