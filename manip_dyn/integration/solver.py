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
from manip_dyn.integration.user_functions import user_error


class LocatedEvents(NamedTuple):
    """Located events in the order of integration.

    Attributes:
        times: Times (k,), s.
        states: States (k, m) before the action of the event.
        indices: Indices of the event functions (k,).
    """

    times: Vector
    states: Matrix
    indices: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Solution(ResultWithStatistics):
    """The solution of an initial value problem, with k samples.

    Attributes:
        t: Times (k,), s: the start and the end of every step, or the requested samples up to
            `t_last`.
        y: States (k, m) at these times.
        status: Status of the integration.
        reason: The status as a sentence.
        t_last: Final time, s.
        y_last: State (m,) at the final time.
        statistics: Numbers of steps, of rejected steps, and of evaluations of the right-hand side.
        events: The located events.
        method: Name of the method.
        dense: The dense output, or None if it was not requested or no step was completed.
    """

    t: Vector
    y: Matrix
    status: Status
    reason: str
    t_last: float
    y_last: Vector
    statistics: Statistics
    events: LocatedEvents
    method: str
    dense: DenseOutput | None = None

    @property
    def success(self) -> bool:
        """Whether the end of the time span or a terminal event was reached."""
        return self.status in (Status.SUCCESS, Status.EVENT)

    def __call__(self, t: ArrayLike) -> Array:
        """Return the states (..., m) at times t (...), s, in the integrated span.

        Raises:
            ManipDynError: If there is no dense output, or a time is outside the span.
        """
        if self.dense is None:
            raise ManipDynError(
                "sampling.dense must be True for values between the samples, got False."
            )
        times = np.asarray(t, dtype=np.float64)
        ends = sorted((self.dense.spans[0, 0], self.t_last))
        if not np.all((times >= ends[0]) & (times <= ends[1])):
            raise ManipDynError(f"t must be from {ends[0]:g} to {ends[1]:g} s, got {times}.")
        return self.dense(times)


_CAPACITY = 256
"""Initial capacity for steps, polynomials and events."""


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
        rhs: ``rhs(t, y, p, out)``, which writes the derivative into `out` (m,), or ``f(t, y)``,
            which returns it. Both are compiled by numba. For ``taylor``, a `Series`.
        t_span: Start and end time (2,), s.
        y0: Initial state (m,).
        method: Name in `METHODS`, or a `Method`.
        step: Fixed step, s. Steps are shortened to end exactly at samples, switches and the end of
            the span.
        rtol: Relative tolerance, scalar or (m,). Default: 1e-6 without `step`, 0 with `atol`.
        atol: Absolute tolerance, scalar or (m,), in the units of the state. Default: `rtol`, or
            1e-9 without `rtol`.
        p: Parameters: numbers, a float64 array, or a tuple of arrays. Default: an empty array.
            They are copied.
        t_switch: Times (k,) at which rhs is discontinuous, s; steps end exactly at these times.
        events: `Events`, or a function ``(t, y, p, out)`` with one value whose zero crossing ends
            the integration.
        jacobian: A `Jacobian` for Rosenbrock methods, or its function for a first-order system.
            Default: central differences.
        order: Order of a Taylor series; required with `step`. Default: determined by the
            tolerances.
        control: Step control of adaptive methods, and limits of the steps.
        sampling: A `Sampling`, or sample times (k,), s. Default: every step.

    Raises:
        ManipDynError: If an argument is invalid, or a function cannot be compiled or raises an
            exception. Numerical failures are reported by the status of the solution.
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
    space = _initial_space(engine, problem)
    y = problem.y.copy()
    status, space = _run_loop(engine, problem, y, space)
    return _solution(problem, status, y, space)


def _initial_space(engine: Engine, problem: Problem) -> Space:
    """Create the arrays of the loop; record the initial state if it is a sample."""
    every = problem.settings["every_step"]
    samples = 0 if problem.t_eval is None or not problem.land else len(problem.t_eval) + 2
    room = (
        _CAPACITY if every else samples,
        _CAPACITY if problem.options.dense else 0,
        _CAPACITY if problem.options.events else 0,
    )
    space = engine.space(**problem.settings, stops=len(problem.stops), room=room)
    engine.start(space, problem.t, problem.stops)
    if every or (samples and problem.t_eval is not None and problem.t in problem.t_eval[:1]):
        space.times[0], space.states[0] = problem.t, problem.y
        space.state.rows = 1
    return space


def _run_loop(
    engine: Engine, problem: Problem, y: np.ndarray, space: Space
) -> tuple[Status, Space]:
    """Run the loop, doubling full records; return the status and the arrays."""
    while True:
        try:
            status = Status(engine.advance(problem.p, y, space))
        except Exception as error:
            expected = "numpy functions of numbers and arrays"
            raise user_error(problem.user_functions, error, expected) from error
        if status is not Status.PAUSED:
            return status, space
        record = space.record
        sizes = [2 * len(array) for array in (record.times, record.spans, record.event_times)]
        larger = engine.record(sizes[0], sizes[1], sizes[2], record.polynomials.shape[1] - 1)
        for new, old in zip(larger, record, strict=True):
            new[: len(old)] = old
        space = space.keeping(larger)


def _solution(problem: Problem, status: Status, y: np.ndarray, space: Space) -> Solution:
    now, record = space.state, space.record
    rows, pieces, events = int(now.rows), int(now.pieces), int(now.found)
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
        events=LocatedEvents(
            record.event_times[:events],
            record.event_states[:events],
            record.event_indices[:events],
        ),
        method=problem.method.name,
        dense=dense if problem.dense else None,
    )


def _reason(problem: Problem, status: Status, y: np.ndarray, space: Space) -> str:
    limits, now = space.limits, space.state
    t, step = float(now.t), abs(float(limits.step or now.planned))
    if status is Status.EVENT:
        return f"event {space.event_indices[now.found - 1]} was located at t = {t:.9g} s"
    if status is Status.NON_FINITE:
        return _non_finite(problem, t, y, step)
    if status is Status.STEP_UNDERFLOW:
        return f"the tolerances require a step below {step:.3g} s at t = {t:.17g} s"
    if status is Status.TOO_MANY_STEPS:
        return f"max_steps = {limits.max_steps:.0f} was reached at t = {t:.9g} s"
    return f"t = {t:.9g} s was reached in {now.steps} steps"


def _non_finite(problem: Problem, t: float, y: np.ndarray, step: float) -> str:
    if not isinstance(problem.method, Taylor) and problem.functions["rhs"] is not None:
        derivative = np.zeros_like(y)
        problem.functions["rhs"](t, y, problem.p, derivative)
        if not np.all(np.isfinite(derivative)):
            return f"the derivative is not finite at t = {t:.9g} s: {derivative}"
    return f"the state is not finite after a step of {step:.3g} s from t = {t:.9g} s"
