"""Zero-net-work planning for any arm (Fan 2003, chapters 3 to 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.ramped import slew_rates, with_ramps
from manip_dyn.planning.replay import PROVED
from manip_dyn.planning.search import Found, Task, search_of
from manip_dyn.planning.single_switch import find, held_motion, why_not
from manip_dyn.planning.straight_path import straight_path
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, finite_vector

METHOD = "zero_net_work"
STILL = 1e-6
"""A joint whose start and goal differ by less (rad or m) is held at its goal."""


def plan_zero_net_work(
    robot: Robot, q0: ArrayLike, qf: ArrayLike, slew_rate: ArrayLike | None = None
) -> Plan:
    """Plan a rest-to-rest motion by efforts at their limits that switch once per joint.

    Every joint is driven by plus or minus its effort limit until its switch and by the opposite
    until it rests at its goal; one that arrives before the others is held there by the effort that
    holds it (Fan 2003, eqs. 5.70, 6.53, 6.55). At the goal the net work on every link is zero
    (eq. 4.47). Every plan was integrated anew before it is returned, and found at rest at the goal
    with efforts, speeds and positions within their limits.

    Where no such motion is found the status is ``near_minimum`` and `reason` says why. The plan is
    then the fastest motion along the straight joint path.

    With a slew rate the plan is a `RampedPlan`: its efforts begin and end at those that hold the
    arm and change no faster than that; all joints arrive together. ``near_minimum`` then says that
    the search was not over.

    Args:
        robot: The arm.
        q0: Start (n,), rad or m, at rest.
        qf: Goal (n,), rad or m.
        slew_rate: Most that the efforts may change, one for all joints or (n,), N m/s or N/s;
            None: they may jump.

    Raises:
        ManipDynError: If an argument is bad, the arm cannot hold itself at start or goal, or none
            of these motions exists.
    """
    customize(robot)  # refuses what is no robot
    rates = None if slew_rate is None else slew_rates(robot, slew_rate)
    plan = _with_jumps(robot, q0, qf)
    return plan if rates is None else with_ramps(plan, hold_effort(robot, plan.q0), rates)


def _with_jumps(robot: Robot, q0: ArrayLike, qf: ArrayLike) -> Plan:
    start, goal = finite_vector("start", q0, robot.n), finite_vector("goal", qf, robot.n)
    robot.check_within_limits("start", start)
    robot.check_within_limits("goal", goal)
    moving = np.flatnonzero(np.abs(goal - start) > STILL)
    _check_efforts(robot, moving)
    _check_held(robot, "start", start)
    hold = _check_held(robot, "goal", goal)
    if not moving.size:
        none: list[list[float]] = [[] for _ in range(robot.n)]
        return Plan(robot, start, goal, 0.0, none, [0.0] * robot.n, None, hold, METHOD,
                    "solved", "start and goal are the same")  # fmt: skip
    task = Task(np.where(np.abs(goal - start) > STILL, start, goal), goal, moving)
    found = find(robot, task)
    if found.verdict == PROVED:
        reason = "every joint switches once between its effort limits"
        return _single_switch_plan(robot, start, task, hold, found, "solved", reason)
    return _near_minimum_plan(robot, start, task, hold, found)


def _near_minimum_plan(
    robot: Robot, start: Vector, task: Task, hold: Vector, nearest: Found
) -> Plan:
    lack = f"no motion with full efforts and one switch per joint: {why_not(robot, nearest)}"
    path = straight_path(robot, task.start, task.goal)
    if isinstance(path, str):
        raise ManipDynError(f"{lack}; {path}")
    moving, end = set(task.moving.tolist()), path.t_final
    switches = [list(path.switches) if i in moving else [] for i in range(robot.n)]
    arrivals = [end if i in moving else 0.0 for i in range(robot.n)]
    reason = f"{lack}; the fastest along the straight joint path instead"
    return Plan(robot, start, task.goal, end, switches, arrivals, path, hold, METHOD,
                "near_minimum", reason)  # fmt: skip


def _single_switch_plan(
    robot: Robot, start: Vector, task: Task, hold: Vector, found: Found, status: str, reason: str
) -> Plan:
    switches: list[list[float]] = [[] for _ in range(robot.n)]
    arrivals = [0.0] * robot.n
    for place, joint in enumerate(task.moving):
        switches[joint] = [float(found.x[2 * place])]
        arrivals[joint] = float(found.x[2 * place + 1])
    motion = held_motion(search_of(robot), found)
    return Plan(robot, start, task.goal, max(arrivals), switches, arrivals, motion, hold, METHOD,
                status, reason)  # fmt: skip


def _check_efforts(robot: Robot, moving: NDArray[np.int64]) -> None:
    for i in moving:
        limit = robot.tau_max[i]
        if not 0.0 < limit < np.inf:
            raise ManipDynError(
                f"joint '{robot.joint_names[i]}' has the effort limit {limit:g}; bang-bang "
                "control expects a finite one above 0"
            )


def _check_held(robot: Robot, place: str, q: Vector) -> Vector:
    """Return the efforts (n,) that keep the resting arm at `q` (n,); refuse an arm too weak."""
    effort = hold_effort(robot, q)
    for i in np.flatnonzero(np.abs(effort) > robot.tau_max * (1.0 + 1e-9)):
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' needs the effort {effort[i]:.4g} to be held at the "
            f"{place}; its limit is {robot.tau_max[i]:.4g}"
        )
    return effort


def hold_effort(robot: Robot, q: Vector) -> Vector:
    """Return the efforts (n,) that keep the resting arm at `q` (n,)."""
    zero = np.zeros(robot.n)
    return customize(robot).unchecked.inverse_dynamics(q, zero, zero)
