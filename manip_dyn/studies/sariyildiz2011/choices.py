"""Variation of parameters that the paper leaves open: circle, gain, start, error and step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.integration import METHODS
from manip_dyn.studies.report.charts import Chart, Line, Panel
from manip_dyn.studies.report.tables import Table
from manip_dyn.studies.sariyildiz2011.runs import (
    COARSE,
    FINE,
    LABELS,
    Case,
    Choice,
    Run,
    Runs,
    Varied,
    shown,
)

ROUNDING = 1e-14
"""Lower end of the error axis in charts, m."""
ORDER_LIMITS = 1e-12, 1e-2
"""Range of errors from which an order is estimated, m."""


def choices(runs: Runs) -> list[Choice]:
    """Return all combinations of circles and gains, and variations for the shown circles.

    The variations are starts off the path and other definitions of the orientation error.
    """
    chosen = runs.settings
    combinations = [
        Choice(c, gain, 0.0, "columns") for c in chosen.circles for gain in chosen.gains
    ]
    for circle in chosen.shown_circles:
        combinations += [
            Choice(circle, chosen.offset_gain, off, "columns") for off in chosen.offsets
        ]
        for gain in dict.fromkeys((chosen.gain, chosen.offset_gain)):
            combinations += [Choice(circle, gain, 0.0, kind) for kind in chosen.orientation_errors]
    return combinations


def varied(runs: Runs, methods: Sequence[str]) -> list[Varied]:
    """Return the runs of all methods for all choices, with steps of 1 s and 100 ms."""
    return [
        Varied(choice, step, {m: runs.run(_case(choice, m, step, runs)) for m in methods})
        for choice in choices(runs)
        for step in (COARSE, FINE)
    ]


def _case(choice: Choice, method: str, step: float, runs: Runs) -> Case:
    return Case(
        choice.circle,
        method,
        step,
        choice.gain,
        choice.offset,
        choice.orientation_error,
        laps=runs.settings.laps,
    )


def choices_table(results: Sequence[Varied]) -> Table:
    """Return a table of the errors of all methods for all choices."""
    methods = tuple(results[0].runs)
    rows = []
    for varied in results:
        errors = (run.steady for run in varied.runs.values())
        unstable = " ".join(m for m, run in varied.runs.items() if not run.stable) or "-"
        rows.append((*varied.choice, varied.step, *errors, unstable))
    head = ("circle", "gain [1/s]", "start off [m]", "orientation error", "step [s]", *methods)
    title = "Position errors after the first lap, m, for all choices; unstable runs"
    return Table("choices", title, (*head, "unstable"), tuple(rows), rounded=methods)


# ------------------------------------------------------------------------- circles
def circles_table(runs: Runs, methods: Sequence[str]) -> Table:
    """Return a table of errors, derivatives and singular values on every circle at 100 ms."""
    rows = []
    for circle in runs.settings.circles:
        for gain in dict.fromkeys((runs.settings.gain, runs.settings.gains[-1])):
            row = _row(runs, circle, gain, methods)
            rk4 = row["rk4"]
            errors = (run.steady for run in row.values())
            rows.append(
                (
                    circle,
                    gain,
                    *errors,
                    row["rk2"].first,
                    rk4.first,
                    *_unsteadiness(runs, circle, gain),
                    rk4.smallest,
                    "yes" if rk4.within else "no",
                )
            )
    head = ("circle", "gain [1/s]", *methods, "rk2, first lap", "rk4, first lap")
    head += ("q(2) [rad/s^2]", "q(5) [rad/s^5]", "smallest singular value", "within joint range")
    title = (
        "Position errors after the first lap at 100 ms, m; largest second and fifth derivatives "
        "of joint positions; whether one lap is within the PA-10's joint range"
    )
    return Table("circles", title, head, tuple(rows))


def _row(runs: Runs, circle: str, gain: float, methods: Sequence[str]) -> dict[str, Run]:
    choice = Choice(circle, gain, 0.0, "columns")
    return {method: runs.run(_case(choice, method, FINE, runs)) for method in methods}


def _unsteadiness(runs: Runs, circle: str, gain: float) -> tuple[float, float]:
    """Return the largest norms of the 2nd and 5th derivatives of q after the first lap.

    They are computed by finite differences of rk4 velocities with intervals of 0.4 s.
    """
    case = Case(circle, "rk4", FINE, gain, laps=2)
    done = runs.tracking(case)
    v = done.v[done.t > runs.path(circle).duration][::4]
    return _largest(np.diff(v, axis=0) / 0.4), _largest(np.diff(v, 4, axis=0) / 0.4**4)


def _largest(rates: Vector) -> float:
    return float(np.linalg.norm(rates, axis=1).max())


def circles_chart(runs: Runs, methods: Sequence[str], printed: dict[str, float]) -> Chart:
    """Return a chart of errors on every circle at 100 ms, with the printed errors as lines."""
    panels = []
    names = tuple(runs.settings.circles)
    for gain in dict.fromkeys((runs.settings.gain, runs.settings.gains[-1])):
        rows = {circle: _row(runs, circle, gain, methods) for circle in names}
        positions = tuple(float(k) for k in range(len(names)))
        dots = tuple(
            Line(LABELS[m], tuple(rows[c][m].steady for c in names), positions, k, "o")
            for k, m in enumerate(methods)
        )
        ends = (-0.5, len(names) - 0.5)
        limits = tuple(
            Line(f"printed, {LABELS[m]}", (error, error), ends, list(methods).index(m), "--")
            for m, error in printed.items()
        )
        title = f"K = {gain:g} / s"
        panels.append(
            Panel(
                title,
                "position error [m]",
                "",
                dots + limits,
                log_x=True,
                ticks=tuple(shown(c) for c in names),
            )
        )
    title = "PA-10 at 100 ms: largest position error after the first lap"
    return Chart("circles", title, tuple(panels), 2, (13.0, 5.2))


# ---------------------------------------------------------------------------- gain
def gain_chart(runs: Runs, methods: Sequence[str]) -> Chart:
    """Return a chart of errors over K h at 1 s and 100 ms, with an estimate of the error of Euler.

    The tool speed is v, the angular speed w, the step h, the gain K, the Jacobian J, and the joint
    accelerations are q''. An Euler step misses the path by about |J q''| h^2 / 2, on most circles
    of the order of v w h^2 / 2. The feedback removes the fraction K h of the error. The error
    therefore grows to the order of v w h / (2 K).
    """
    panels = []
    for circle in runs.settings.shown_circles:
        path = runs.path(circle)
        rate = 2.0 * np.pi / path.duration
        for step in (COARSE, FINE):
            lines = []
            gains = [g for g in runs.settings.charted_gains if g * step <= 4.0]
            for k, method in enumerate(methods):
                combinations = [Choice(circle, gain, 0.0, "columns") for gain in gains]
                results = [runs.run(_case(choice, method, step, runs)) for choice in combinations]
                errors = tuple(_shown(run) for run in results)
                lines.append(Line(LABELS[method], tuple(g * step for g in gains), errors, k))
            drift = tuple(path.radius * rate**2 * step / (2.0 * gain) for gain in gains)
            kh = tuple(g * step for g in gains)
            lines.append(Line("v w h / (2 K)", kh, drift, None, "--"))
            title = f"{shown(circle)}, h = {step:g} s"
            panels.append(
                Panel(
                    title,
                    "K h",
                    "position error [m]",
                    tuple(lines),
                    log_x=True,
                    log_y=True,
                    bottom=ROUNDING,
                    top=2.0,
                )
            )
    title = "PA-10: position error after the first lap over the gain; no line if the path is lost"
    return Chart("gain", title, tuple(panels), 2, (11.0, 8.4))


def _shown(run: Run) -> float:
    return run.steady if run.stable else float("nan")


def gain_table(runs: Runs, methods: Sequence[str]) -> Table:
    """Return a table of the smallest K h at which each method fails, and of linear limits."""
    rows = []
    for method in methods:
        row = [method, METHODS[method].stability_interval]
        for circle in runs.settings.shown_circles:
            row += [_first_lost(runs, circle, method, step) for step in (COARSE, FINE)]
        rows.append(tuple(row))
    shown_circles = runs.settings.shown_circles
    columns = [f"{circle}, {step:g} s" for circle in shown_circles for step in (COARSE, FINE)]
    title = "Smallest tried K h, beyond the largest stable one, at which the path is lost"
    return Table("gain", title, ("method", "linear limit of K h", *columns), tuple(rows))


def _first_lost(runs: Runs, circle: str, method: str, step: float) -> float:
    """Return the smallest tried K h above the largest stable K h, or NaN."""
    tried = sorted(g for g in runs.settings.charted_gains if g * step <= 4.0)
    cases = [_case(Choice(circle, g, 0.0, "columns"), method, step, runs) for g in tried]
    stable = [k for k, case in enumerate(cases) if runs.run(case).stable]
    beyond = stable[-1] + 1 if stable else 0
    return tried[beyond] * step if beyond < len(tried) else float("nan")


# -------------------------------------------------------------------------- orders
def orders(runs: Runs, methods: Sequence[str]) -> tuple[Chart, Table]:
    """Return a chart of the error against the step size, and a table of the estimated orders."""
    panels, rows = [], []
    for circle in runs.settings.shown_circles:
        lines = []
        for k, method in enumerate(methods):
            choice = Choice(circle, runs.settings.gain, 0.0, "columns")
            steps = [
                h
                for h in runs.settings.order_steps
                if choice.gain * h <= (METHODS[method].stability_interval or np.inf)
            ]
            errors = [runs.run(_case(choice, method, h, runs)).steady for h in steps]
            lines.append(Line(LABELS[method], tuple(steps), tuple(errors), k))
            order = METHODS[method].order
            rows.append((circle, method, order, _order(steps, errors)))
        panels.append(
            Panel(
                shown(circle),
                "step h [s]",
                "position error [m]",
                tuple(lines),
                log_x=True,
                log_y=True,
                bottom=ROUNDING,
            )
        )
    title = f"PA-10: position error after the first lap, K = {runs.settings.gain:g} / s"
    head = ("circle", "method", "order", "measured")
    words = "Orders of the position error, from errors between 1e-12 and 1e-2 m"
    chart = Chart("orders", title, tuple(panels), 2, (11.0, 4.8))
    return chart, Table("orders", words, head, tuple(rows))


def _order(steps: Sequence[float], errors: Sequence[float]) -> float:
    """Return the order from the two smallest steps with errors within `ORDER_LIMITS`, or NaN."""
    least, most = ORDER_LIMITS
    usable = sorted((h, e) for h, e in zip(steps, errors, strict=True) if least < e < most)
    if len(usable) < 2:
        return float("nan")
    (h, error), (longer, larger) = usable[:2]
    return float(np.log(larger / error) / np.log(longer / h))
