"""Zero-net-work planning for any arm (Fan 2003, chapters 3 to 6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.endpoints import (
    check_effort_limits,
    check_speed_limits,
    check_without_friction,
    checked_postures,
    holding_effort,
)
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.zero_net_work.ramped_plan import checked_slew_rates, plan_with_ramps
from manip_dyn.planning.zero_net_work.shooting import PROVED
from manip_dyn.planning.zero_net_work.single_switch import (
    LockedJointMotion,
    MotionTask,
    SearchResult,
    failure_reason,
    find_motion,
)
from manip_dyn.planning.zero_net_work.straight_path import straight_path
from manip_dyn.robot import Robot

METHOD = "zero_net_work"
STILL = 1e-6
"""Distance between start and goal (rad or m) below which a joint is locked at its goal."""


def plan_zero_net_work(
    robot: Robot, q0: ArrayLike, qf: ArrayLike, slew_rate: ArrayLike | None = None
) -> Plan:
    """Plan a rest-to-rest motion with full efforts that switch once per joint.

    Every joint is driven with plus or minus its effort limit until its switch, and with the
    opposite limit until it rests at its goal. A joint that arrives before the others is locked at
    its goal by a holding effort (Fan 2003, eqs. 5.70, 6.53, 6.55). At the goal the net work on
    every link is zero (eq. 4.47). The plan is verified by a second integration: it ends at rest at
    the goal, with efforts, speeds and positions within their limits.

    If no such motion is found, the status is ``near_minimum``, and `reason` states the cause. The
    plan is then the fastest motion along the straight joint path. Without a slew rate, the plan
    for an arm with dry friction is always this motion (see `md.time_path`).

    With a slew rate the plan has `Plan.ramps`. Its efforts start and end at the efforts that hold
    the arm, and change at most at the slew rate. All joints arrive together. The status
    ``near_minimum`` then means that a faster motion may be near.

    Args:
        robot: The arm.
        q0: Start positions (n,) at rest, rad or m.
        qf: Goal positions (n,), rad or m.
        slew_rate: Maximum rate of the efforts: one rate for all joints or rates (n,), N m/s or
            N/s. Default: efforts may jump.

    Returns:
        The plan, with the status ``solved``, ``near_minimum``, or ``at_goal`` if no joint must
        move.

    Raises:
        ManipDynError: If an argument is invalid, the arm cannot hold its weight at the start or
            the goal, no motion is found, or `slew_rate` is set for an arm with dry friction.
    """
    customize(robot)  # raises if `robot` is not a Robot
    rates = None if slew_rate is None else checked_slew_rates(robot, slew_rate)
    plan = _with_jumps(robot, q0, qf)
    if rates is None:
        return plan
    check_without_friction(robot, "a zero-net-work plan with a slew rate")
    return plan_with_ramps(plan, holding_effort(robot, "start", plan.q0), rates)


def _with_jumps(robot: Robot, q0: ArrayLike, qf: ArrayLike) -> Plan:
    start, goal = checked_postures(robot, q0, qf)
    moving = np.flatnonzero(np.abs(goal - start) > STILL)
    check_effort_limits(robot, moving)
    check_speed_limits(robot, moving)
    holding_effort(robot, "start", start)
    hold = holding_effort(robot, "goal", goal)
    if not moving.size:
        return Plan.standing(robot, start, goal, hold, METHOD)
    task = MotionTask(np.where(np.abs(goal - start) > STILL, start, goal), goal, moving)
    if robot.has_dry_friction:
        return _friction_plan(robot, task)
    result = find_motion(robot, task)
    if result.verdict == PROVED:
        return _single_switch_plan(robot, start, task, hold, result)
    return _near_minimum_plan(robot, start, task, hold, result)


def _single_switch_plan(
    robot: Robot, start: Vector, task: MotionTask, hold: Vector, result: SearchResult
) -> Plan:
    switches: list[list[float]] = [[] for _ in range(robot.n)]
    arrivals = [0.0] * robot.n
    for index, joint in enumerate(task.moving):
        switches[joint] = [float(result.x[2 * index])]
        arrivals[joint] = float(result.x[2 * index + 1])
    return Plan(
        robot,
        start,
        task.goal,
        max(arrivals),
        switches,
        arrivals,
        LockedJointMotion(robot, result.nodes, result.x),
        hold,
        METHOD,
        "solved",
        "every joint switches once between its effort limits",
        single_switch=int(task.moving[0]) if len(task.moving) == 1 else None,
    )


def _friction_plan(robot: Robot, task: MotionTask) -> Plan:
    from manip_dyn.planning.path_timing.planner import time_path  # loads SciPy's splines

    plan = time_path(robot, [task.start, task.goal]).plan
    reason = (
        "single-switch motions require an arm without dry friction; this is the fastest motion "
        "along the straight joint path"
    )
    return replace(plan, method=METHOD, status="near_minimum", reason=reason)


def _near_minimum_plan(
    robot: Robot, start: Vector, task: MotionTask, hold: Vector, nearest: SearchResult
) -> Plan:
    lack = (
        f"no motion with full efforts and one switch per joint: {failure_reason(robot, nearest)}"
    )
    try:
        path = straight_path(robot, task.start, task.goal)
    except ManipDynError as none:
        raise ManipDynError(f"{lack}; {none}") from none
    moving, end = set(task.moving.tolist()), path.t_final
    switches = [list(path.switches) if i in moving else [] for i in range(robot.n)]
    arrivals = [end if i in moving else 0.0 for i in range(robot.n)]
    reason = f"{lack}; this is the fastest motion along the straight joint path"
    return Plan(
        robot,
        start,
        task.goal,
        end,
        switches,
        arrivals,
        path,
        hold,
        METHOD,
        "near_minimum",
        reason,
    )
