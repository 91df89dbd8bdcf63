"""The arguments of `integrate`, checked: what to integrate, how, and what to keep."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from manip_dyn.core.checks import Matrix, Vector, finite_vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integration.loop_arrays import planned_stops
from manip_dyn.integration.methods.method import Method, Options
from manip_dyn.integration.methods.registry import METHODS
from manip_dyn.integration.methods.rosenbrock import Rosenbrock
from manip_dyn.integration.methods.taylor import (
    HIGHEST_ORDER,
    LOWEST_ORDER,
    Series,
    Taylor,
    order_for,
)
from manip_dyn.integration.settings import Events, Jacobian, Sampling, StepControl
from manip_dyn.integration.user_functions import checked_function, first_trial, right_hand_side

DEFAULT_RTOL, DEFAULT_ATOL = 1e-6, 1e-9
SMALLEST_RTOL = 1e-14
"""For methods up to order 4."""


@dataclass(frozen=True)
class Problem:
    """An initial value problem and how to solve it; every value is checked.

    Attributes:
        method: The method.
        options: What its loop is generated for.
        functions: `rhs`, the `jacobian`, and the events' `signal` and `act`, compiled.
        given: Those that there are as the user gave them, by the names of the arguments.
        scratch: Columns of scratch that a series needs.
        t: Start, s.
        y: State at the start (m,).
        p: Parameters.
        stops: Where steps end, see `planned_stops` (n, 4).
        settings: Arguments of `Engine.space`.
        t_eval: Times that are asked for (k,), s, or None for every step.
        land: Whether steps end at `t_eval`.
        dense: Whether the solution keeps its dense output.
    """

    method: Method
    options: Options
    functions: dict[str, Dispatcher | None]
    given: dict[str, Any]
    scratch: int
    t: float
    y: Vector
    p: Any
    stops: Matrix
    settings: dict[str, Any]
    t_eval: Vector | None
    land: bool
    dense: bool


def checked_problem(
    rhs: Any,
    t_span: Any,
    y0: Any,
    *,
    method: str | Method,
    step: float | None,
    rtol: Any,
    atol: Any,
    p: Any,
    t_switch: Any,
    events: Any,
    jacobian: Any,
    order: int | None,
    control: StepControl,
    sampling: Sampling,
) -> Problem:
    """Return the problem that the arguments of `integrate` describe."""
    solver = _method(method)
    span = finite_vector("t_span", t_span, 2)
    if span[0] == span[1]:
        raise ManipDynError(f"t_span is {span.tolist()}; expected two different times")
    y = finite_vector("y0", y0, np.size(y0))
    if y.size == 0:
        raise ManipDynError("y0 has no numbers; expected at least one")
    adaptive, tolerances = _tolerances(solver, step, rtol, atol, y.size)
    times = None if sampling.times is None else _times("sampling.times", sampling.times, span)
    between = sampling.dense or (times is not None and not sampling.land)
    found = _events(events)
    linear = _jacobian(solver, jacobian, y.size)
    orders, scratch, function = _series(solver, rhs, order, adaptive, tolerances)
    options = Options(
        size=y.size,
        adaptive=adaptive,
        dense=between,
        controller=control.controller,
        norm=control.norm,
        events=found.count if found else 0,
        acts=found is not None and found.action is not None,
        positions=linear.positions,
        jacobian=linear.function is not None,
        mass=linear.mass,
        estimate=control.estimate,
    )
    parameters = _parameters(p)
    if not isinstance(solver, Taylor):
        linear.check_rates(first_trial("rhs", rhs, float(span[0]), y, parameters), y)
    return Problem(
        method=solver,
        options=options,
        functions={
            "rhs": function or right_hand_side(rhs, float(span[0]), y),
            "jacobian": checked_function("jacobian", linear.function, "(t, y, p, out, by_time)", 5)
            if linear.function
            else None,
            "signal": checked_function("events.function", found.function, "(t, y, p, out)", 4)
            if found
            else None,
            "act": checked_function("events.action", found.action, "(index, t, y, p)", 4)
            if found and found.action
            else None,
        },
        given={
            "rhs": rhs,
            **({"jacobian": linear.function} if linear.function else {}),
            **({"events.function": found.function} if found else {}),
            **({"events.action": found.action} if found and found.action else {}),
        },
        scratch=scratch,
        t=float(span[0]),
        y=y,
        p=parameters,
        stops=planned_stops(
            span,
            np.empty(0) if t_switch is None else _times("t_switch", t_switch, None),
            times if times is not None and sampling.land else np.empty(0),
        ),
        settings={
            **tolerances,
            "step": 0.0 if adaptive else step,
            "first_step": _first_step(
                control.first_step, adaptive and not isinstance(solver, Taylor)
            ),
            "min_step": control.min_step,
            "max_step": control.max_step,
            "max_steps": control.max_steps,
            "fac": control.fac,
            "facmin": control.facmin,
            "facmax": control.facmax,
            "orders": orders,
            "every_step": times is None,
            **(found.settings if found else {}),
        },
        t_eval=times,
        land=sampling.land,
        dense=sampling.dense,
    )


def _method(method: Any) -> Method:
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        hint = closest(str(method), METHODS)
        raise ManipDynError(f"method is {method!r}; expected one of md.METHODS{hint}")
    return METHODS[method]


def _tolerances(
    method: Method, step: float | None, rtol: Any, atol: Any, size: int
) -> tuple[bool, dict[str, Vector]]:
    """Return whether steps are adaptive, and the tolerances (m,) if they are."""
    asked = rtol is not None or atol is not None
    if step is not None:
        positive("step", step, "s")
        if asked:
            raise ManipDynError(
                f"step is {step:g} s beside rtol or atol; expected one or the other"
            )
        return False, {}
    if not method.adaptive:
        what = "rtol or atol are given" if asked else "step is missing"
        raise ManipDynError(
            f"{what}, but method '{method.name}' has no error estimate; expected a fixed step"
        )
    if not asked:
        rtol, atol = DEFAULT_RTOL, DEFAULT_ATOL
    relative = _tolerance("rtol", 0.0 if rtol is None else rtol, size)
    if (method.order or 5) <= 4 and np.any((relative > 0.0) & (relative < SMALLEST_RTOL)):
        raise ManipDynError(
            f"rtol is {relative.min():g}, but method '{method.name}' is of order {method.order}; "
            f"expected {SMALLEST_RTOL:g} or more"
        )
    absolute = _tolerance("atol", rtol if atol is None else atol, size)
    if np.any(relative + absolute == 0.0):
        raise ManipDynError("rtol and atol are both 0 for a component; expected one above 0")
    return True, {"rtol": relative, "atol": absolute}


def _tolerance(name: str, value: Any, size: int) -> Vector:
    if np.ndim(value) == 0:
        return np.full(size, not_negative(name, value))
    vector = finite_vector(name, value, size)
    if np.any(vector < 0.0):
        raise ManipDynError(f"{name} is {vector.tolist()}; expected 0 or more")
    return vector


def _times(name: str, value: Any, span: Vector | None) -> Vector:
    """Return times (k,); inside the span and in its direction if one is given."""
    times = finite_vector(name, value, np.size(value))
    if span is None:
        return np.unique(times)
    sign = np.sign(span[1] - span[0])
    if np.any(sign * np.diff(times) <= 0.0):
        raise ManipDynError(f"{name} goes back at some time; expected times from t0 towards t_end")
    outside = times[(sign * (times - span[0]) < 0.0) | (sign * (times - span[1]) > 0.0)]
    if outside.size:
        raise ManipDynError(
            f"{name} holds {outside[0]:g} s; expected times inside {span.tolist()}"
        )
    return times


def _events(events: Any) -> Events | None:
    if events is None or isinstance(events, Events):
        return events
    return Events(events)


def _jacobian(method: Method, jacobian: Any, size: int) -> Jacobian:
    """Return the derivatives that a method takes; a function alone is of first order."""
    if jacobian is not None and not isinstance(method, Rosenbrock):
        raise ManipDynError(
            f"jacobian is given, but method '{method.name}' takes none; expected "
            "rosenbrock_nystrom, rosenbrock_w or rodas5p"
        )
    found = jacobian if isinstance(jacobian, Jacobian) else Jacobian(jacobian)
    if 2 * found.positions > size:
        raise ManipDynError(
            f"jacobian.positions is {found.positions}, but y0 has {size} numbers; expected at "
            "most half as many"
        )
    return found


def _series(
    method: Method, rhs: Any, order: Any, adaptive: bool, tolerances: dict[str, Vector]
) -> tuple[tuple[int, int], int, Dispatcher | None]:
    """Return the orders, the columns of scratch and the function of a Taylor series."""
    if hasattr(rhs, "of_state"):  # kernels.series
        rhs = Series(rhs.of_state, rhs.width)
    if not isinstance(method, Taylor):
        if order is not None:
            raise ManipDynError(f"order is {order!r}; expected none: '{method.name}' has its own")
        if isinstance(rhs, Series):
            raise ManipDynError(f"rhs is a Series; expected a function for '{method.name}'")
        return (0, 0), 0, None
    if not isinstance(rhs, Series):
        raise ManipDynError(
            f"rhs is {rhs!r}; expected an md.Series or kernels.series for '{method.name}'"
        )
    function = checked_function("series.function", rhs.function, "(t, y, p, order, work, out)", 6)
    if order is None:
        if not adaptive:
            raise ManipDynError("order is missing; expected one beside the fixed step")
        smallest = [float(np.min(tolerances[name])) for name in ("rtol", "atol")]
        orders = [order_for(value or max(smallest)) for value in smallest]
        return (orders[0], orders[1]), rhs.quantities, function
    if not isinstance(order, int) or not LOWEST_ORDER <= order <= HIGHEST_ORDER:
        raise ManipDynError(
            f"order is {order!r}; expected a whole number from {LOWEST_ORDER} to {HIGHEST_ORDER}"
        )
    return (order, order), rhs.quantities, function


def _first_step(first_step: float | None, controlled: bool) -> float:
    if first_step is None:
        return 0.0
    if not controlled:
        raise ManipDynError(f"first_step is {first_step}; expected none: no control to start")
    return first_step


def _parameters(p: Any) -> Any:
    """Return parameters for compiled code, copied: an event's action may change them."""
    if isinstance(p, np.ndarray) and p.dtype == np.float64:
        return p.copy()
    try:
        if p is None or isinstance(p, (int, float, list)):
            return np.atleast_1d(np.array([] if p is None else p, dtype=np.float64))
        numba.typeof(p)
    except (TypeError, ValueError) as error:
        raise ManipDynError(
            f"p is {p!r}; expected numbers, a float64 array, or a tuple of arrays that numba can "
            "type"
        ) from error
    return deepcopy(p)
