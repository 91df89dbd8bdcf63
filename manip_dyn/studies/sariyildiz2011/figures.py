"""Figures 4 to 18 of Sariyildiz et al. (2011): paths, errors over time, and costs of the methods.

Costs are also counted in evaluations, which do not depend on the machine. An evaluation computes
one generalized inverse of the Jacobian, which the paper calls the computational load. Additional
tables compare errors at equal cost, and the starting procedures of the Adams methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from manip_dyn.bench.timing import Timed, median_seconds
from manip_dyn.clik import ClikSettings, TrackResult
from manip_dyn.clik.follower import tracking_arguments, tracking_engine
from manip_dyn.clik.law.joint_velocity import law_memory
from manip_dyn.integration import METHODS
from manip_dyn.studies.report.charts import Chart, Line, Panel, figure_name
from manip_dyn.studies.report.tables import Table
from manip_dyn.studies.sariyildiz2011.runs import COARSE, FINE, LABELS, Case, Run, Runs, shown

PATH_STEP, PATH_METHOD = 0.1, "rk4"
"""Printed step (s) and method of Figures 4 to 6. Figures 15 to 18 have the same step."""
FLOOR = 1e-14
"""Smallest error in charts, m and rad. Smaller errors are drawn at this value."""
NEAR = {"fig15": ("rk1", "rk2", "rk4"), "fig16": ("euler_trapezoidal", "ab4", "abm4")}
DAMPED = {"fig17": "rk1", "fig18": "rk4"}
INVERSES = {"pseudo_inverse": "no damping", "constant": "constant damping", "filtered": "filtered"}


# ------------------------------------------------------------------- Figures 4 to 6
def path_chart(name: str, runs: Runs) -> Chart:
    """Return chart ``fig4`` (path), ``fig5`` (joint velocities) or ``fig6`` (joint positions)."""
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


def smoothness(runs: Runs) -> list[tuple[str, float]]:
    """Return the largest relative change of joint velocities between two samples by circle.

    The changes are relative to the largest speed of the same joint.
    """
    ratios = []
    for circle in runs.settings.circles:
        case = Case(circle, PATH_METHOD, PATH_STEP, runs.settings.gain, laps=1)
        speeds = runs.tracking(case).v
        changes = np.abs(np.diff(speeds, axis=0)).max(axis=0) / np.abs(speeds).max(axis=0)
        ratios.append((shown(circle), float(changes.max())))
    return ratios


def _path_panel(runs: Runs, circle: str, done: TrackResult) -> Panel:
    """Return a panel with the path, projected onto the two axes of its largest extents."""
    points = done.desired[:, :3, 3]
    i, j = sorted(np.argsort(np.ptp(points, axis=0))[1:])
    lines = (
        Line("desired", _floats(points[:, i]), _floats(points[:, j]), None, "-"),
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
    """Return chart ``fig9`` to ``fig14``: errors of a method over time for all steps."""
    chosen, upper, lower = runs.settings, [], []
    for step in steps:
        results = {
            circle: runs.run(Case(circle, method, step, chosen.gain, laps=chosen.laps))
            for circle in chosen.shown_circles
        }
        upper.append(_errors(results, f"position, h = {step:g} s", "position"))
        lower.append(_errors(results, f"orientation, h = {step:g} s", "orientation"))
    title = f"{figure_name(name)}: {LABELS[method]}, K = {chosen.gain:g} / s"
    return Chart(name, title, (*upper, *lower), len(steps), (3.6 * len(steps), 6.4))


def _errors(results: Mapping[str, Run], title: str, which: str) -> Panel:
    lines = tuple(
        Line(shown(label), run.t, _drawn(getattr(run, which)), k)
        for k, (label, run) in enumerate(results.items())
    )
    unit = "m" if which == "position" else "rad"
    return Panel(title, "time [s]", f"error [{unit}]", lines, log_y=True, bottom=FLOOR, top=10.0)


def error_table(methods: Sequence[str], steps: Sequence[float], runs: Runs) -> Table:
    """Return a table of the errors of Figures 9 to 14 after the first lap."""
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
    """Return chart ``fig15`` to ``fig18``: errors near singular postures.

    ``fig15`` and ``fig16`` compare methods without damping. ``fig17`` and ``fig18`` compare one
    method with and without damping.
    """
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
    results = {label: runs.run(case) for label, case in cases.items()}
    panels = tuple(_singular_panel(results, which) for which in ("position", "orientation"))
    title = f"{figure_name(name)}: a singular posture ({shown(chosen.shown)}), 100 ms; {what}"
    return Chart(name, title, panels, 2, (11.0, 4.8))


def _singular_case(
    runs: Runs, circle: str, method: str, inverse="pseudo_inverse", limited=False, gain=None
) -> Case:
    gain = runs.settings.singular.gains[0] if gain is None else gain
    return Case(circle, method, PATH_STEP, gain, inverse=inverse, limited=limited, laps=1)


def _singular_panel(results: Mapping[str, Run], which: str) -> Panel:
    unit = "m" if which == "position" else "rad"
    lines = tuple(
        Line(label, run.t, _drawn(getattr(run, which)), k % 3, "-" if k < 3 else ":")
        for k, (label, run) in enumerate(results.items())
    )
    return Panel(f"{which} error", "time [s]", f"error [{unit}]", lines, log_y=True, bottom=1e-10)


def singular_cases(runs: Runs, methods: Sequence[str]) -> list[tuple[Case, Run]]:
    """Return all runs through singular postures."""
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


def singular_table(results: Sequence[tuple[Case, Run]]) -> Table:
    """Return a table of the runs through singular postures. A row contains all methods."""
    groups: dict[tuple[str, float, str, str], dict[str, Run]] = {}
    for case, run in results:
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
        "of rk4 also before, and after one circle; largest joint speed of all methods as a "
        "fraction of the PA-10's limit; smallest singular value of the Jacobian with rk4"
    )
    return Table("singular", title, head, rows, rounded=head[4:])


def _floats(values) -> tuple[float, ...]:
    return tuple(map(float, values))


def _drawn(errors: Sequence[float]) -> tuple[float, ...]:
    """Return errors for a logarithmic axis, with NaN for infinite errors."""
    return tuple(max(e, FLOOR) if np.isfinite(e) else float("nan") for e in errors)


# ------------------------------------------------------------------- accuracy per evaluation
TARGETS = (1e-4, 1e-6, 1e-8)
"""Errors at which costs are compared, m; the paper prints 1e-6 m for RK2 at 100 ms."""
ADAMS = {"ab4": "ab4_rising", "abm4": "abm4_rising"}
Curve = list[tuple[float, float]]
"""Pairs of evaluations per second of motion and error, m, from coarse to fine."""


def circles_with_gains(runs: Runs) -> list[tuple[str, float]]:
    """Return all pairs of a circle and a gain: that of the figures, or the last of the tables."""
    gains = dict.fromkeys((runs.settings.gain, runs.settings.gains[-1]))
    return [(circle, gain) for circle in runs.settings.circles for gain in gains]


def curve(runs: Runs, circle: str, gain: float, method: str) -> Curve:
    """Return the errors of the stable runs of a method over evaluations per second."""
    points = []
    for step in sorted(runs.settings.order_steps, reverse=True):
        run = runs.run(Case(circle, method, step, gain, laps=runs.settings.laps))
        if run.stable:
            points.append((METHODS[method].stages / step, run.steady))
    return points


def evaluations_to(points: Curve, error: float) -> float:
    """Return the evaluations per second for which a curve first falls to `error`, or inf."""
    if points and points[0][1] <= error:
        return points[0][0]
    for (count, large), (more, small) in pairwise(points):
        if large > error >= small:
            fraction = np.log(large / error) / np.log(large / small)
            return float(np.exp(np.log(count) + fraction * np.log(more / count)))
    return float("inf")


def efficiency_chart(runs: Runs, methods: Sequence[str]) -> Chart:
    """Return a chart of errors over evaluations per second for the shown circles."""
    panels = []
    for circle in runs.settings.shown_circles:
        for gain in dict.fromkeys((runs.settings.gain, runs.settings.gains[-1])):
            lines = []
            for k, method in enumerate(methods):
                points = curve(runs, circle, gain, method)
                x, y = (tuple(float(point[i]) for point in points) for i in range(2))
                lines.append(Line(LABELS[method], x, y, k, "-o"))
            title, x_label = f"{shown(circle)}, K = {gain:g} / s", "evaluations per second [1/s]"
            panels.append(
                Panel(title, x_label, "position error [m]", tuple(lines), log_x=True, log_y=True)
            )
    title = "PA-10: position error after the first lap over evaluations of the inverse"
    return Chart("efficiency", title, tuple(panels), 2, (11.0, 8.4))


def efficiency_table(runs: Runs, methods: Sequence[str]) -> Table:
    """Return a table of the evaluations per second that each method requires for an error."""
    rows = tuple(
        (
            circle,
            gain,
            target,
            *(evaluations_to(curve(runs, circle, gain, method), target) for method in methods),
        )
        for circle, gain in circles_with_gains(runs)
        for target in TARGETS
    )
    title = "Evaluations per second of motion for a position error after the first lap; -: none"
    return Table("efficiency", title, ("circle", "gain [1/s]", "error [m]", *methods), rows)


def cheaper(runs: Runs, error: float) -> list[tuple[str, float]]:
    """Return pairs of a case and the ratio of evaluations of Runge-Kutta to Adams methods.

    The better of two methods of each kind is used. Cases without a finite ratio are omitted.

    Args:
        runs: Runs of the study.
        error: Target error, m.
    """
    ratios = []
    for circle, gain in circles_with_gains(runs):
        needed = {
            method: evaluations_to(curve(runs, circle, gain, method), error)
            for method in ("rk2", "rk4", *ADAMS)
        }
        ratio = min(needed["rk2"], needed["rk4"]) / min(needed[method] for method in ADAMS)
        if np.isfinite(ratio):
            ratios.append((f"{circle}, K {gain:g}", ratio))
    return ratios


# ------------------------------------------------------------------------------ start
def start_table(runs: Runs) -> Table:
    """Return a table of errors of Adams methods with both starting procedures."""
    rows = []
    for circle, gain in circles_with_gains(runs):
        for method, low in ADAMS.items():
            for step in (COARSE, FINE):
                pair = [
                    runs.run(Case(circle, solver, step, gain, laps=runs.settings.laps))
                    for solver in (method, low)
                ]
                errors = [run.first for run in pair] + [run.steady for run in pair]
                rows.append((circle, gain, method, step, *errors))
    head = (
        *("circle", "gain [1/s]", "method", "step [s]"),
        *("first lap, rk4 start", "first lap, low start"),
        *("later, rk4 start", "later, low start"),
    )
    title = "Adams methods started by rk4 and by lower orders (the paper's): errors, m"
    return Table("starts", title, head, tuple(rows), rounded=head[4:])


def low_starts(runs: Runs, step: float) -> list[tuple[str, float]]:
    """Return pairs of a case and the error ratio of ab4 to abm4, both started by lower orders."""
    ratios = []
    for circle, gain in circles_with_gains(runs):
        first, second = (
            runs.run(Case(circle, solver, step, gain, laps=runs.settings.laps)).steady
            for solver in ADAMS.values()
        )
        ratios.append((f"{circle}, K {gain:g}", first / second))
    return ratios


# -------------------------------------------------------------------------------------- cost
SINGLE_STEP = ("rk1", "rk2", "rk4")
MULTISTEP = ("euler_trapezoidal", "ab4", "abm4")
STEP = 0.1
"""Step of the timed runs, s. The time per step does not depend on it."""


class Cost(NamedTuple):
    """Cost of a step: evaluations of the generalized inverse, and CPU time (s)."""

    method: str
    evaluations: float
    seconds: float


def costs(runs: Runs, methods: Sequence[str]) -> dict[str, Cost]:
    """Measure the costs of a step on the first shown circle; return them by method."""
    tasks = [_task(runs, method) for method in methods]
    settings = runs.settings
    seconds = median_seconds([task[1] for task in tasks], settings.repeats, settings.slice)
    return {
        method: Cost(method, evaluations / steps, time / steps)
        for method, ((evaluations, steps), _), time in zip(methods, tasks, seconds, strict=True)
    }


def _task(runs: Runs, method: str) -> tuple[tuple[int, int], Timed]:
    """Return the numbers of evaluations and steps of one circle, and a run for timing."""
    circle = runs.settings.shown_circles[0]
    robot, path, q0 = runs.unlimited, runs.path(circle), runs.start(circle)
    engine = tracking_engine(robot, method)
    settings = ClikSettings(gain=runs.settings.gain, inverse="pseudo_inverse")
    p = tracking_arguments(path, law_memory(robot, settings, STEP))
    start, y = np.append(q0, 0.0), np.empty(robot.n + 1)
    space, idle = engine.space(step=STEP), engine.space(step=STEP, max_steps=0.0)

    def call(memory=space) -> None:
        y[:] = start
        engine.go(0.0, path.duration, p, y, memory)

    call()
    steps, evaluations = int(space.state.steps), int(space.state.evaluations)
    return (evaluations, steps), Timed(call, lambda: call(idle))


def cost_chart(name: str, cost_by_method: Mapping[str, Cost]) -> Chart:
    """Return chart ``fig7`` (single-step methods) or ``fig8`` (multistep methods)."""
    methods = SINGLE_STEP if name == "fig7" else MULTISTEP
    what = "single-step" if name == "fig7" else "multistep"
    positions = tuple(float(k) for k in range(len(methods)))
    top = 1.15e6 * max(cost.seconds for cost in cost_by_method.values())
    times = Line("", positions, tuple(cost_by_method[m].seconds * 1e6 for m in methods), 0, "bar")
    counts = Line("", positions, tuple(cost_by_method[m].evaluations for m in methods), 1, "bar")
    ticks = tuple(
        LABELS[m].replace("Euler ", "Euler\n").replace("Adams-", "Adams-\n") for m in methods
    )
    most = 1.15 * max(cost.evaluations for cost in cost_by_method.values())
    panels = (
        Panel("CPU time per step", "", "time [us]", (times,), ticks=ticks, top=top),
        Panel(
            "evaluations of the inverse per step",
            "",
            "evaluations",
            (counts,),
            ticks=ticks,
            top=most,
        ),
    )
    return Chart(name, f"{figure_name(name)}: cost of the {what} methods", panels, 2, (9.0, 3.8))


def cost_table(cost_by_method: Mapping[str, Cost]) -> Table:
    """Return a table of the costs of a step for all methods."""
    first = next(iter(cost_by_method.values())).seconds
    rows = tuple(
        (cost.method, round(cost.evaluations, 3), cost.seconds * 1e6, cost.seconds / first)
        for cost in cost_by_method.values()
    )
    head = ("method", "evaluations", "time, us", "ratio to rk1")
    title = "Figures 7 and 8: cost of a step, CPU time in us"
    return Table("cost", title, head, rows, timed=("time, us", "ratio to rk1"))
