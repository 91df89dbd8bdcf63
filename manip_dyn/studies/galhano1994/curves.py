"""Figures 2 to 7 of Galhano, Machado (1994): error over computing time, and energy drift.

An `InitialValueProblem` has a reference solution with which runs are compared. The error of a run
is the largest |q - q_reference| over its steps and joints. The reference is integrated by Taylor
series to rounding accuracy and has dense output. A Runge-Kutta method of order 8 with a tight
tolerance checks the reference.

Figure 2 uses Taylor polynomials T_ij of order i for the position and order j for the velocity.
T_p,p-1 is the standard series: the velocity polynomial is the derivative of the position
polynomial. T_pp is the heuristic of the paper: its velocity polynomial has one more term.
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
    """One run of a method.

    Attributes:
        setting: Number of fixed steps, or absolute tolerance of an embedded method.
        seconds: CPU time of the run, s; NaN if it has not been timed.
        error: Largest error over the recorded steps, rad or J; NaN if the run failed.
        steps: Number of accepted steps.
        failures: Number of rejected steps.
        evaluations: Number of evaluations of the right-hand side or of the series.
        status: Name of the `Status` of the run.
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
        """Number of computed steps, including rejected ones."""
        return self.steps + self.failures


class Curve(NamedTuple):
    """Runs of a method with different steps or tolerances.

    Attributes:
        method: Name of the method.
        label: Name of the method in the paper.
        order: Order of the method.
        points: Runs, from coarse to fine.
        dashed: Whether charts use a dashed line, which marks a variant of the preceding method.
    """

    method: str
    label: str
    order: int
    points: tuple[Point, ...]
    dashed: bool = False

    def between(self, least: float, most: float) -> Curve:
        """Return the curve of the successful runs whose error is in [least, most]."""
        points = (point for point in self.points if point.status == "SUCCESS")
        return self._replace(
            points=tuple(point for point in points if least <= point.error <= most)
        )

    def error_at_time(self, seconds: float) -> float:
        """Return the interpolated error for a computing time (s), or NaN outside the runs."""
        return _between(self._column("seconds"), self._column("error"), seconds)

    def error_at_tries(self, tries: float) -> float:
        """Return the interpolated error for a number of computed steps; NaN outside the runs."""
        return _between(self._column("tries"), self._column("error"), tries)

    def error_at_evaluations(self, evaluations: float) -> float:
        """Return the interpolated error for a number of evaluations, or NaN outside the runs."""
        return _between(self._column("evaluations"), self._column("error"), evaluations)

    def time_at_error(self, error: float) -> float:
        """Return the computing time (s) for which the curve first falls to `error`, or NaN."""
        return self._first("seconds", error)

    def tries_at_error(self, error: float) -> float:
        """Return the computed steps for which the curve first falls to `error`, or NaN."""
        return self._first("tries", error)

    def evaluations_at_error(self, error: float) -> float:
        """Return the evaluations for which the curve first falls to `error`, or NaN."""
        return self._first("evaluations", error)

    def measured_order(self) -> float:
        """Return the order of the error, estimated from the three finest runs.

        The result is NaN for fewer than three runs.
        """
        if len(self.points) < 3:
            return np.nan
        x, y = self._column("steps")[-3:], self._column("error")[-3:]
        return float(-np.polyfit(np.log(x), np.log(y), 1)[0])

    def roughness(self) -> float:
        """Return the rms deviation of the error from a power law in the number of steps, decades.

        The result is NaN for fewer than three runs.
        """
        if len(self.points) < 3:
            return np.nan
        x, y = np.log10(self._column("steps")), np.log10(self._column("error"))
        return float(np.sqrt(np.mean((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2)))

    def _first(self, name: str, error: float) -> float:
        """Return the interpolated cost `name` for which the curve first falls to `error`."""
        for coarse, fine in pairwise(self.points):
            if coarse.error >= error >= fine.error:
                errors = np.array([fine.error, coarse.error])
                costs = np.array([getattr(curve, name) for curve in (fine, coarse)], dtype=float)
                return _between(errors, costs, error)
        return np.nan

    def _column(self, name: str) -> Vector:
        return np.array([getattr(point, name) for point in self.points], dtype=np.float64)


class Figure(NamedTuple):
    """Curves of a figure for one robot.

    Attributes:
        name: Name of the figure: ``"fig2"`` to ``"fig7"`` or ``"energy"``.
        robot: Name of the robot.
        title: Name of the family of methods.
        quantity: Definition of the error, with its unit.
        floor: Error below which rounding dominates.
        curves: One curve per method.
    """

    name: str
    robot: str
    title: str
    quantity: str
    floor: float
    curves: tuple[Curve, ...]


def _between(x: Vector, y: Vector, target: float) -> float:
    """Interpolate y at x = `target` linearly in the logarithms; return NaN outside the data."""
    if x.size == 0:
        return np.nan
    order = np.argsort(x)
    values = np.interp(
        np.log(target), np.log(x[order]), np.log(y[order]), left=np.nan, right=np.nan
    )
    return float(np.exp(values))


# ------------------------------------------------------------------------ Taylor polynomials
def heuristic_series(kernels: Kernels) -> Series:
    """Return the series T_pp: q and v are both computed to order p."""
    return Series(kernels.series.of_state, kernels.series.width)


def standard_series(kernels: Kernels) -> Series:
    """Return the series T_p,p-1: q to order p and v to order p - 1.

    The coefficient of order p of v is not computed.
    """
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
# --------------------------------------------------------------------- initial value problem
WORST_CHECK = 1e-11
"""Largest allowed difference between reference and check, rad."""


class Trial(NamedTuple):
    """A run with its error and a call for timing, which is None if the run failed."""

    point: Point
    timed: Timed | None


class InitialValueProblem:
    """Motion of a robot from an initial state under constant efforts.

    Attributes:
        name: Name of the robot.
        kernels: Kernels of the robot.
        duration: Duration, s.
        efforts: Constant joint efforts (n,), N m or N.
        safety: Safety factor of the step control, sigma of eq. 14.
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
        """Load the robot and store the problem.

        Args:
            name: Name of the robot.
            y0: Initial positions and velocities (2 n,).
            efforts: Constant joint efforts (n,), N m or N.
            duration: Duration, s.
            most_steps: Maximum number of steps of a run, including rejected steps.
            safety: Safety factor of the step control, sigma of eq. 14.
        """
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
        """Reference solution with dense output, integrated by Taylor series."""
        series = heuristic_series(self.kernels)
        return self._reference_run(series, "taylor", REFERENCE_TOLERANCE, dense=True)

    @cached_property
    def cross_check(self) -> float:
        """Largest position difference (rad) between the reference and a run of rkdp87.

        Raises:
            ManipDynError: If the difference is larger than `WORST_CHECK`.
        """
        check = self._reference_run(self.kernels.right_hand_side, "rkdp87", CHECK_TOLERANCE)
        difference = self.position_error(check.t, check.y)
        if not difference <= WORST_CHECK:
            raise ManipDynError(
                f"reference and check of the motion of {self.name} must differ by at most "
                f"{WORST_CHECK:g} rad, got {difference:.1e}. Change the start or the duration."
            )
        return difference

    def _reference_run(self, rhs: Any, method: str, rtol: float, dense: bool = False) -> Solution:
        span = (0.0, self.duration)
        solution = integrate(
            rhs,
            span,
            self._y0,
            method=method,
            rtol=rtol,
            p=self.efforts,
            sampling=Sampling(dense=dense),
        )
        if not solution.success:
            raise ManipDynError(f"motion of {self.name} has no reference: {solution.reason}.")
        return solution

    # ---------------------------------------------------------------------- errors
    def position_error(self, t: Vector, states: Vector) -> float:
        """Return the largest position error (rad) of states (k, 2 n) at times (k,), s."""
        exact = self.reference(t)
        return float(np.abs(states[:, : self._n] - exact[:, : self._n]).max())

    def energy_drift(self, t: Vector, states: Vector) -> float:
        """Return max |E(t) - E(0)| (J) over states (k, 2 n) of a motion without efforts."""
        q, v = np.ascontiguousarray(states[:, : self._n].T), states[:, self._n :].T.copy()
        total = self.kernels.batch.energy(q, v).sum(axis=0)
        return float(np.abs(total - total[0]).max())

    # ------------------------------------------------------------------------ runs
    def engine(
        self, method: str | Method, series: Series | None = None, rhs: Any = None
    ) -> Engine:
        """Return a compiled method for the dynamics of the robot or for a Taylor series.

        Embedded methods use the step control of the paper, eq. 14.

        Args:
            method: The method or its name.
            series: Series for Taylor methods, or None.
            rhs: Right-hand side. Default: the customized right-hand side of the robot.
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
        """Perform an untimed run and return it with its error.

        Args:
            engine: Compiled method.
            setting: Number of steps or tolerance, stored in the point.
            error: `position_error` or `energy_drift`.
            **limits: Additional arguments of `Engine.space`.
        """
        limits = {"fac": self.safety} | limits
        space = engine.space(max_steps=self._most_steps, **limits)
        status = self._run(engine, space)
        now = space.state
        steps, failures, evaluations = int(now.steps), int(now.failures), int(now.evaluations)
        point = Point(setting, np.nan, np.nan, steps, failures, evaluations, status.name)
        if status is not Status.SUCCESS:
            return Trial(point, None)
        errors = error(*self.record(engine, steps, **limits))
        idle = engine.space(**(limits | {"max_steps": 0.0}))
        timed = Timed(self._call(engine, space), self._call(engine, idle))
        return Trial(point._replace(error=errors), timed)

    def record(self, engine: Engine, steps: int, **limits: Any) -> tuple[Vector, Vector]:
        """Repeat a run; return times (steps + 1,) and states (steps + 1, 2 n) from the start."""
        space = engine.space(every_step=True, room=(steps + 1, 0, 0), **limits)
        self._run(engine, space)
        times, states = space.times, space.states
        return np.r_[0.0, times[:steps]], np.vstack([self._y0, states[:steps]])

    def _run(self, engine: Engine, space: Space) -> Status:
        return Status(engine.go(0.0, self.duration, self.efforts, self._y0.copy(), space))

    def _call(self, engine: Engine, space: Space) -> Call:
        """Return a function that performs a run with its arguments in preallocated arrays."""
        y, start = self._y0.copy(), self._y0
        go, duration, efforts = engine.go, self.duration, self.efforts

        def call() -> None:
            y[:] = start
            go(0.0, duration, efforts, y, space)

        return call


Error = Callable[[Vector, Vector], float]
Row = tuple[Curve, tuple[Trial, ...]]
# ----------------------------------------------------------------------------------- figures
ENERGY_FLOOR = 1e-10
"""Energy error below which rounding dominates, J: 1e-12 of the exchanged energy of 100 J."""


class Untimed(NamedTuple):
    """A figure without computing times, and the trials of each of its curves."""

    figure: Figure
    trials: tuple[tuple[Trial, ...], ...]


def untimed_figure(
    name: str, title: str, problem: InitialValueProblem, settings: Settings
) -> Untimed:
    """Return a figure with the errors of its runs, but without computing times.

    Args:
        name: ``"fig2"`` to ``"fig7"``, or ``"energy"`` for a problem without efforts.
        title: Name of the family of methods.
        problem: The initial value problem.
        settings: Settings of the study.
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
    """Return the figures with computing times. All runs are timed in common rounds."""
    every = [t for figure in untimed for trials in figure.trials for t in trials]
    runs = [trial.timed for trial in every if trial.timed]
    seconds = iter(median_seconds(runs, settings.repeats, settings.slice))

    def points(trials: Sequence[Trial]) -> tuple[Point, ...]:
        return tuple(
            figure.point._replace(seconds=next(seconds)) if figure.timed else figure.point
            for figure in trials
        )

    return [
        figure.figure._replace(
            curves=tuple(
                curve._replace(points=points(trials))
                for curve, trials in zip(figure.figure.curves, figure.trials, strict=True)
            )
        )
        for figure in untimed
    ]


def _taylor_trials(problem: InitialValueProblem, settings: Settings) -> list[Row]:
    """Return the fixed-step runs of T_p,p-1 and T_pp for each order p."""
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
    """Return the runs of each method for all numbers of steps, or all tolerances if embedded."""
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
    """Return untimed runs of an embedded method with equal steps and the same numbers of steps.

    A comparison with `curve` separates the gain of step control from that of the coefficients.
    """
    engine, points = problem.engine(curve.method), []
    for point in curve.points:
        if point.status == "SUCCESS":
            step = problem.duration / point.tries
            limits = {"first_step": step, "min_step": step, "max_step": step * (1.0 + 1e-12)}
            t, states = problem.record(engine, point.tries, atol=1e9, **limits)
            error = problem.position_error(t, states)
            points.append(point._replace(steps=point.tries, failures=0, error=error))
    return curve._replace(label=f"{curve.label} at equal steps", points=tuple(points))


def other_coefficients(problem: InitialValueProblem, settings: Settings) -> list[Curve]:
    """Return untimed runs of fixed-step methods with other coefficients."""
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
    """Return the name of a method in the paper, such as RK4 or RKF 4(5)."""
    family = method.name.rstrip("0123456789").upper()
    if method.embedded_order is None:
        return f"{family}{method.order}"
    return f"{family} {method.order}({method.embedded_order})"
