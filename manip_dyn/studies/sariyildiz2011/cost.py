"""Figures 7 and 8 of Sariyildiz et al. (2011): what a step of each method costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.clik import ClikSettings
from manip_dyn.clik.follower import tracking_arguments, tracking_engine
from manip_dyn.clik.law.settings import law_memory
from manip_dyn.studies.report.charts import Chart, Line, Panel, figure_name
from manip_dyn.studies.report.stopwatch import Timed, median_seconds
from manip_dyn.studies.report.tables import Table
from manip_dyn.studies.sariyildiz2011.cases import LABELS
from manip_dyn.studies.sariyildiz2011.runs import Runs

SINGLE_STEP = ("rk1", "rk2", "rk4")
MULTISTEP = ("euler_trapezoidal", "ab4", "abm4")
STEP = 0.1
"""s; of the timed runs. The time per step does not depend on it."""


class Cost(NamedTuple):
    """What a step of a method costs: evaluations of the inverse, and CPU time in s."""

    method: str
    evaluations: float
    seconds: float


def costs(runs: Runs, methods: Sequence[str]) -> dict[str, Cost]:
    """Return what the methods cost on the first of the shown circles."""
    tasks = [_task(runs, method) for method in methods]
    settings = runs.settings
    seconds = median_seconds([task[1] for task in tasks], settings.repeats, settings.slice)
    return {
        method: Cost(method, evaluations / steps, time / steps)
        for method, ((evaluations, steps), _), time in zip(methods, tasks, seconds, strict=True)
    }


def _task(runs: Runs, method: str) -> tuple[tuple[int, int], Timed]:
    """Return evaluations and steps of one circle, and the same as a run to time."""
    circle = runs.settings.shown_circles[0]
    robot, path, q0 = runs.unlimited, runs.path(circle), runs.start(circle)
    engine = tracking_engine(robot, path.function, method)
    settings = ClikSettings(gain=runs.settings.gain, inverse="pseudo_inverse")
    p = tracking_arguments(robot, path.parameters, law_memory(robot, settings, STEP))
    start, y = np.append(q0, 0.0), np.empty(robot.n + 1)
    space, idle = engine.space(step=STEP), engine.space(step=STEP, max_steps=0.0)

    def call(memory=space) -> None:
        y[:] = start
        engine.go(0.0, path.duration, p, y, memory)

    call()
    steps, evaluations = int(space.state.steps), int(space.state.evaluations)
    return (evaluations, steps), Timed(call, lambda: call(idle))


def chart(name: str, found: Mapping[str, Cost]) -> Chart:
    """Return ``fig7`` (single-step methods) or ``fig8`` (multistep ones)."""
    methods = SINGLE_STEP if name == "fig7" else MULTISTEP
    what = "single-step" if name == "fig7" else "multistep"
    places = tuple(float(k) for k in range(len(methods)))
    top = 1.15e6 * max(cost.seconds for cost in found.values())
    times = Line("", places, tuple(found[m].seconds * 1e6 for m in methods), 0, "bar")
    counts = Line("", places, tuple(found[m].evaluations for m in methods), 1, "bar")
    ticks = tuple(
        LABELS[m].replace("Euler ", "Euler\n").replace("Adams-", "Adams-\n") for m in methods
    )
    most = 1.15 * max(cost.evaluations for cost in found.values())
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


def table(found: Mapping[str, Cost]) -> Table:
    """Return the costs as a table."""
    first = next(iter(found.values())).seconds
    rows = tuple(
        (cost.method, round(cost.evaluations, 3), cost.seconds * 1e6, cost.seconds / first)
        for cost in found.values()
    )
    head = ("method", "evaluations", "us", "ratio to the first")
    title = "Figures 7 and 8: cost of a step, CPU time in us"
    return Table("cost", title, head, rows, timed=("us", "ratio to the first"))
