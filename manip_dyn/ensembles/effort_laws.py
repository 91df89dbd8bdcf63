"""Effort laws converted to the arrays and addresses of the time loop."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.core.arrays import MATRIX, VECTOR, address_for, part, row
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, plain_function
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.fingerprint import digest_of
from manip_dyn.ensembles.lanes.laws import COMPUTED, FUNCTION, GRAVITY, PD, SCHEDULE
from manip_dyn.ensembles.motion_parameters import as_sequence, parameter_count, per_motion_rows
from manip_dyn.integration.user_functions import COMPILING, jitted, not_compilable
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot
from manip_dyn.simulation.effort_laws import (
    ReferenceMotions,
    Schedule,
    exceeds_limits,
    references_of,
    schedule_of,
    stops_of,
    targets,
)
from manip_dyn.simulation.function_law import Feedback, check_size, with_parameters
from manip_dyn.simulation.pd_control import COMPENSATIONS, PDControl

ACCEPTED = (
    "efforts (n,) or (N, n), a Schedule, a Plan, a list of N of these, a PDControl, or a "
    "function (t, q, v) or (t, q, v, p) that numba compiles"
)


class LaneLaw(NamedTuple):
    """Arrays of an effort law; see `lanes.memory.Motions` and `LoopOptions` for the fields.

    `cut_off` (n,) or (N, n) marks joints for which the law may exceed the effort limits.
    """

    law: int
    timed: bool
    times_ns: Vector
    efforts: Matrix
    schedules: Vector
    stiffness: Matrix
    damping: Matrix
    references: ReferenceMotions
    parameters: Matrix
    function: Any
    cut_off: NDArray[np.bool_]

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows of each argument; 1 if it applies to all motions."""
        return {
            "effort": len(self.schedules),
            "target": len(self.references.ranges),
            "stiffness": len(self.stiffness),
            "damping of the PDControl": len(self.damping),
            "parameters": len(self.parameters),
        }


def lane_law(robot: Robot, effort: Any, period: float, parameters: Any = None) -> LaneLaw:
    """Convert the argument `effort` of `simulate_many` to arrays of the time loop.

    Args:
        robot: The arm.
        effort: The argument `effort`.
        period: Time for which smooth efforts of a plan are held, s.
        parameters: Parameters (k,) or (N, k) of a function.

    Raises:
        ManipDynError: If the law is invalid, or numba cannot compile its function.
    """
    if parameters is not None and not callable(effort):
        raise ManipDynError(f"parameters require a callable effort, got {type(effort).__name__}.")
    if isinstance(effort, PDControl):
        return _feedback_law(robot, effort, period)
    if isinstance(effort, Feedback):
        if effort.weightless:
            return _state_law(robot, GRAVITY)
        if not effort.compilable:
            kind = type(effort.function).__name__
            raise ManipDynError(f"effort must be {ACCEPTED}, got feedback by a {kind}.")
        return _function_law(robot, effort.function, effort.parameters)
    plans = as_sequence(effort, Plan)
    if plans is not None:
        return _schedule_law(robot, [schedule_of(robot, plan, period) for plan in plans])
    schedules = as_sequence(effort, Schedule)
    if schedules is not None:
        return _schedule_law(robot, schedules)
    if isinstance(plain_function(effort), FunctionType):
        return _function_law(robot, effort, parameters)
    if hasattr(effort, "next_switch") or callable(effort):
        raise ManipDynError(f"effort must be {ACCEPTED}, got {type(effort).__name__}.")
    wanted = per_motion_rows("effort", effort, robot.n)
    efforts = np.clip(wanted, -robot.tau_max, robot.tau_max)
    times_ns, rows = np.zeros(len(efforts), np.int64), _single_rows(len(efforts))
    return _table_law(robot, times_ns, efforts, rows, exceeds_limits(robot, wanted))


def _schedule_law(robot: Robot, schedules: Sequence[Schedule]) -> LaneLaw:
    for schedule in schedules:
        schedule.check_for(robot)
    times = np.concatenate([np.array(schedule.times_ns, np.int64) for schedule in schedules])
    efforts = np.concatenate([np.array(schedule.efforts) for schedule in schedules])
    ends = np.cumsum([len(schedule.times_ns) for schedule in schedules])
    begins = np.concatenate([[0], ends[:-1]])
    cut_off = np.array([schedule.cut_off for schedule in schedules])
    return _table_law(robot, times, efforts, np.stack([begins, ends], axis=1), cut_off)


def _state_law(robot: Robot, law: int, schedules: Sequence[Schedule] = ()) -> LaneLaw:
    """Return a state-dependent law with feedforward schedules; without them, these are zero."""
    schedule_law = _schedule_law(robot, schedules or [Schedule(robot, [0], [np.zeros(robot.n)])])
    return schedule_law._replace(law=law, cut_off=(robot.tau_max > 0.0)[None])


def _table_law(
    robot: Robot, times_ns: Any, efforts: Matrix, schedules: Vector, cut_off: Any
) -> LaneLaw:
    none = np.zeros((1, robot.n))
    return LaneLaw(
        law=SCHEDULE,
        timed=False,
        times_ns=times_ns,
        efforts=np.ascontiguousarray(efforts),
        schedules=schedules,
        stiffness=none,
        damping=none,
        references=targets(none),
        parameters=np.zeros((1, 0)),
        function=0,
        cut_off=cut_off,
    )


def _single_rows(count: int) -> Vector:
    places = np.arange(count)
    return np.stack([places, places + 1], axis=1)


def _feedback_law(robot: Robot, control: PDControl, period: float) -> LaneLaw:
    law = dict(zip(COMPENSATIONS, (PD, GRAVITY, COMPUTED), strict=True))[control.compensation]
    plans = as_sequence(control.target, Plan)
    if plans is None:
        references = targets(per_motion_rows("target", control.target, robot.n))
    else:
        references = references_of(robot, plans, period)
    schedules: list[Schedule] = []
    if plans is not None and law == PD:
        schedules = [schedule_of(robot, plan, period) for plan in plans]
    elif plans is not None:
        schedules = [stops_of(robot, plan) for plan in plans]
    return _state_law(robot, law, schedules)._replace(
        timed=plans is not None,
        stiffness=per_motion_rows("stiffness", control.stiffness, robot.n),
        damping=per_motion_rows("damping", control.damping, robot.n),
        references=references,
    )


def _function_law(robot: Robot, law: Any, parameters: Any) -> LaneLaw:
    plain = plain_function(law)
    count = len(inspect.signature(plain).parameters)
    if count not in (3, 4) or (count == 4) != (parameters is not None):
        description = "no parameters" if parameters is None else "parameters"
        raise ManipDynError(
            f"effort must be a function (t, q, v), or (t, q, v, p) with parameters (N, k), got "
            f"{inspect.signature(plain)} with {description}."
        )
    values = np.zeros((1, 0))
    if count == 4:
        values = per_motion_rows(
            "parameters", parameters, parameter_count(parameters), scalars=False
        )
    own = [values[0]] if count == 4 else []
    start = (np.float64(0.0), np.zeros(robot.n), np.zeros(robot.n), *own)
    check_size(plain, start, robot.n)
    digest = digest_of(law)
    compile_law = _address_of_lanes if digest else _address_of_lanes.__wrapped__
    try:
        address = compile_law(law, digest, robot.n, values.shape[1], count == 4)
    except COMPILING as error:
        expected = "numpy functions of t, q and v that return efforts (n,)"
        raise not_compilable("the effort law", law, error, expected, start) from error
    state_law = _state_law(robot, FUNCTION)
    return state_law._replace(timed=True, parameters=values, function=address)


@lru_cache(maxsize=64)
def _address_of_lanes(law: Any, digest: str, n: int, count: int, has_parameters: bool) -> Any:
    """Return the address of the compiled `_of_lanes` of a user's law.

    The `digest` covers the values that the function refers to, which are compiled in.
    """
    lanes = _of_lanes(with_parameters(jitted(law), has_parameters), n, count)
    return address_for(lanes, (VECTOR, MATRIX, MATRIX, MATRIX, MATRIX))


def _of_lanes(law: Any, n: int, count: int) -> Any:
    """Convert a law (t, q, v, p) with `count` parameters to a function for motions in lanes.

    ``of_lanes(t, y, p, state, tau)`` writes efforts `tau` (n, LANES) at times t (LANES,), states y
    (2 n, LANES) and parameters p (count, LANES); `state` (3, ..) is scratch. If the law raises an
    exception, its efforts are NaN, which ends the motion.
    """

    @compiled(python=False)
    def of_lanes(t, y, p, state, tau):
        q, v = part(row(state, 0), 0, n), part(row(state, 1), 0, n)
        parameters = part(row(state, 2), 0, count)
        for lane in range(LANES):
            for i in range(n):
                q[i], v[i] = y[i, lane], y[n + i, lane]
            for i in range(count):
                parameters[i] = p[i, lane]
            try:
                wanted = law(t[lane], q, v, parameters)
                for i in range(n):
                    tau[i, lane] = wanted[i]
            except Exception:
                for i in range(n):
                    tau[i, lane] = np.nan

    return of_lanes
