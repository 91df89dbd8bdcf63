"""`integrate`: solve an initial value problem and return its `Solution`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Array, Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import ResultWithStatistics, Statistics
from manip_dyn.integration.engine import Engine, compile_engine
from manip_dyn.integration.loop_arrays import Space
from manip_dyn.integration.methods.dense_output import DenseOutput
from manip_dyn.integration.methods.method import Method
from manip_dyn.integration.methods.step_control import Status
from manip_dyn.integration.methods.taylor import Taylor
from manip_dyn.integration.problem import Problem, checked_problem
from manip_dyn.integration.settings import (
    Events,
    Jacobian,
    Sampling,
    StepControl,
    checked_control,
    checked_sampling,
)
from manip_dyn.integration.user_functions import refused


class FoundEvents(NamedTuple):
    """The events that were found, in the order of their finding.

    Attributes:
        times: When (k,), s.
        states: States (k, m) before the events' action.
        indices: Which of the event functions (k,).
    """

    times: Vector
    states: Matrix
    indices: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Solution(ResultWithStatistics):
    """A motion of k samples, and how it was found.

    Attributes:
        t: Times (k,), s: of every step, or those that were asked for as far as they were reached.
        y: States (k, m).
        status: How it ended.
        reason: The same in one sentence.
        t_last: Time that was reached, s.
        y_last: State (m,) at that time.
        statistics: Steps, failures and evaluations of the right-hand side.
        events: The events that were found.
        method: Name of the method.
        dense: The motion between the steps, if it was asked for.
    """

    t: Vector
    y: Matrix
    status: Status
    reason: str
    t_last: float
    y_last: Vector
    statistics: Statistics
    events: FoundEvents
    method: str
    dense: DenseOutput | None = None

    @property
    def success(self) -> bool:
        """Whether the end of the time span or a terminal event was reached."""
        return self.status in (Status.SUCCESS, Status.EVENT)

    def __call__(self, t: ArrayLike) -> Array:
        """Return the states (..., m) at times t (...), s, inside the integrated span."""
        if self.dense is None:
            raise ManipDynError("this solution has no dense output; expected dense=True")
        times = np.asarray(t, dtype=np.float64)
        ends = sorted((self.dense.spans[0, 0], self.t_last))
        if not np.all((times >= ends[0]) & (times <= ends[1])):
            raise ManipDynError(f"t is {times}; expected times from {ends[0]:g} to {ends[1]:g} s")
        return self.dense(times)


_ROOM = 256
"""Rows of a record to begin with; a full one doubles."""


def integrate(
    rhs: Any,
    t_span: ArrayLike,
    y0: ArrayLike,
    *,
    method: str | Method = "rkdp87",
    step: float | None = None,
    rtol: ArrayLike | None = None,
    atol: ArrayLike | None = None,
    p: Any = None,
    t_switch: ArrayLike | None = None,
    events: Events | Any = None,
    jacobian: Jacobian | Any = None,
    order: int | None = None,
    control: StepControl | None = None,
    sampling: Sampling | ArrayLike | None = None,
) -> Solution:
    """Integrate y' = rhs(t, y) from t_span[0] to t_span[1], forwards or backwards.

    Args:
        rhs: ``rhs(t, y, p, out)`` that writes the derivative into `out` (m,), or ``f(t, y)``
            that returns it; numba compiles either. For ``taylor`` a `Series`.
        t_span: Start and end (2,), s.
        y0: State at the start (m,).
        method: Name in `METHODS`, or a method.
        step: Fixed step, s; the last one is shortened so that the end is met exactly.
        rtol: Relative tolerance, scalar or (m,). Default 1e-6 if no step is given, 0 beside an
            atol.
        atol: Absolute tolerance, scalar or (m,), in the units of the state. Default 1e-9 if no
            tolerance is given, as much as rtol beside one.
        p: Parameters: a float64 array or a tuple of arrays. Default: an empty array.
        t_switch: Times at which rhs jumps (k,), s: steps end exactly there.
        events: `Events`, or a function ``(t, y, p, out)`` whose one value ends the integration
            where it crosses zero.
        jacobian: For the Rosenbrock methods: a `Jacobian`, or its function for a system of first
            order. Default: central differences.
        order: Order of a Taylor series. Default: what the tolerance asks for.
        control: How steps are chosen, and how many there may be.
        sampling: What is kept: a `Sampling`, or the times of the samples (k,), s. Default: every
            step.

    Raises:
        ManipDynError: For bad arguments. What goes wrong later is the solution's status.
    """
    problem = checked_problem(
        rhs,
        t_span,
        y0,
        method=method,
        step=step,
        rtol=rtol,
        atol=atol,
        p=p,
        t_switch=t_switch,
        events=events,
        jacobian=jacobian,
        order=order,
        control=checked_control(control),
        sampling=checked_sampling(sampling),
    )
    engine = compile_engine(
        method=problem.method,
        options=problem.options,
        scratch=problem.scratch,
        **problem.functions,
    )
    space = _prepared(engine, problem)
    y = problem.y.copy()
    status, space = _advanced(engine, problem, y, space)
    return _solution(problem, status, y, space)


def _prepared(engine: Engine, problem: Problem) -> Space:
    """Return the arrays of the loop, set to the start of the problem."""
    every = problem.settings["every_step"]
    samples = 0 if problem.t_eval is None or not problem.land else len(problem.t_eval) + 2
    room = (
        _ROOM if every else samples,
        _ROOM if problem.options.dense else 0,
        _ROOM if problem.options.events else 0,
    )
    space = engine.space(**problem.settings, stops=len(problem.stops), room=room)
    engine.start(space, problem.t, problem.stops)
    if every or (samples and problem.t_eval is not None and problem.t in problem.t_eval[:1]):
        space.times[0], space.states[0] = problem.t, problem.y
        space.state.rows = 1
    return space


def _advanced(
    engine: Engine, problem: Problem, y: np.ndarray, space: Space
) -> tuple[Status, Space]:
    """Run the loop; whenever a record is full, double it and go on."""
    while True:
        try:
            status = Status(engine.advance(problem.p, y, space))
        except Exception as error:
            expected = "numpy functions of numbers and arrays"
            raise refused(problem.given, error, expected) from error
        if status is not Status.PAUSED:
            return status, space
        record = space.record
        room = [2 * len(each) for each in (record.times, record.spans, record.event_times)]
        larger = engine.record(room[0], room[1], room[2], record.polynomials.shape[1] - 1)
        for new, old in zip(larger, record, strict=True):
            new[: len(old)] = old
        space = space.keeping(larger)


def _solution(problem: Problem, status: Status, y: np.ndarray, space: Space) -> Solution:
    """Return what the arrays of the loop say."""
    now, record = space.state, space.record
    rows, pieces, found = int(now.rows), int(now.pieces), int(now.found)
    dense = DenseOutput(record.spans[:pieces], record.polynomials[:pieces]) if pieces else None
    t, states = record.times[:rows], record.states[:rows]
    if problem.t_eval is not None and not problem.land:
        sign = np.sign(problem.stops[-1, 0] - problem.t)
        t = problem.t_eval[sign * (now.t - problem.t_eval) >= 0.0]
        states = dense(t) if dense else np.tile(y, (len(t), 1))
    return Solution(
        t=t,
        y=states,
        status=status,
        reason=_reason(problem, status, y, space),
        t_last=float(now.t),
        y_last=y,
        statistics=Statistics(int(now.steps), int(now.failures), int(now.evaluations)),
        events=FoundEvents(
            record.event_times[:found], record.event_states[:found], record.event_indices[:found]
        ),
        method=problem.method.name,
        dense=dense if problem.dense else None,
    )


def _reason(problem: Problem, status: Status, y: np.ndarray, space: Space) -> str:
    """Return the status in one sentence."""
    limits, now = space.limits, space.state
    t, step = float(now.t), abs(float(limits.step or now.planned))
    if status is Status.EVENT:
        return f"event {space.event_indices[now.found - 1]} was found at t = {t:.9g} s"
    if status is Status.NON_FINITE:
        return _non_finite(problem, t, y, step)
    if status is Status.STEP_UNDERFLOW:
        return f"the tolerances need a step below {step:.3g} s at t = {t:.17g} s"
    if status is Status.TOO_MANY_STEPS:
        return f"max_steps = {limits.max_steps:.0f} steps were used up at t = {t:.9g} s"
    return f"t = {t:.9g} s was reached in {now.steps} steps"


def _non_finite(problem: Problem, t: float, y: np.ndarray, step: float) -> str:
    if not isinstance(problem.method, Taylor) and problem.functions["rhs"] is not None:
        derivative = np.zeros_like(y)
        problem.functions["rhs"](t, y, problem.p, derivative)
        if not np.all(np.isfinite(derivative)):
            return f"the derivative at t = {t:.9g} s is {derivative}; expected finite numbers"
    return f"numbers are not finite in a step of {step:.3g} s from t = {t:.9g} s"
