"""The motions of a case: zero net work exact and by the thesis's rule, minimum time, PD."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import brentq

from manip_dyn.core.checks import Vector
from manip_dyn.planning import Certificate, Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.planning.minimum_time.extremals.controls import directions
from manip_dyn.planning.work import work_curves
from manip_dyn.planning.zero_net_work.grid_search import grid_search
from manip_dyn.robot import Robot
from manip_dyn.simulation import Trajectory, simulate
from manip_dyn.studies.fan2003.cases import MinimumTime, PdControl, SingleSwitch, Trace
from manip_dyn.studies.fan2003.settings import Gains, Grid

SAMPLES, WORK_KNOTS = 301, 81
PD_DURATION, PD_PERIOD = 10.0, 0.01
JUST = 1e-9
"""How long before a jump a sample shows what was before, s."""


def single_switch(plan: Plan) -> SingleSwitch:
    """Return a plan's numbers."""
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
    """Return the same motion with the clock of each joint stopped within `near` of its goal."""
    arrivals = list(plan.arrival_times)
    for i in plan.moving_joints:

        def excess(t: float, i: int = i) -> float:
            return abs(float(plan.state(t)[0][i] - plan.qf[i])) - near

        arrivals[i] = float(brentq(excess, plan.switch_times[i][0], plan.arrival_times[i]))
    return single_switch(plan)._replace(
        arrival_times=tuple(arrivals), t_final=max(arrivals), net_work=None
    )


def by_grid(plan: Plan, grid: Grid, near: float, window: float, trials: int) -> dict[str, Any]:
    """Return what the thesis's grid search finds within a window around a plan's switches."""
    distance = np.abs(np.nan_to_num(plan.q_switch - plan.qf))
    low = np.floor(np.maximum(distance - window, 0.0) / grid.step) * grid.step
    high = np.where(distance > 0.0, distance + window, 0.0)
    longest = 1.5 * plan.t_final
    return _searched(plan, grid, near, longest, trials, (low, high))


def by_full_grid(plan: Plan, grid: Grid, near: float, trials: int) -> dict[str, Any]:
    """Return what the thesis's search over the whole distance finds, as its programs begin it."""
    return _searched(plan, grid, near, grid.longest, trials, None)


def _searched(
    plan: Plan, grid: Grid, near: float, longest: float, trials: int, window: Any
) -> dict[str, Any]:
    step, enough = grid.step, grid.enough
    began = time.process_time()
    found = grid_search(plan.robot, plan.q0, plan.qf, step, near, enough, longest, trials, window)
    result: dict[str, Any] = {"found": found.success, "trials": found.trials, "step": found.step}
    result["seconds"] = time.process_time() - began
    if found.success:
        result |= {
            "q_switch": found.q_switch.tolist(),
            "t_switch": found.t_switch.tolist(),
            "arrival_times": found.t_arrival.tolist(),
        }
    return result


def minimum_time(plan: Plan) -> MinimumTime:
    """Return a plan's numbers with its certificate."""
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
        "singular_arcs": [list(each) for each in proof.singular_arcs],
        "singular_effort": proof.singular_effort,
        "singular_switching": proof.singular_switching,
        "legendre_clebsch": proof.legendre_clebsch,
        "failures": proof.failures,
    }
    return MinimumTime(
        plan.status,
        plan.reason,
        tuple(directions(switching.controls).tolist()),
        tuple(tuple(times) for times in plan.switch_times),
        plan.t_final,
        tuple(proof.costates.tolist()),
        numbers,
    )


def costates(plan: Plan) -> tuple[Vector, Vector]:
    """Return times (k,) and costates (k, 2 n) of a minimum-time plan."""
    assert plan.extremal is not None
    times = np.linspace(0.0, plan.t_final * (1.0 - JUST), SAMPLES)
    return times, np.array([plan.extremal.costate(float(t)) for t in times])


def planning_times(robot: Robot, start: Vector, goal: Vector) -> dict[str, float]:
    """Return the CPU time that each planner takes, once all is compiled, s."""
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
    """A plan with knots for its work curves."""

    plan: Plan
    knots: Vector

    def at(self, times: Vector) -> tuple[Vector, Vector, Vector]:
        return self.plan.at(times)


def trace(robot: Robot, label: str, plan: Plan) -> Trace:
    """Return a plan at samples that show its jumps, with the work on each link."""
    jumps = [t for times in plan.switch_times for t in times] + plan.arrival_times
    inner = np.unique(np.clip(jumps, 0.0, plan.t_final))
    even = np.linspace(0.0, plan.t_final, SAMPLES)
    moments = np.unique(np.clip([*even, *inner, *(inner - JUST)], 0.0, plan.t_final))
    states = [plan.state(float(t)) for t in moments]
    # At rest at the goal the effort is that which holds it.
    tau = [plan.effort(float(t)) for t in moments]
    knots = np.unique([*np.linspace(0.0, plan.t_final, WORK_KNOTS), *inner])
    curves = work_curves(robot, _Knotted(plan, knots))
    q, v = (np.array(column) for column in zip(*states, strict=True))
    return Trace(label, moments, q, v, np.array(tau), curves.time, curves.work)


def pd_control(
    robot: Robot, start: Vector, gains: Gains, near: float, published: float | None
) -> tuple[PdControl, Trace]:
    """Simulate u = -Kp q - Kd v within the effort limits to the goal zero."""
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
    found = PdControl(gains.kp, gains.kd, near, before, settled, at)
    nothing = np.zeros(0)
    return found, Trace("PD", run.t, run.q, run.v, run.tau, nothing, np.zeros((0, robot.n)))


def _last_outside(
    run: Trajectory, excess: Callable[[Vector], Vector], spline: CubicHermiteSpline
) -> float | None:
    """Return the last time at which `excess` of the positions is above 0, None at the end."""
    outside = np.flatnonzero(excess(run.q) > 0.0)
    if not outside.size:
        return 0.0
    last = int(outside[-1])
    if last == len(run.t) - 1:
        return None
    return float(brentq(lambda t: float(excess(spline(t))), run.t[last], run.t[last + 1]))


def _optional(values: Vector) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(each) else float(each) for each in values)
