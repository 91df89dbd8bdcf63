"""Figures 4 to 6 and 9 to 18 of Sariyildiz et al. (2011) as charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from manip_dyn.clik import TrackResult
from manip_dyn.studies.report.charts import Chart, Line, Panel, figure_name
from manip_dyn.studies.report.tables import Table
from manip_dyn.studies.sariyildiz2011.cases import LABELS, Case, Run, shown
from manip_dyn.studies.sariyildiz2011.runs import Runs

PATH_STEP, PATH_METHOD = 0.1, "rk4"
"""Printed: Figures 4 to 6 are by RK4 at 100 ms; so is the step of Figures 15 to 18."""
FLOOR = 1e-14
"""m and rad: lower errors are drawn here; a logarithm has no zero."""
NEAR = {"fig15": ("rk1", "rk2", "rk4"), "fig16": ("euler_trapezoidal", "ab4", "abm4")}
DAMPED = {"fig17": "rk1", "fig18": "rk4"}
INVERSES = {"pseudo_inverse": "no damping", "constant": "constant damping", "filtered": "filtered"}


# ------------------------------------------------------------------- Figures 4 to 6
def path_chart(name: str, runs: Runs) -> Chart:
    """Return ``fig4`` (path), ``fig5`` (joint velocities) or ``fig6`` (joint positions)."""
    drawn: dict[str, Callable[[str, TrackResult], Panel]] = {
        "fig4": lambda circle, done: _path_panel(runs, circle, done),
        "fig5": lambda circle, done: _joint_panel(runs, circle, done, done.v, "velocity [rad/s]"),
        "fig6": lambda circle, done: _joint_panel(runs, circle, done, done.q, "position [rad]"),
    }
    what = {"fig4": "path of the tool", "fig5": "joint velocities", "fig6": "joint positions"}
    panels = []
    for circle in runs.settings.shown_circles:
        case = Case(circle, PATH_METHOD, PATH_STEP, runs.settings.gain, laps=1)
        panels.append(drawn[name](circle, runs.tracking(case)))
    title = f"{figure_name(name)}: {what[name]}; RK4 at 100 ms, K = {runs.settings.gain:g} / s"
    return Chart(name, title, tuple(panels), len(panels), (5.2 * len(panels), 4.6))


def _path_panel(runs: Runs, circle: str, done: TrackResult) -> Panel:
    """Draw the path over the two axes along which it is widest."""
    places = done.desired[:, :3, 3]
    i, j = sorted(np.argsort(np.ptp(places, axis=0))[1:])
    lines = (
        Line("desired", _floats(places[:, i]), _floats(places[:, j]), None, "-"),
        Line("actual", _floats(done.actual[:, i, 3]), _floats(done.actual[:, j, 3]), 1, "--"),
    )
    error = f"{shown(circle)}, error at most {done.position_error.max():.1e} m"
    return Panel(error, f"{'xyz'[i]} [m]", f"{'xyz'[j]} [m]", lines, equal=True)


def _joint_panel(runs: Runs, circle: str, done: TrackResult, values, label: str) -> Panel:
    lines = tuple(
        Line(name, _floats(done.t), _floats(values[:, i]), i)
        for i, name in enumerate(runs.robot.joint_names)
    )
    return Panel(shown(circle), "time [s]", label, lines)


# ------------------------------------------------------------------ Figures 9 to 14
def error_chart(name: str, method: str, steps: Sequence[float], runs: Runs) -> Chart:
    """Return ``fig9`` to ``fig14``: errors of a method over time, at the four periods."""
    chosen, upper, lower = runs.settings, [], []
    for step in steps:
        found = {
            circle: runs.run(Case(circle, method, step, chosen.gain, laps=chosen.laps))
            for circle in chosen.shown_circles
        }
        upper.append(_errors(found, f"position, h = {step:g} s", "position"))
        lower.append(_errors(found, f"orientation, h = {step:g} s", "orientation"))
    title = f"{figure_name(name)}: {LABELS[method]}, K = {chosen.gain:g} / s"
    return Chart(name, title, (*upper, *lower), len(steps), (3.6 * len(steps), 6.4))


def _errors(found: Mapping[str, Run], title: str, which: str) -> Panel:
    lines = tuple(
        Line(shown(label), run.t, _drawn(getattr(run, which)), k)
        for k, (label, run) in enumerate(found.items())
    )
    unit = "m" if which == "position" else "rad"
    return Panel(title, "time [s]", f"error [{unit}]", lines, log_y=True, bottom=FLOOR, top=10.0)


def error_table(methods: Sequence[str], steps: Sequence[float], runs: Runs) -> Table:
    """Return the errors of Figures 9 to 14 after the first lap."""
    chosen = runs.settings
    rows = []
    for circle in chosen.shown_circles:
        for method in methods:
            for step in steps:
                run = runs.run(Case(circle, method, step, chosen.gain, laps=chosen.laps))
                state = "stable" if run.stable else "unstable"
                row = (circle, method, step, run.steady, run.steady_orientation, run.growth)
                rows.append((*row, state))
    title = (
        f"Figures 9 to 14: largest errors after the first lap, K = {chosen.gain:g} / s; growth: "
        "of the position error from the last lap but one to the last"
    )
    head = ("circle", "method", "step [s]", "position [m]", "orientation [rad]", "growth", "state")
    return Table("errors", title, head, tuple(rows))


# ----------------------------------------------------------------- Figures 15 to 18
def singular_chart(name: str, runs: Runs) -> Chart:
    """Return ``fig15`` to ``fig18``: errors around singular postures, without and with damping."""
    chosen = runs.settings.singular
    if name in NEAR:
        cases = {LABELS[m]: _singular_case(runs, chosen.shown, m) for m in NEAR[name]}
        cases |= {
            f"{LABELS[m]}, PA-10's limits": _singular_case(runs, chosen.shown, m, limited=True)
            for m in NEAR[name]
        }
        what = "no damping"
    else:
        method = DAMPED[name]
        cases = {
            text: _singular_case(runs, chosen.shown, method, inverse)
            for inverse, text in INVERSES.items()
        }
        what = f"{LABELS[method]}, damped least squares"
    found = {label: runs.run(case) for label, case in cases.items()}
    panels = tuple(_singular_panel(found, which) for which in ("position", "orientation"))
    title = f"{figure_name(name)}: a singular posture ({shown(chosen.shown)}), 100 ms; {what}"
    return Chart(name, title, panels, 2, (11.0, 4.8))


def _singular_case(
    runs: Runs, circle: str, method: str, inverse="pseudo_inverse", limited=False, gain=None
) -> Case:
    gain = runs.settings.singular.gains[0] if gain is None else gain
    return Case(circle, method, PATH_STEP, gain, inverse=inverse, limited=limited, laps=1)


def _singular_panel(found: Mapping[str, Run], which: str) -> Panel:
    unit = "m" if which == "position" else "rad"
    lines = tuple(
        Line(label, run.t, _drawn(getattr(run, which)), k % 3, "-" if k < 3 else ":")
        for k, (label, run) in enumerate(found.items())
    )
    return Panel(f"{which} error", "time [s]", f"error [{unit}]", lines, log_y=True, bottom=1e-10)


def singular_cases(runs: Runs, methods: Sequence[str]) -> list[tuple[Case, Run]]:
    """Return all runs around singular postures."""
    chosen = runs.settings.singular
    cases = [
        _singular_case(runs, circle, method, inverse, limited, gain)
        for circle in chosen.circles
        for gain in chosen.gains
        for limited in (False, True)
        for inverse in INVERSES
        for method in methods
    ]
    return [(case, runs.run(case)) for case in cases]


def singular_table(found: Sequence[tuple[Case, Run]]) -> Table:
    """Return what the runs around singular postures came to, all methods in a row."""
    groups: dict[tuple[str, float, str, str], dict[str, Run]] = {}
    for case, run in found:
        limits = "PA-10" if case.limited else "none"
        key = case.circle, case.gain, limits, INVERSES[case.inverse]
        groups.setdefault(key, {})[case.method] = run
    rows = tuple(
        (
            *key,
            *(run.near for run in group.values()),
            group["rk4"].before,
            group["rk4"].last,
            max(run.speed for run in group.values()),
            group["rk4"].smallest,
        )
        for key, group in groups.items()
    )
    methods = tuple(next(iter(groups.values())))
    head: tuple[str, ...] = ("circle", "gain [1/s]", "limits", "inverse", *methods)
    head += ("rk4, before", "rk4, at the end", "speed / limit", "singular value")
    title = (
        "Figures 15 to 18: largest position errors from the first singular posture on, m, 100 ms; "
        "of rk4 also before, and after one circle; largest joint speed of all methods as a share "
        "of the PA-10's limit; smallest singular value of the Jacobian with rk4"
    )
    return Table("singular", title, head, rows)


def _floats(values) -> tuple[float, ...]:
    return tuple(map(float, values))


def _drawn(errors: Sequence[float]) -> tuple[float, ...]:
    """Return errors for a logarithmic axis; what is infinite stays out of the picture."""
    return tuple(max(e, FLOOR) if np.isfinite(e) else float("nan") for e in errors)
