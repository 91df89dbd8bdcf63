"""An initial value problem with its exact solution, and runs of engines measured against it.

The error of a run is the largest |q - q_reference| over its own recorded steps and all joints.
The reference is the motion's own Taylor series at the limit of rounding, which is known between
its steps too; a Runge-Kutta method of order 8 at a tight tolerance checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration import (
    METHODS,
    Engine,
    Method,
    Options,
    Sampling,
    Series,
    Solution,
    Space,
    Status,
    compile_engine,
    integrate,
)
from manip_dyn.robot import load_robot
from manip_dyn.studies.galhano1994.curves import Point
from manip_dyn.studies.galhano1994.taylor_polynomials import heuristic_series
from manip_dyn.studies.report.stopwatch import Call, Timed

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
