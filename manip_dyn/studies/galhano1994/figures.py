"""Figures 2 to 7 of Galhano, Machado (1994) as curves, and an energy-drift chart beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from manip_dyn.core.checks import Vector
from manip_dyn.integration import METHODS, Method, RungeKutta
from manip_dyn.studies.galhano1994.curves import Curve, Figure, Point
from manip_dyn.studies.galhano1994.problem import InitialValueProblem, Trial
from manip_dyn.studies.galhano1994.settings import Settings
from manip_dyn.studies.galhano1994.taylor_polynomials import heuristic_series, standard_series
from manip_dyn.studies.report.stopwatch import median_seconds

Error = Callable[[Vector, Vector], float]
Row = tuple[Curve, tuple[Trial, ...]]
ENERGY_FLOOR = 1e-10
"""J: 1e-12 of what these motions trade between kinetic and potential energy, about 100 J."""


class Untimed(NamedTuple):
    """A figure whose runs are not yet timed: trials in place of points, curve by curve."""

    figure: Figure
    trials: tuple[tuple[Trial, ...], ...]


def untimed_figure(
    name: str, title: str, problem: InitialValueProblem, settings: Settings
) -> Untimed:
    """Return a figure of a problem with its errors, before its times.

    Args:
        name: ``"fig2"`` .. ``"fig7"`` or ``"energy"``, for which `problem` has no efforts.
        title: The family of methods.
        problem: What is integrated.
        settings: With what.
    """
    if name == "fig2":
        rows = _taylor_trials(problem, settings)
    elif name == "energy":
        rows = _trials(problem, settings, settings.energy_methods, problem.energy_drift)
    else:
        rows = _trials(problem, settings, settings.methods[name], problem.position_error)
    quantity, floor = "maximum position error [rad]", settings.compared_errors[0]
    if name == "energy":
        quantity, floor = "largest energy drift |E(t) - E(0)| [J]", ENERGY_FLOOR
    curves = tuple(curve for curve, _ in rows)
    figure = Figure(name, problem.name, title, quantity, floor, curves)
    return Untimed(figure, tuple(trials for _, trials in rows))


def timed_figures(untimed: Sequence[Untimed], settings: Settings) -> list[Figure]:
    """Return the figures with the times of all their runs, measured in common rounds."""
    every = [t for each in untimed for trials in each.trials for t in trials]
    runs = [trial.timed for trial in every if trial.timed]
    seconds = iter(median_seconds(runs, settings.repeats, settings.slice))

    def points(trials: Sequence[Trial]) -> tuple[Point, ...]:
        return tuple(
            each.point._replace(seconds=next(seconds)) if each.timed else each.point
            for each in trials
        )

    return [
        each.figure._replace(
            curves=tuple(
                curve._replace(points=points(trials))
                for curve, trials in zip(each.figure.curves, each.trials, strict=True)
            )
        )
        for each in untimed
    ]


def _taylor_trials(problem: InitialValueProblem, settings: Settings) -> list[Row]:
    """Return T_p,p-1 and T_pp for each order p, at fixed steps."""
    variants = [
        (offset, problem.engine("taylor", series(problem.kernels)))
        for offset, series in ((1, standard_series), (0, heuristic_series))
    ]
    rows = []
    for p in settings.taylor_orders:
        for offset, engine in variants:
            trials = (
                problem.trial(
                    engine, n, problem.position_error, step=problem.duration / n, orders=(p, p)
                )
                for n in settings.steps
            )
            j = p - offset
            curve = Curve(f"t{p},{j}", f"T {p},{j}", j, (), dashed=offset == 0)
            rows.append((curve, tuple(trials)))
    return rows


def _trials(
    problem: InitialValueProblem, settings: Settings, names: Iterable[str], error: Error
) -> list[Row]:
    """Return the runs of methods: over numbers of steps, or over tolerances if embedded."""
    rows = []
    for name in names:
        engine, method = problem.engine(name), METHODS[name]
        if method.adaptive:
            trials = [problem.trial(engine, tol, error, atol=tol) for tol in settings.tolerances]
        else:
            trials = [
                problem.trial(engine, n, error, step=problem.duration / n) for n in settings.steps
            ]
        rows.append((Curve(name, method_label(method), method.order or 0, ()), tuple(trials)))
    return rows


def evenly_stepped(problem: InitialValueProblem, curve: Curve) -> Curve:
    """Return an embedded method's own formula at equal steps, as many as its runs computed.

    It tells what the choice of steps gains from what the coefficients gain; not timed.
    """
    engine, points = problem.engine(curve.method), []
    for each in curve.points:
        if each.status == "SUCCESS":
            step = problem.duration / each.tries
            limits = {"first_step": step, "min_step": step, "max_step": step * (1.0 + 1e-12)}
            t, states = problem.record(engine, each.tries, atol=1e9, **limits)
            error = problem.position_error(t, states)
            points.append(each._replace(steps=each.tries, failures=0, error=error))
    return curve._replace(label=f"{curve.label} at equal steps", points=tuple(points))


def other_coefficients(problem: InitialValueProblem, settings: Settings) -> list[Curve]:
    """Return the errors of fixed-step methods with other coefficients; not timed."""
    curves = []
    for order, names in settings.alternatives.items():
        for name in names:
            engine = problem.engine(RungeKutta.of(name))
            points = [
                problem.trial(
                    engine, count, problem.position_error, step=problem.duration / count
                ).point
                for count in settings.steps
            ]
            curves.append(Curve(name, name, order, tuple(points)))
    return curves


def method_label(method: Method) -> str:
    """Return a method's name as the paper writes it: RK4, RKF 4(5)."""
    family = method.name.rstrip("0123456789").upper()
    if method.embedded_order is None:
        return f"{family}{method.order}"
    return f"{family} {method.order}({method.embedded_order})"
