"""`integrate` and `problem`: solve initial value problems and return each `Solution`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Array, Matrix, Vector
from manip_dyn.core.compiled import plain_function
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import ResultWithStatistics, Statistics
from manip_dyn.integration.code_analysis import has_conditions
from manip_dyn.integration.formulation import (
    Formulation,
    Interval,
    Settings,
    checked_interval,
    checked_method,
    checked_parameters,
    checked_span,
    checked_state,
    formulated,
    sizes_of,
)
from manip_dyn.integration.loop_arrays import Space, Span, clock_of
from manip_dyn.integration.methods.dense_output import DenseOutput
from manip_dyn.integration.methods.method import Method
from manip_dyn.integration.methods.step_control import STATUSES, Status
from manip_dyn.integration.methods.taylor import Taylor
from manip_dyn.integration.settings import (
    Events,
    Jacobian,
    Sampling,
    StepControl,
    checked_control,
    checked_sampling,
)
from manip_dyn.integration.step_inspection import CELLS, NARROW
from manip_dyn.integration.time_conditions import condition_times
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
            which returns it. Both are compiled by numba. They are also called in Python before the
            integration, to check indices and to find conditions on time; exceptions other than
            IndexError are ignored in these calls. For ``taylor``, a `Series`.
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

    Returns:
        The solution. Its `status` reports numerical failures.

    Raises:
        ManipDynError: If an argument is invalid, or a function cannot be compiled or raises an
            exception.
    """
    solver, checked, times = (
        checked_method(method),
        checked_control(control),
        checked_sampling(sampling),
    )
    settings = Settings(rhs, solver, events, jacobian, checked, step, rtol, atol, order, times)
    return Problem(settings, t_span, y0, p, t_switch).solve()


def problem(
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
) -> Problem:
    """Check the arguments of `integrate` once, for many solutions with `Problem.solve`.

    The arguments and the errors are those of `integrate`.
    """
    solver, checked, times = (
        checked_method(method),
        checked_control(control),
        checked_sampling(sampling),
    )
    settings = Settings(rhs, solver, events, jacobian, checked, step, rtol, atol, order, times)
    return Problem(settings, t_span, y0, p, t_switch)


class Problem:
    """An initial value problem whose functions are compiled and whose arguments are checked.

    `md.problem` creates it. Several threads may use it.
    """

    def __init__(self, settings: Settings, t_span: Any, y0: Any, p: Any, t_switch: Any):
        """Check the arguments of `integrate` and compile the functions.

        Raises:
            ManipDynError: If an argument is invalid, or a function cannot be compiled.
        """
        self._span = span = checked_span(t_span)
        self._y0, self._parameters = checked_state(y0), checked_parameters(p)
        self._formulation = formulated(settings, span[0], self._y0, self._parameters)
        self._switches, self._sampling = t_switch, settings.sampling
        self._conditional = self._formulation.options.inspected and has_conditions(settings.rhs)
        self._rhs = settings.rhs
        self._interval = self._interval_of(span, self._y0, self._parameters)
        self._tried = sizes_of(self._parameters)

    def solve(
        self, y0: ArrayLike | None = None, t_span: ArrayLike | None = None, p: Any = None
    ) -> Solution:
        """Solve the problem, by default with its original values.

        Args:
            y0: Initial state (m,).
            t_span: Start and end time (2,), s.
            p: Parameters. They are copied.

        Raises:
            ManipDynError: If an argument is invalid, or a function cannot be compiled or raises an
                exception. Numerical failures are reported by the status of the solution.
        """
        formulation = self._formulation
        y = self._y0.copy() if y0 is None else checked_state(y0, formulation.options.size)
        parameters = checked_parameters(self._parameters if p is None else p)
        interval = self._interval
        if t_span is not None or (self._conditional and (y0 is not None or p is not None)):
            span = self._span if t_span is None else checked_span(t_span)
            interval = self._interval_of(span, y, parameters)
        if formulation.linear.positions or sizes_of(parameters) != self._tried:
            formulation.check_trial(interval.start, y, parameters)
        space = _initial_space(formulation, interval, y)
        status, space = _run_loop(formulation, parameters, y, space)
        solution = _solution(formulation, interval, parameters, status, y, space)
        if _is_reusable(formulation, interval):
            formulation.spaces.append(space)
        return solution

    def _interval_of(self, span: Span, y: Vector, p: Any) -> Interval:
        """Return the times of a solution, with those at which conditions change."""
        conditions: list[float] = []
        if self._conditional:
            others = (y, p, np.zeros_like(y))[: plain_function(self._rhs).__code__.co_argcount - 1]
            conditions = condition_times(self._rhs, span, *others)
        return checked_interval(span, self._switches, self._sampling, conditions)


def _is_reusable(formulation: Formulation, interval: Interval) -> bool:
    """Return whether the arrays of a solution can be used for the next one."""
    return interval.samples is None and len(interval.stops) == 1 and not formulation.dense


def _finished(formulation: Formulation) -> Space | None:
    """Return the arrays of a finished solution, or None if there are none."""
    try:
        return formulation.spaces.pop()
    except IndexError:
        return None


def _initial_space(formulation: Formulation, interval: Interval, y: Vector) -> Space:
    """Return the arrays of the loop; record the initial state if it is a sample."""
    engine, (start, stops, times) = formulation.engine, interval
    every = times is None
    space = _finished(formulation) if _is_reusable(formulation, interval) else None
    if space is None:
        samples = 0 if times is None or not formulation.land else len(times) + 2
        room = (
            _CAPACITY if every else samples,
            _CAPACITY if formulation.options.dense else 0,
            _CAPACITY if formulation.options.events else 0,
        )
        space = by_reference(engine.space(**formulation.settings, stops=len(stops), room=room))
    is_sampled = every or (len(space.times) > 0 and times is not None and start in times[:1])
    engine.start(space, start, stops, int(is_sampled))
    if is_sampled:
        space.times[0], space.states[0] = start, y
    if formulation.options.inspected and not formulation.settings["cell"]:
        space.rules["cell"] = abs(stops[-1, 0] - start) / CELLS
    return space


def _run_loop(
    formulation: Formulation, p: Any, y: np.ndarray, space: Space
) -> tuple[Status, Space]:
    """Run the loop, doubling full records; return the status and the arrays."""
    engine = formulation.engine
    while True:
        try:
            status = STATUSES[engine.advance(p, y, space)]
        except Exception as error:
            expected = "numpy functions of numbers and arrays"
            raise user_error(formulation.user_functions, error, expected) from error
        if status is not Status.PAUSED:
            return status, space
        record = space.record
        sizes = [2 * len(array) for array in (record.times, record.spans, record.event_times)]
        larger = engine.record(sizes[0], sizes[1], sizes[2], record.polynomials.shape[1] - 1)
        for new, old in zip(larger, record, strict=True):
            new[: len(old)] = old
        space = by_reference(space.keeping(larger))


def _solution(
    formulation: Formulation,
    interval: Interval,
    p: Any,
    status: Status,
    y: np.ndarray,
    space: Space,
) -> Solution:
    now = clock_of(space)
    rows, pieces, dense = now.rows, now.pieces, None
    if pieces:
        dense = DenseOutput(space.spans[:pieces], space.polynomials[:pieces])
    t, states = space.times[:rows].copy(), space.states[:rows].copy()
    if interval.samples is not None and not formulation.land:
        sign = np.sign(interval.stops[-1, 0] - interval.start)
        t = interval.samples[sign * (now.t - interval.samples) >= 0.0]
        states = dense(t) if dense else np.tile(y, (len(t), 1))
    solution = object.__new__(Solution)
    solution.__dict__.update(  # three times faster than the constructor of a frozen dataclass
        t=t,
        y=states,
        status=status,
        reason=_reason(formulation, p, status, y, space, now),
        t_last=now.t,
        y_last=y,
        statistics=Statistics(now.steps, now.failures, now.evaluations),
        events=_located(space, now.found),
        method=formulation.method.name,
        dense=dense if formulation.dense else None,
    )
    return solution


@lru_cache(maxsize=64)
def _no_events(size: int) -> LocatedEvents:
    """Return the events of a solution without events, for states (size,)."""
    return LocatedEvents(np.empty(0), np.empty((0, size)), np.empty(0, dtype=np.int64))


def _located(space: Space, count: int) -> LocatedEvents:
    """Return the events that are recorded in a space."""
    arrays = space.event_times, space.event_states, space.event_indices
    if not count:
        return _no_events(space.states.shape[1])
    return LocatedEvents(*(array[:count].copy() for array in arrays))


def _reason(
    formulation: Formulation, p: Any, status: Status, y: np.ndarray, space: Space, now: Any
) -> str:
    t = now.t
    if status is Status.SUCCESS:
        reason = f"t = {t:.9g} s was reached in {now.steps} steps"
        if formulation.options.inspected:
            reason += _missed_forces(space, now.unseen)
        return reason
    if status is Status.EVENT:
        return f"event {space.event_indices[now.found - 1]} was located at t = {t:.9g} s"
    if status is Status.TOO_MANY_STEPS:
        return f"max_steps = {space.limits.max_steps:.0f} was reached at t = {t:.9g} s"
    step = abs(float(space.limits.step or now.planned))
    if status is Status.STEP_UNDERFLOW:
        return f"the tolerances require a step below {step:.3g} s at t = {t:.17g} s"
    return _non_finite(formulation, p, t, y, step)


def _missed_forces(space: Space, unseen: float) -> str:
    """Return a remark on forces that may be missed, with the longest uninspected step, s."""
    cell = space.rules["cell"][0]
    longest = unseen if unseen > NARROW * cell else cell
    return (
        f"; forces shorter than {longest:.2g} s may be missed, unless they are conditions on time"
    )


def _non_finite(formulation: Formulation, p: Any, t: float, y: np.ndarray, step: float) -> str:
    if not isinstance(formulation.method, Taylor) and formulation.functions["rhs"] is not None:
        derivative = np.zeros_like(y)
        formulation.functions["rhs"](t, y, p, derivative)
        if not np.all(np.isfinite(derivative)):
            return f"the derivative is not finite at t = {t:.9g} s: {derivative}"
    return f"the state is not finite after a step of {step:.3g} s from t = {t:.9g} s"
