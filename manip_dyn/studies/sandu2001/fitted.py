"""Is the pendulum read from the paper the paper's? A fit of what it does not print.

The printed relative errors tell eight points of the published motion: |E*| = 100 largest error /
RelErr at t*, angles in table 1, rates in table 2. The first three relative errors of table 1 are a
tenth of what the angles' printed range allows. Both inertias and gravity are fitted to these
points, from several starts; everything else is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.multibody import simulate_mechanism
from manip_dyn.studies.sandu2001.pendulum import (
    DURATION,
    Run,
    cartesian_pendulum,
    first_link,
    interpolated,
)
from manip_dyn.studies.sandu2001.rows import CLOSE, PUBLISHED, FitRow

MISPRINTED = 3
"""Rows of table 1 whose relative error is a tenth of what it must be."""
UNITS = np.array([0.01] * 4 + [0.1] * 4)
"""What residuals count in, rad and rad/s."""
OURS = (1.0, 0.225, 9.81)
"""Both inertias, kg m^2, and gravity, m/s^2, of the tables: slender rods."""
STARTS = (OURS, (0.4, 0.05, 9.81), (1.0, 0.225, 1e-3))
BOUNDS = ((np.log(0.01), np.log(0.002), 0.0), (np.log(10.0), np.log(2.0), 20.0))
"""Of the inertias' logarithms and gravity: radii of gyration of 6 cm to about 2 m."""
TOLERANCE, HOW = 1e-6, {"max_nfev": 20, "diff_step": 1e-4}


class Fit(NamedTuple):
    """The fitted inertias, kg m^2, and gravity, m/s^2; the points; ranges of the motion."""

    inertias: tuple[float, float]
    gravity: float
    rows: tuple[FitRow, ...]
    angles: tuple[float, float]
    rates: tuple[float, float]

    @property
    def table(self) -> tuple[FitRow, ...]:
        """The points, the fitted numbers, the ranges of the motion beside those of figure 2."""
        fitted = (*self.inertias, self.gravity)
        names = ("inertia of body 1", "inertia of body 2", "gravity")
        nothing = float("nan")
        ranges = zip(
            ("least angle", "largest angle", "least rate", "largest rate"),
            (*PUBLISHED["angle_range"], *PUBLISHED["rate_range"]),
            (*self.angles, *self.rates),
            strict=True,
        )
        return (
            *self.rows,
            *(
                FitRow(name, nothing, nothing, ours, value, nothing, self.status)
                for name, ours, value in zip(names, OURS, fitted, strict=True)
            ),
            *(
                FitRow(name, nothing, float(told), nothing, value, value - told, "from figure 2")
                for name, told, value in ranges
            ),
        )

    @property
    def status(self) -> str:
        """Whether the published motion is one of such a pendulum."""
        close = all(row.status == "close" for row in self.rows)
        return "reproduced" if close else "not reproducible"


def published_points() -> tuple[Vector, Vector]:
    """Return times (8,), s, and sizes of four angles, rad, and four rates, rad/s, (8,)."""
    sizes = []
    for kind in ("position", "velocity"):
        sizes += [
            100.0 * e / r for e, r in zip(PUBLISHED[kind], PUBLISHED[f"{kind}_rel"], strict=True)
        ]
    found = np.array(sizes)
    found[:MISPRINTED] /= 10.0
    return np.array(PUBLISHED["position_at"] + PUBLISHED["velocity_at"]), found


def fit(progress: Callable[[str], None] = lambda line: None) -> Fit:
    """Return the pendulum that comes nearest to the published points."""
    from scipy.optimize import least_squares  # slow to load

    times, wanted = published_points()

    def residuals(x: Vector) -> Vector:
        return (_points(_motion(x), times) - wanted) / UNITS

    found = []
    for start in STARTS:
        progress(f"fit from {start}")
        x = np.array([np.log(start[0]), np.log(start[1]), start[2]])
        found.append(least_squares(residuals, x, bounds=BOUNDS, **HOW))
    best = min(found, key=lambda each: each.cost).x
    ours = _points(_motion(np.array([*np.log(OURS[:2]), OURS[2]])), times)
    motion = _motion(best)
    fitted = _points(motion, times)
    rows = tuple(
        FitRow(
            "angle" if k < 4 else "rate",
            float(times[k]),
            float(wanted[k]),
            float(ours[k]),
            float(fitted[k]),
            float(fitted[k] - wanted[k]),
            "close" if abs(fitted[k] - wanted[k]) <= CLOSE * wanted[k] else "differs",
        )
        for k in range(len(times))
    )
    low, high = motion.states.min(axis=0), motion.states.max(axis=0)
    return Fit(
        inertias=(float(np.exp(best[0])), float(np.exp(best[1]))),
        gravity=float(best[2]),
        rows=rows,
        angles=(float(low[0]), float(high[0])),
        rates=(float(low[1]), float(high[1])),
    )


def _motion(x: Vector) -> Run:
    """Return the motion for the logarithms of both inertias, and gravity, (3,)."""
    car = cartesian_pendulum((float(np.exp(x[0])), float(np.exp(x[1]))), float(x[2]))
    motion = simulate_mechanism(car, DURATION, rtol=TOLERANCE)
    return Run(motion.t, first_link(motion.q, motion.v), motion.steps, motion.failures)


def _points(motion: Run, times: Vector) -> Vector:
    """Return angles at the first four times and sizes of rates at the others (8,)."""
    states = interpolated(motion, times)
    return np.concatenate([states[:4, 0], np.abs(states[4:, 1])])
