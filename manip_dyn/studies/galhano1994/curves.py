"""Figures 2 to 7 of Galhano, Machado (1994): error over computing time, and energy drift.

An `InitialValueProblem` has an exact solution that runs of engines are compared with. The error of
a run is the largest |q - q_reference| over its own recorded steps and all joints. The reference is
the motion's own Taylor series at the limit of rounding, which is also known between its steps. A
Runge-Kutta method of order 8 at a tight tolerance checks it.

Figure 2 uses Taylor polynomials T_ij, of order i for the position and j for the velocity.
T_p,p-1 is the standard series: the derivative of the position's polynomial is the velocity's.
T_pp is the paper's heuristic with one more term, and so one more coefficient, of the velocity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench.timing import Call, Timed, median_seconds
from manip_dyn.codegen import Kernels, customize
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration import (
    METHODS,
    Engine,
    Method,
    Options,
    RungeKutta,
    Sampling,
    Series,
    Solution,
    Space,
    Status,
    compile_engine,
    integrate,
)
from manip_dyn.robot import load_robot
from manip_dyn.studies.galhano1994.settings import Settings


class Point(NamedTuple):
    """One run.

    Attributes:
        setting: Number of fixed steps, or absolute tolerance.
        seconds: CPU time of the run, s.
        error: Largest error over the recorded steps; NaN if the run failed.
        steps: Steps that passed.
        failures: Steps that failed and were tried again.
        evaluations: Evaluations of the right-hand side, or series.
        status: How the run ended, a name of `Status`.
    """

    setting: float
    seconds: float
    error: float
    steps: int
    failures: int
    evaluations: int
    status: str

    @property
    def tries(self) -> int:
        """All steps that were computed, failed ones included."""
        return self.steps + self.failures


class Curve(NamedTuple):
    """The runs of one method.

    Attributes:
        method: Its name.
        label: Its name as the paper writes it.
        order: Its order.
        points: Its runs, from coarse to fine.
        dashed: Whether a chart dashes it, to tell a variant from its original.
    """

    method: str
    label: str
    order: int
    points: tuple[Point, ...]
    dashed: bool = False

    def between(self, least: float, most: float) -> Curve:
        """Return the curve with the successful runs whose error is in [least, most] only."""
        kept = (each for each in self.points if each.status == "SUCCESS")
        return self._replace(points=tuple(each for each in kept if least <= each.error <= most))

    def error_at_time(self, seconds: float) -> float:
        """Return the error that this method has after a computing time, NaN outside its runs."""
        return _between(self._column("seconds"), self._column("error"), seconds)

    def error_at_tries(self, tries: float) -> float:
        """Return the error that this method has with a number of steps, NaN outside its runs."""
        return _between(self._column("tries"), self._column("error"), tries)

    def error_at_evaluations(self, evaluations: float) -> float:
        """Return the error that this method has with so many evaluations, NaN outside its runs."""
        return _between(self._column("evaluations"), self._column("error"), evaluations)

    def time_at_error(self, error: float) -> float:
        """Return the computing time, s, after which the runs first reach an error, or NaN."""
        return self._first("seconds", error)

    def tries_at_error(self, error: float) -> float:
        """Return the steps, failed ones too, with which an error is first reached, or NaN."""
        return self._first("tries", error)

    def evaluations_at_error(self, error: float) -> float:
        """Return the evaluations with which an error is first reached, or NaN."""
        return self._first("evaluations", error)

    def measured_order(self) -> float:
        """Return minus the slope of error over steps, log-log, of the three finest runs."""
        if len(self.points) < 3:
            return np.nan
        x, y = self._column("steps")[-3:], self._column("error")[-3:]
        return float(-np.polyfit(np.log(x), np.log(y), 1)[0])

    def roughness(self) -> float:
        """Return how far error over steps is from a straight line, log-log: rms in decades."""
        if len(self.points) < 3:
            return np.nan
        x, y = np.log10(self._column("steps")), np.log10(self._column("error"))
        return float(np.sqrt(np.mean((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2)))

    def _first(self, name: str, error: float) -> float:
        """Return what the runs cost when they first reach an error, between runs, or NaN."""
        for coarse, fine in pairwise(self.points):
            if coarse.error >= error >= fine.error:
                errors = np.array([fine.error, coarse.error])
                costs = np.array([getattr(each, name) for each in (fine, coarse)], dtype=float)
                return _between(errors, costs, error)
        return np.nan

    def _column(self, name: str) -> Vector:
        return np.array([getattr(each, name) for each in self.points], dtype=np.float64)


class Figure(NamedTuple):
    """A chart: what it shows and its curves.

    Attributes:
        name: ``"fig2"`` .. ``"fig7"`` or ``"energy"``.
        robot: The robot's name.
        title: The family of methods.
        quantity: What the error is, with its unit.
        floor: Errors below, in that unit, are mostly rounding.
        curves: One per method.
    """

    name: str
    robot: str
    title: str
    quantity: str
    floor: float
    curves: tuple[Curve, ...]


def _between(x: Vector, y: Vector, wanted: float) -> float:
    """Return y at x = wanted, linear in the logarithms, NaN outside."""
    if x.size == 0:
        return np.nan
    order = np.argsort(x)
    found = np.interp(
        np.log(wanted), np.log(x[order]), np.log(y[order]), left=np.nan, right=np.nan
    )
    return float(np.exp(found))


def heuristic_series(kernels: Kernels) -> Series:
    """Return T_pp: the series of y = (q, v), both to order p."""
    return Series(kernels.series.of_state, kernels.series.width)


def standard_series(kernels: Kernels) -> Series:
    """Return T_p,p-1: q to order p, v to order p - 1, without computing the term left out."""
    of_state: Callable[..., Any] = kernels.series.of_state
    n = kernels.robot.n

    @compiled(merge=True)
    def of_position(t, y, p, order, work, out):
        of_state(t, y, p, order - 1, work, out)
        for i in range(n):
            out[order, i] = out[order - 1, n + i] / order
            out[order, n + i] = 0.0

    return Series(of_position, kernels.series.width)


REFERENCE_TOLERANCE = 1e-16
CHECK_TOLERANCE = 1e-15
WORST_CHECK = 1e-11
"""Largest difference between reference and check, rad; beyond, the motion is not for a study."""


class Trial(NamedTuple):
    """A run with its error, and what to time; None if the run failed."""

    point: Point
    timed: Timed | None


class InitialValueProblem:
    """A robot that moves from a state under constant efforts.

    Attributes:
        name: The robot's.
        kernels: Its customized functions.
        duration: s.
        efforts: Constant joint efforts (n,), N m or N.
        safety: sigma of eq. 14.
    """

    def __init__(
        self,
        name: str,
        y0: Vector,
        efforts: Vector,
        duration: float,
        most_steps: int,
        safety: float = 0.9,
    ):
        """Take a robot, its state (2 n,), efforts and duration, and what rules the steps."""
        self.name = name
        self.kernels = customize(load_robot(name))
        self.duration = duration
        self.efforts = efforts
        self._y0 = y0
        self._n = len(efforts)
        self._most_steps = most_steps
        self.safety = safety

    # ------------------------------------------------------------------- reference
    @cached_property
    def reference(self) -> Solution:
        """The motion to about 1e-14, at any time."""
        series = heuristic_series(self.kernels)
        return self._reference_run(series, "taylor", REFERENCE_TOLERANCE, dense=True)

    @cached_property
    def cross_check(self) -> float:
        """Largest difference in position, rad, between the reference and rkdp87."""
        check = self._reference_run(self.kernels.right_hand_side, "rkdp87", CHECK_TOLERANCE)
        difference = self.position_error(check.t, check.y)
        if not difference <= WORST_CHECK:
            raise ManipDynError(
                f"motion of {self.name}: reference and check differ by {difference:.1e} rad; "
                f"expected {WORST_CHECK:g} or less: start elsewhere or make it shorter"
            )
        return difference

    def _reference_run(self, rhs: Any, method: str, rtol: float, dense: bool = False) -> Solution:
        span = (0.0, self.duration)
        found = integrate(
            rhs,
            span,
            self._y0,
            method=method,
            rtol=rtol,
            p=self.efforts,
            sampling=Sampling(dense=dense),
        )
        if not found.success:
            raise ManipDynError(f"motion of {self.name} has no reference: {found.reason}")
        return found

    # ---------------------------------------------------------------------- errors
    def position_error(self, t: Vector, states: Vector) -> float:
        """Return the largest position error, rad, of states (k, 2 n) at times (k,), s."""
        exact = self.reference(t)
        return float(np.abs(states[:, : self._n] - exact[:, : self._n]).max())

    def energy_drift(self, t: Vector, states: Vector) -> float:
        """Return max |E(t) - E(0)|, J, over states (k, 2 n); for motions without efforts."""
        q, v = np.ascontiguousarray(states[:, : self._n].T), states[:, self._n :].T.copy()
        total = self.kernels.batch.energy(q, v).sum(axis=0)
        return float(np.abs(total - total[0]).max())

    # ------------------------------------------------------------------------ runs
    def engine(
        self, method: str | Method, series: Series | None = None, rhs: Any = None
    ) -> Engine:
        """Return a method compiled with this robot's dynamics, or with a series of fixed order.

        `rhs` takes the place of the customized right-hand side.

        Embedded methods follow the paper's step control, eq. 14.
        """
        chosen = method if isinstance(method, Method) else METHODS[method]
        size = 2 * self._n
        if series is not None:
            return compile_engine(
                series.function, chosen, Options(size), scratch=series.quantities
            )
        controlled = Options(size, adaptive=True, controller="paper")
        options = controlled if chosen.adaptive else Options(size)
        return compile_engine(rhs or self.kernels.right_hand_side, chosen, options)

    def trial(
        self,
        engine: Engine,
        setting: float,
        error: Callable[[Vector, Vector], float],
        **limits: Any,
    ) -> Trial:
        """Return a run with its error, not yet timed.

        Args:
            engine: What runs.
            setting: What the point is called by: number of steps, or tolerance.
            error: `position_error` or `energy_drift`.
            **limits: For `Engine.space`.
        """
        limits = {"fac": self.safety} | limits
        space = engine.space(max_steps=self._most_steps, **limits)
        status = self._run(engine, space)
        now = space.state
        steps, failures, evaluations = int(now.steps), int(now.failures), int(now.evaluations)
        point = Point(setting, np.nan, np.nan, steps, failures, evaluations, status.name)
        if status is not Status.SUCCESS:
            return Trial(point, None)
        found = error(*self.record(engine, steps, **limits))
        idle = engine.space(**(limits | {"max_steps": 0.0}))
        timed = Timed(self._call(engine, space), self._call(engine, idle))
        return Trial(point._replace(error=found), timed)

    def record(self, engine: Engine, steps: int, **limits: Any) -> tuple[Vector, Vector]:
        """Return times (k,) and states (k, 2 n) of a run of `steps` steps, the start included."""
        space = engine.space(every_step=True, room=(steps + 1, 0, 0), **limits)
        self._run(engine, space)
        times, states = space.times, space.states
        return np.r_[0.0, times[:steps]], np.vstack([self._y0, states[:steps]])

    def _run(self, engine: Engine, space: Space) -> Status:
        return Status(engine.go(0.0, self.duration, self.efforts, self._y0.copy(), space))

    def _call(self, engine: Engine, space: Space) -> Call:
        """Return a run without arguments, on arrays of its own."""
        y, start = self._y0.copy(), self._y0
        go, duration, efforts = engine.go, self.duration, self.efforts

        def call() -> None:
            y[:] = start
            go(0.0, duration, efforts, y, space)

        return call


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
