"""Motions of a table or section: zero net work, minimum time and PD control.

The peak work on each link is computed with the load and, as in appendix A.7, without it. A.7
equates the work on a link with its kinetic energy. Unlike its equations of motion, its formulas
for the work omit the load M::

    work_1 = (I1 + m1 lc1^2) v1^2 / 2
    work_2 = (I2 + m2 lc2^2) (v1 + v2)^2 / 2 + m2 l1^2 v1^2 / 2 + m2 l1 lc2 cos(q2) v1 (v1 + v2)

A link has the length l, the mass m, the moment of inertia I about its centre of mass, and the
distance lc from its joint to its centre of mass.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import brentq

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning import Certificate, Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.planning.minimum_time.structures import effort_signs
from manip_dyn.planning.work import work_curves
from manip_dyn.planning.zero_net_work.grid_search import grid_search
from manip_dyn.robot import Robot
from manip_dyn.simulation import Trajectory, simulate
from manip_dyn.studies.fan2003.replay import Controlled, Literal, Printed, Spread
from manip_dyn.studies.fan2003.settings import Gains, Grid


class PeakRow(NamedTuple):
    """The peak work on a link in a zero-net-work motion.

    Attributes:
        case: Number of the table.
        link: Number of the link, 1 or 2.
        axis: Upper end of the axis in the thesis's figure, J, or None if it is not readable.
        peak: Computed value, J.
        unloaded: Value of the formula of A.7 without the load, J; None for arms without a load.
        status: Which of the two values fits the axis of the figure.
    """

    case: str
    link: int
    axis: float | None
    peak: float
    unloaded: float | None
    status: str


def link_energies(robot: Robot, q: Matrix, v: Matrix) -> Matrix:
    """Return the kinetic energies (k, 2), J, of the links of a planar arm.

    Args:
        robot: The arm with two revolute joints about z.
        q: Positions (k, 2), rad.
        v: Velocities (k, 2), rad/s.
    """
    first, second = robot.bodies
    l1, turn = second.translation[0], v[:, 0] + v[:, 1]
    lc1, lc2 = first.com[0], second.com[0]
    about_1 = first.inertia[2, 2] + first.mass * lc1**2
    about_2 = second.inertia[2, 2] + second.mass * lc2**2
    coupled = second.mass * l1 * lc2 * np.cos(q[:, 1]) * v[:, 0] * turn
    carried = 0.5 * second.mass * (l1 * v[:, 0]) ** 2
    return np.column_stack(
        [0.5 * about_1 * v[:, 0] ** 2, 0.5 * about_2 * turn**2 + carried + coupled]
    )


def peak_row(
    case: str, link: int, axis: float | None, peak: float, unloaded: float | None
) -> PeakRow:
    """Return a row of peak work with its status; see `PeakRow` for the arguments."""
    return PeakRow(case, link, axis, peak, unloaded, _fits(axis, peak, unloaded))


def _fits(axis: float | None, peak: float, unloaded: float | None) -> str:
    if axis is None:
        return "no number to compare"
    if peak <= axis:
        return "fits the figure"
    if unloaded is not None and unloaded <= axis:
        return "fits the figure without the load only"
    return "beyond the figure"


Value = float | tuple[float, ...] | None


# ----------------------------------------------------------------------------------- records
class Row(NamedTuple):
    """A published and a computed value, with their difference and status.

    The values are tuples of switching times, without a difference, if their counts differ.
    """

    column: str
    quantity: str
    published: Value
    computed: Value
    difference: float | None
    status: str


class SingleSwitch(NamedTuple):
    """A zero-net-work motion.

    Attributes:
        status: Status of the plan.
        q_switch: Switching positions (n,), None for joints that do not move.
        t_switch: Switching times (n,), s, None for joints that do not move.
        arrival_times: Arrival times (n,), s; 0 for joints that do not move.
        t_final: Last arrival time, s.
        net_work: Net work on each link (n,), J; None by the thesis's rule (see `by_rule`).
        peak_work: Largest work on a link during the motion, J.
    """

    status: str
    q_switch: tuple[float | None, ...]
    t_switch: tuple[float | None, ...]
    arrival_times: tuple[float, ...]
    t_final: float
    net_work: tuple[float, ...] | None
    peak_work: float


class MinimumTime(NamedTuple):
    """A minimum-time motion with its certificate.

    Attributes:
        status: Status of the plan.
        reason: Reason for the status.
        first_signs: Signs of the first efforts (n,); 0 for efforts that are not at a limit.
        switch_times: Switching times of each joint, s.
        t_final: Final time, s.
        costates: Initial costates (2 n,).
        certificate: Values of the certificate by name.
        unique: Whether the motion is the only one of its duration, or None if this is unknown.
    """

    status: str
    reason: str
    first_signs: tuple[float, ...]
    switch_times: tuple[tuple[float, ...], ...]
    t_final: float
    costates: tuple[float, ...]
    certificate: dict[str, Any]
    unique: bool | None


class PdControl(NamedTuple):
    """A motion under PD control.

    Attributes:
        kp: Proportional gains (n,), N m/rad or N/m.
        kd: Derivative gains (n,), N m s/rad or N s/m.
        near: Distance from the goal within which a joint has arrived, rad or m.
        t_final: Time after which no joint is more than `near` before its goal, s, or None. This
            is the one-sided test of the thesis's programs.
        t_settled: Time after which all joints stay within `near` of the goal, s, or None.
        at_published: Largest distance from the goal at the printed time, rad or m, or None.
    """

    kp: tuple[float, ...]
    kd: tuple[float, ...]
    near: float
    t_final: float | None
    t_settled: float | None
    at_published: float | None


class Trace(NamedTuple):
    """Samples of a motion.

    Attributes:
        label: Name of the motion.
        time: Times (k,), s.
        q: Positions (k, n), rad or m.
        v: Velocities (k, n), rad/s or m/s.
        tau: Efforts (k, n), N m or N.
        work_time: Times (m,) of the work samples, s; empty for PD control.
        work: Work on each link (m, n), J.
    """

    label: str
    time: Vector
    q: Vector
    v: Vector
    tau: Vector
    work_time: Vector
    work: Vector


@dataclass(frozen=True)
class CaseFindings:
    """Findings for a table or for a motion of a section.

    Attributes:
        name: Name of the case, such as ``5.3`` or ``4.1 case 1``.
        arm: Name of the arm in the settings.
        joints: Joint names (n,).
        units: Units of the positions (n,).
        effort_units: Units of the efforts (n,).
        start: Initial positions (n,).
        published: Values printed in the thesis.
        zero_net_work: Exact zero-net-work motion.
        as_published: The same motion with the arrival rule of the thesis.
        grid: Result of the thesis's grid search near the exact positions, or None.
        minimum_time: Certified minimum-time motion.
        pd: Motion under PD control, or None if the thesis has no gains.
        controlled: Replay of the printed switching positions, or None.
        controlled_exactly: Replay of the exact switching positions.
        arrives_rounded: Whether the replay arrives for some rounding of the printed positions.
        printed: Replay of the printed switching times, or None.
        literal: Motion with the printed positions under the holding laws of the thesis (A.7), or
            None.
        tested_again: The same motion if arrived joints are tested again at every step (A.10), or
            None.
        spread: Variation of `literal` with the last printed digits and with late decisions, or
            None.
        full_grid: Result of the thesis's search over its whole grid, or None.
        peaks: Peak work on each link.
        costates: Times (k,) and costates (k, 2 n) of the minimum-time motion.
        cost: CPU time of each planner, s.
        guessed_time: Final time in the guess of appendix A.8, s, or None.
        rows: Published and computed values.
        status: Status of the case.
        note: Reason for the status.
        traces: Sampled motions for charts.
        switching: Times (k,) and switching functions (k, n) of the minimum-time motion.
    """

    name: str
    arm: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    effort_units: tuple[str, ...]
    start: tuple[float, ...]
    published: dict[str, Any]
    zero_net_work: SingleSwitch
    as_published: SingleSwitch
    grid: dict[str, Any] | None
    minimum_time: MinimumTime
    pd: PdControl | None
    controlled: Controlled | None
    controlled_exactly: Controlled
    arrives_rounded: bool
    printed: Printed | None
    literal: Literal | None
    tested_again: Literal | None
    spread: Spread | None
    full_grid: dict[str, Any] | None
    peaks: tuple[PeakRow, ...]
    costates: tuple[Vector, Vector]
    cost: dict[str, float]
    traces: tuple[Trace, ...]
    switching: tuple[Vector, Vector]
    guessed_time: float | None = None
    rows: tuple[Row, ...] = ()
    status: str = ""
    note: str = ""


def half_unit(published: dict[str, Any]) -> float:
    """Return half a unit of the last printed digit of a case."""
    return 0.5 * 10.0 ** -published.get("decimals", 4)


# ----------------------------------------------------------------------------------- motions
SAMPLES, WORK_KNOTS = 301, 81
PD_DURATION, PD_PERIOD = 10.0, 0.01
JUST = 1e-9
"""Time before a jump at which a sample has the value before the jump, s."""


def single_switch(plan: Plan) -> SingleSwitch:
    """Return the results of a zero-net-work plan."""
    return SingleSwitch(
        plan.status,
        _optional(plan.q_switch),
        tuple(times[0] if times else None for times in plan.switch_times),
        tuple(plan.arrival_times),
        plan.t_final,
        tuple(plan.net_work.tolist()),
        plan.peak_work,
    )


def by_rule(plan: Plan, near: float) -> SingleSwitch:
    """Return the results of a plan by the thesis's rule.

    By this rule, a joint arrives when its distance from the goal is `near` (rad or m).
    """
    arrivals = list(plan.arrival_times)
    for i in plan.moving_joints:

        def excess(t: float, i: int = i) -> float:
            return abs(float(plan.state(t)[0][i] - plan.qf[i])) - near

        arrivals[i] = float(brentq(excess, plan.switch_times[i][0], plan.arrival_times[i]))
    return single_switch(plan)._replace(
        arrival_times=tuple(arrivals), t_final=max(arrivals), net_work=None
    )


def by_grid(plan: Plan, grid: Grid, near: float, window: float, trials: int) -> dict[str, Any]:
    """Return the result of the thesis's grid search near the switching positions of a plan.

    Args:
        plan: Exact zero-net-work plan.
        grid: Parameters of the search.
        near: Distance from the goal within which a joint has arrived, rad or m.
        window: Half-width of the window around the switching positions, rad or m.
        trials: Maximum number of motions.
    """
    distance = np.abs(np.nan_to_num(plan.q_switch - plan.qf))
    low = np.floor(np.maximum(distance - window, 0.0) / grid.step) * grid.step
    high = np.where(distance > 0.0, distance + window, 0.0)
    longest = 1.5 * plan.t_final
    return _searched(plan, grid, near, longest, trials, (low, high))


def by_full_grid(plan: Plan, grid: Grid, near: float, trials: int) -> dict[str, Any]:
    """Return the result of the thesis's grid search over the whole grid."""
    return _searched(plan, grid, near, grid.longest, trials, None)


def _searched(
    plan: Plan, grid: Grid, near: float, longest: float, trials: int, window: Any
) -> dict[str, Any]:
    step, enough = grid.step, grid.enough
    began = time.process_time()
    search = grid_search(plan.robot, plan.q0, plan.qf, step, near, enough, longest, trials, window)
    result: dict[str, Any] = {
        "found": search.success,
        "trials": search.trials,
        "step": search.step,
    }
    result["seconds"] = time.process_time() - began
    if search.success:
        result |= {
            "q_switch": search.q_switch.tolist(),
            "t_switch": search.t_switch.tolist(),
            "arrival_times": search.t_arrival.tolist(),
        }
    return result


def minimum_time(plan: Plan) -> MinimumTime:
    """Return the results of a minimum-time plan with its certificate."""
    proof, switching = plan.certificate, plan.switching
    assert isinstance(proof, Certificate)
    assert switching is not None
    numbers = {
        "holds": proof.holds,
        "boundary": proof.boundary,
        "hamiltonian": proof.hamiltonian,
        "margin": proof.margin,
        "curvature": proof.curvature,
        "singular": list(proof.singular),
        "singular_arcs": [list(arc) for arc in proof.singular_arcs],
        "singular_effort": proof.singular_effort,
        "singular_switching": proof.singular_switching,
        "legendre_clebsch": proof.legendre_clebsch,
        "failures": proof.failures,
    }
    return MinimumTime(
        plan.status,
        plan.reason,
        tuple(effort_signs(switching.controls).tolist()),
        tuple(tuple(times) for times in plan.switch_times),
        plan.t_final,
        tuple(proof.costates.tolist()),
        numbers,
        plan.is_unique,
    )


def costates(plan: Plan) -> tuple[Vector, Vector]:
    """Return times (k,) and costates (k, 2 n) of a minimum-time plan."""
    assert plan.extremal is not None
    times = np.linspace(0.0, plan.t_final * (1.0 - JUST), SAMPLES)
    return times, np.array([plan.extremal.costate(float(t)) for t in times])


def planning_times(robot: Robot, start: Vector, goal: Vector) -> dict[str, float]:
    """Return the CPU time (s) of each planner. The planners must be compiled already."""
    seconds = {}
    for name, plan in (
        ("zero net work", plan_zero_net_work),
        ("minimum time", plan_minimum_time),
    ):
        began = time.process_time()
        plan(robot, start, goal)
        seconds[name] = time.process_time() - began
    return seconds


class _Knotted(NamedTuple):
    """A plan with the times (k,) at which its work is evaluated."""

    plan: Plan
    knots: Vector

    def at(self, times: Vector) -> tuple[Vector, Vector, Vector]:
        return self.plan.at(times)


def trace(robot: Robot, label: str, plan: Plan) -> Trace:
    """Return samples of a plan, with two samples at each jump of the efforts, and its work."""
    jumps = [t for times in plan.switch_times for t in times] + plan.arrival_times
    inner = np.unique(np.clip(jumps, 0.0, plan.t_final))
    even = np.linspace(0.0, plan.t_final, SAMPLES)
    moments = np.unique(np.clip([*even, *inner, *(inner - JUST)], 0.0, plan.t_final))
    states = [plan.state(float(t)) for t in moments]
    # The last effort holds the arm at its goal.
    tau = [plan.effort(float(t)) for t in moments]
    knots = np.unique([*np.linspace(0.0, plan.t_final, WORK_KNOTS), *inner])
    curves = work_curves(robot, _Knotted(plan, knots))
    q, v = (np.array(column) for column in zip(*states, strict=True))
    return Trace(label, moments, q, v, np.array(tau), curves.time, curves.work)


def pd_control(
    robot: Robot, start: Vector, gains: Gains, near: float, published: float | None
) -> tuple[PdControl, Trace]:
    """Simulate PD control to zero, u = -Kp q - Kd v within the effort limits.

    The results and the samples of the motion are returned.

    Args:
        robot: The arm.
        start: Initial positions (n,), at rest.
        gains: PD gains.
        near: Distance from the goal within which a joint has arrived, rad or m.
        published: Printed final time, s, or None.
    """
    kp, kd = np.array(gains.kp), np.array(gains.kd)

    def law(_t: float, q: Vector, v: Vector) -> Vector:
        return -kp * q - kd * v

    run = simulate(
        robot,
        start,
        np.zeros(robot.n),
        law,
        PD_DURATION,
        sample_period=PD_PERIOD,
        method="rkdp54",
        rtol=1e-9,
        atol=1e-12,
    )
    spline = CubicHermiteSpline(run.t, run.q, run.v)
    at = None if published is None else float(np.abs(spline(published)).max())
    side = np.where(start < 0.0, -1.0, 1.0)
    before = _last_outside(run, lambda q: (side * q).max(axis=-1) - near, spline)
    settled = _last_outside(run, lambda q: np.abs(q).max(axis=-1) - near, spline)
    control = PdControl(gains.kp, gains.kd, near, before, settled, at)
    nothing = np.zeros(0)
    return control, Trace("PD", run.t, run.q, run.v, run.tau, nothing, np.zeros((0, robot.n)))


def _last_outside(
    run: Trajectory, excess: Callable[[Vector], Vector], spline: CubicHermiteSpline
) -> float | None:
    """Return the time (s) after which `excess` is not positive; None if it is still positive."""
    outside = np.flatnonzero(excess(run.q) > 0.0)
    if not outside.size:
        return 0.0
    last = int(outside[-1])
    if last == len(run.t) - 1:
        return None
    return float(brentq(lambda t: float(excess(spline(t))), run.t[last], run.t[last + 1]))


def _optional(values: Vector) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in values)
