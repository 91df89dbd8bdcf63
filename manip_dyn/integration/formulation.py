"""Argument checks of `integrate`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np

from manip_dyn.core.checks import Matrix, Vector, finite_vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integration.code_analysis import is_smooth, may_have_peaks
from manip_dyn.integration.engine import Engine, compile_engine
from manip_dyn.integration.loop_arrays import Space, Span, planned_stops
from manip_dyn.integration.methods.method import (
    HIGHEST_ORDER,
    LOWEST_ORDER,
    Method,
    Options,
    order_for,
)
from manip_dyn.integration.methods.registry import METHODS
from manip_dyn.integration.methods.rosenbrock import Rosenbrock
from manip_dyn.integration.methods.taylor import Series, Taylor
from manip_dyn.integration.settings import (
    INSPECTIONS,
    Events,
    Jacobian,
    Sampling,
    StepControl,
    check_step_limits,
)
from manip_dyn.integration.step_inspection import QUIET
from manip_dyn.integration.time_conditions import DISTANCE
from manip_dyn.integration.user_functions import (
    check_sizes,
    checked_function,
    first_trial,
    right_hand_side,
    values_in,
)

DEFAULT_RTOL, DEFAULT_ATOL = 1e-6, 1e-9
SMALLEST_RTOL = 1e-14
"""Smallest relative tolerance above 0 for methods up to order 4."""


@dataclass(frozen=True)
class Formulation:
    """Checked functions and settings, which are independent of times, states and parameters.

    Attributes:
        method: The integration method.
        options: Options of the compiled loop.
        functions: Compiled functions `rhs`, `jacobian`, and `signal` and `act` of the events.
        user_functions: The user's functions by argument name.
        linear: Structure and derivatives of the right-hand side.
        scratch: Number of scratch columns of a series.
        settings: Arguments of `Engine.space`.
        land: Whether steps end at the sample times.
        dense: Whether the solution has dense output.
        spaces: Arrays of finished solutions without dense output, for the next solution.
    """

    method: Method
    options: Options
    functions: dict[str, Any]
    user_functions: dict[str, Any]
    linear: Jacobian
    scratch: int
    settings: dict[str, Any]
    land: bool
    dense: bool
    spaces: list[Space] = field(default_factory=list)

    @cached_property
    def engine(self) -> Engine:
        """The compiled time loop."""
        return compile_engine(
            method=self.method, options=self.options, scratch=self.scratch, **self.functions
        )

    def check_trial(self, t: float, y: Vector, p: Any) -> None:
        """Call the right-hand side in Python, which detects an index that is out of range.

        Raises:
            ManipDynError: If an index is out of range, or the rates of positions differ from the
                velocities.
        """
        check_sizes(self.user_functions["rhs"], y, p)
        if not isinstance(self.method, Taylor):
            self.linear.check_rates(first_trial("rhs", self.user_functions["rhs"], t, y, p), y)


class Interval(NamedTuple):
    """Times of a solution.

    Attributes:
        start: Start time, s.
        stops: Stops (n, 4), at which steps end, see `planned_stops`.
        samples: Sample times (k,), s, or None for every step.
    """

    start: float
    stops: Matrix
    samples: Vector | None


def checked_span(t_span: Any) -> Span:
    """Return start and end time, s, after checks."""
    start, end = t_span if _are_two_floats(t_span) else finite_vector("t_span", t_span, 2).tolist()
    if start == end:
        raise ManipDynError(f"t_span must be two different times, got {[start, end]}.")
    return start, end


def _are_two_floats(values: Any) -> bool:
    """Return whether values are a tuple of two finite floats, faster than with an array."""
    return type(values) is tuple and [*map(type, values)] == _TWO and math.isfinite(sum(values))


_TWO = [float, float]


def checked_state(y0: Any, size: int | None = None) -> Vector:
    """Return the initial state (m,) after checks. The default of `size` is any length above 0."""
    if size is None:
        size = y0.size if isinstance(y0, np.ndarray) else np.size(y0)
    y = finite_vector("y0", y0, size)
    if y.size == 0:
        raise ManipDynError("y0 must have at least one number, got none.")
    return y


def checked_interval(
    span: Span, t_switch: Any, sampling: Sampling, conditions: Sequence[float] = ()
) -> Interval:
    """Return the times of a solution after checks.

    Args:
        span: Start and end time, s.
        t_switch: Times at which the right-hand side is discontinuous, s, or None.
        sampling: Sample times.
        conditions: Times at which conditions of the right-hand side change, s.
    """
    samples = None if sampling.times is None else _times("sampling.times", sampling.times, span)
    switches = _NONE if t_switch is None else _times("t_switch", t_switch, None)
    if conditions:
        near = DISTANCE * abs(span[1] - span[0])
        gaps = np.abs(np.subtract.outer(conditions, switches)).min(axis=1, initial=np.inf)
        switches = np.concatenate([switches, np.extract(gaps > near, conditions)])
    landing = samples if samples is not None and sampling.land else _NONE
    return Interval(span[0], planned_stops(span, switches, landing), samples)


_NONE = np.empty(0)
_formulations: dict[tuple, Formulation] = {}
"""Formulations by their arguments."""
_MOST_FORMULATIONS = 64


class Settings(NamedTuple):
    """Arguments of `integrate` that are independent of times, states and parameters, see there."""

    rhs: Any
    method: Method
    events: Any
    jacobian: Any
    control: StepControl
    step: float | None
    rtol: Any
    atol: Any
    order: int | None
    sampling: Sampling

    def key(self) -> tuple:
        """Return the values that determine the formulation; it can be hashed if they can be."""
        *values, sampling = self
        kinds = map(type, self[5:9])  # True is equal to 1, but is not a valid number
        events, jacobian = self.events, self.jacobian
        functions = [self.rhs]
        if events is not None or jacobian is not None:
            functions += [getattr(events, name, events) for name in ("function", "action")]
            functions.append(getattr(jacobian, "function", jacobian))
        inside = map(values_in, functions)
        return (*values, *kinds, sampling.times is None, sampling.land, sampling.dense, *inside)


def formulated(settings: Settings, t: float, y: Vector, p: Any) -> Formulation:
    """Check the settings of a problem; the result is cached if they can be hashed.

    With the first state (m,) and parameters of each size, the right-hand side is tried in Python.
    """
    key: Any = (settings.key(), y.size, sizes_of(p))
    try:
        formulation = _formulations.get(key)
    except TypeError:  # tolerances (m,)
        formulation = key = None
    if formulation is None:
        formulation = _new_formulation(settings, t, y, p)
        if len(_formulations) >= _MOST_FORMULATIONS:
            _formulations.clear()
        if key:
            _formulations[key] = formulation
    elif formulation.linear.positions:
        formulation.check_trial(t, y, p)
    return formulation


def sizes_of(p: Any) -> Any:
    """Return the shapes of the arrays in parameters."""
    if isinstance(p, np.ndarray):
        return p.shape
    return tuple(map(sizes_of, p)) if isinstance(p, tuple) else type(p)


def _new_formulation(settings: Settings, t: float, y: Vector, p: Any) -> Formulation:
    rhs, solver, events, jacobian, control, step, rtol, atol, order, sampling = settings
    check_sizes(rhs, y, p)
    adaptive, tolerances = _tolerances(solver, step, rtol, atol, y.size)
    between = sampling.dense or (sampling.times is not None and not sampling.land)
    check_step_limits(control, solver.name, adaptive, isinstance(solver, Taylor))
    events = _events(events)
    linear = _jacobian(solver, jacobian, y.size)
    orders, scratch, function = _series(solver, rhs, order, adaptive, tolerances)
    options = Options(
        size=y.size,
        adaptive=adaptive,
        dense=between,
        controller=control.controller,
        norm=control.norm,
        events=events.count if events else 0,
        has_actions=events is not None and events.action is not None,
        positions=linear.positions,
        jacobian=linear.function is not None,
        mass=linear.mass,
        estimate=control.estimate,
        inspected=adaptive
        and control.quiet > 0.0
        and not isinstance(solver, Taylor)
        and (control.inspection == "all" or not is_smooth(rhs)),
    )
    if not isinstance(solver, Taylor):
        linear.check_rates(first_trial("rhs", rhs, t, y, p), y)
    return Formulation(
        method=solver,
        options=options,
        functions={
            "rhs": function or right_hand_side(rhs, t, y),
            "jacobian": checked_function("jacobian", linear.function, "(t, y, p, out, by_time)", 5)
            if linear.function
            else None,
            "signal": checked_function("events.function", events.function, "(t, y, p, out)", 4)
            if events
            else None,
            "act": checked_function("events.action", events.action, "(index, t, y, p)", 4)
            if events and events.action
            else None,
        },
        user_functions={
            "rhs": rhs,
            **({"jacobian": linear.function} if linear.function else {}),
            **({"events.function": events.function} if events else {}),
            **({"events.action": events.action} if events and events.action else {}),
        },
        linear=linear,
        scratch=scratch,
        settings={
            **tolerances,
            "step": 0.0 if adaptive else step,
            "first_step": control.first_step or 0.0,
            "min_step": control.min_step,
            "max_step": control.max_step,
            "max_steps": control.max_steps,
            "quiet": _quiet(control, rhs),
            "cell": control.inspection_interval or 0.0,
            "fac": control.fac,
            "facmin": control.facmin,
            "facmax": control.facmax,
            "orders": orders,
            "every_step": sampling.times is None,
            **(events.settings if events else {}),
        },
        land=sampling.land,
        dense=sampling.dense,
    )


def checked_method(method: Any) -> Method:
    """Return a method by its name; a `Method` is returned unchanged."""
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        hint = closest(str(method), METHODS)
        raise ManipDynError(f"method must be one of md.METHODS, got {method!r}{hint}")
    return METHODS[method]


def _tolerances(
    method: Method, step: float | None, rtol: Any, atol: Any, size: int
) -> tuple[bool, dict[str, Vector]]:
    """Return whether steps are adaptive, and the tolerances (m,) if they are."""
    specified = rtol is not None or atol is not None
    if step is not None:
        positive("step", step, "s")
        if specified:
            raise ManipDynError(
                f"step must be None with rtol or atol, got {step:g} s. Use one or the other."
            )
        return False, {}
    if not method.adaptive:
        problem = "rtol and atol must be None" if specified else "step must be given"
        raise ManipDynError(f"{problem} for method '{method.name}', which has no error estimate.")
    if not specified:
        rtol, atol = DEFAULT_RTOL, DEFAULT_ATOL
    relative = _tolerance("rtol", 0.0 if rtol is None else rtol, size)
    if (method.order or 5) <= 4 and np.any((relative > 0.0) & (relative < SMALLEST_RTOL)):
        raise ManipDynError(
            f"rtol must be {SMALLEST_RTOL:g} or more for method '{method.name}' of order "
            f"{method.order}, got {relative.min():g}."
        )
    absolute = _tolerance("atol", rtol if atol is None else atol, size)
    if np.any(relative + absolute == 0.0):
        raise ManipDynError("rtol or atol must be above 0 for each component, got 0 for both.")
    return True, {"rtol": relative, "atol": absolute}


def _tolerance(name: str, value: Any, size: int) -> Vector:
    if np.ndim(value) == 0:
        return np.full(size, not_negative(name, value))
    vector = finite_vector(name, value, size)
    if np.any(vector < 0.0):
        raise ManipDynError(f"{name} must be 0 or more, got {vector.tolist()}.")
    return vector


def _times(name: str, value: Any, span: Span | None) -> Vector:
    """Return times (k,), ordered and inside `span` after checks, or sorted without a span."""
    times = finite_vector(name, value, np.size(value))
    if span is None:
        return np.unique(times)
    sign = np.sign(span[1] - span[0])
    if np.any(sign * np.diff(times) <= 0.0):
        raise ManipDynError(f"{name} must be ordered from t0 towards t_end, got {times.tolist()}.")
    outside = times[(sign * (times - span[0]) < 0.0) | (sign * (times - span[1]) > 0.0)]
    if outside.size:
        raise ManipDynError(f"{name} must be inside {[*span]} s, got {outside[0]:g} s.")
    return times


def _events(events: Any) -> Events | None:
    if events is None or isinstance(events, Events):
        return events
    return Events(events)


def _jacobian(method: Method, jacobian: Any, size: int) -> Jacobian:
    """Return the `Jacobian` for a method. A plain function implies a first-order system."""
    if jacobian is not None and not isinstance(method, Rosenbrock):
        raise ManipDynError(
            f"jacobian must be None for method '{method.name}'. Use rosenbrock_nystrom, "
            "rosenbrock_w or rodas5p."
        )
    linear = jacobian if isinstance(jacobian, Jacobian) else Jacobian(jacobian)
    if 2 * linear.positions > size:
        raise ManipDynError(
            f"jacobian.positions must be at most half of the {size} numbers of y0, got "
            f"{linear.positions}."
        )
    return linear


def _series(
    method: Method, rhs: Any, order: Any, adaptive: bool, tolerances: dict[str, Vector]
) -> tuple[tuple[int, int], int, Any]:
    """Return the orders, scratch columns and function of a series, or (0, 0), 0 and None."""
    if hasattr(rhs, "of_state"):  # kernels.series
        rhs = Series(rhs.of_state, rhs.width)
    if not isinstance(method, Taylor):
        if order is not None:
            raise ManipDynError(f"order must be None for method '{method.name}', got {order!r}.")
        if isinstance(rhs, Series):
            raise ManipDynError(f"rhs must be a function for '{method.name}', got a Series.")
        return (0, 0), 0, None
    if not isinstance(rhs, Series):
        raise ManipDynError(
            f"rhs must be an md.Series or kernels.series for method '{method.name}', got {rhs!r}."
        )
    function = checked_function("series.function", rhs.function, "(t, y, p, order, work, out)", 6)
    if order is None:
        if not adaptive:
            raise ManipDynError("order must be given with a fixed step, got None.")
        smallest = [float(np.min(tolerances[name])) for name in ("rtol", "atol")]
        orders = [order_for(value or max(smallest)) for value in smallest]
        return (orders[0], orders[1]), rhs.quantities, function
    if not isinstance(order, int) or not LOWEST_ORDER <= order <= HIGHEST_ORDER:
        raise ManipDynError(
            f"order must be a whole number from {LOWEST_ORDER} to {HIGHEST_ORDER}, got {order!r}."
        )
    return (order, order), rhs.quantities, function


def _quiet(control: StepControl, rhs: Any) -> float:
    """Return the error estimate below which steps are inspected; see `StepControl.inspection`."""
    if control.inspection == "quiet" and may_have_peaks(rhs):
        return INSPECTIONS["all"]
    return control.quiet or QUIET


def checked_parameters(p: Any) -> Any:
    """Copy the parameters for compiled code, because event actions may change them."""
    if isinstance(p, np.ndarray) and p.dtype == np.float64:
        return p.copy()
    try:
        if p is None or isinstance(p, (int, float, list)):
            return np.atleast_1d(np.array([] if p is None else p, dtype=np.float64))
        if isinstance(p, (str, bytes)):  # which numba can type
            raise TypeError("a string")
        numba.typeof(p)
    except (TypeError, ValueError) as error:
        raise ManipDynError(
            "p must be numbers, a float64 array, or a tuple of arrays that numba can type, got "
            f"{p!r}."
        ) from error
    return deepcopy(p)
