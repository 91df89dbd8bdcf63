"""The planner's parameters, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Tuning, plan_minimum_time, plan_zero_net_work
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.common import RecordedParameters, RobotParameters
from manip_dyn.ros.parameters.declaration import Numbers, parameter


def plan_none(robot: Robot, _q0: Vector, qf: Vector):
    """Return the plan of an arm that is at its goal: feedback alone leads there."""
    return plan_zero_net_work(robot, qf, qf)


PLANNERS: dict[str, Callable[..., Any]] = {
    "zero_net_work": plan_zero_net_work,
    "minimum_time": plan_minimum_time,
    "pd": plan_none,
}


@dataclass(frozen=True)
class BangBangPlannerParameters(RecordedParameters, RobotParameters):
    """The arm, how its motions are planned and how they are executed."""

    method: str = parameter(
        "zero_net_work",
        "How to plan; pd: not at all, feedback leads to the goal",
        choices=tuple(PLANNERS),
        dynamic=True,
    )
    goal: Numbers = parameter(
        (), "Goal of all joints, in joint order; not set: wait for ~/goal", "rad or m"
    )
    autostart: bool = parameter(
        True, "Start towards the parameter goal as soon as the arm is heard"
    )
    replanning_lead: float = parameter(
        0.5,
        "For minimum_time: how long at least after a new goal the arm leaves the motion that goes "
        "on for one to that goal, which is planned meanwhile; 0: the arm is stopped first",
        "s",
        0.0,
        10.0,
        dynamic=True,
    )
    control_period: float = parameter(1e-3, "Time between joint states", "s", 1e-6, 10.0)
    transport_delay: float = parameter(
        0.0, "Time that a command needs to act, added to what is planned ahead", "s", 0.0, 1.0
    )
    switching: str = parameter(
        "exact",
        "exact: a switch inside a period goes to the effort trajectory topic at its exact time; "
        "sampled: to the command topic as the mean effort of the period",
        choices=("exact", "sampled"),
    )
    slew_rate: float = parameter(
        0.0,
        "Most that efforts change, for zero_net_work; 0: they may jump",
        "N m/s or N/s",
        0.0,
        1e12,
    )
    stiffness: float = parameter(
        Tuning.stiffness, "Acceleration per position error", "1/s^2", 0.0, 1e6
    )
    damping: float = parameter(Tuning.damping, "Acceleration per velocity error", "1/s", 0.0, 1e6)
    integral: float = parameter(
        Tuning.integral,
        "Growth of the acceleration per position error, from the end of the planned motion on",
        "1/s^3",
        0.0,
        1e9,
    )
    off_plan: float = parameter(
        Tuning.off_plan,
        "Position error of a joint from which on the plan no longer fits and a new motion leads "
        "to the goal; 0: never",
        "rad or m",
        0.0,
        1e6,
    )
    arrival_tolerance: float = parameter(
        Tuning.tolerance,
        "Position error of an arm that has arrived; its speed may be ten times that, per s",
        "rad or m",
        1e-12,
        1.0,
    )
    state_timeout: float = parameter(
        1.0,
        "Wall time without joint states after which a motion is given up; 0: never",
        "s",
        0.0,
        1e6,
    )
    hold_duration: float = parameter(
        0.0,
        "Time after arrival for which the goal is held by feedback; 0: for good",
        "s",
        0.0,
        1e6,
    )
    rest_speed: float = parameter(
        1e-3, "Joint speed up to which the arm counts as resting", "rad/s or m/s", 0.0, 10.0
    )
    command_topic: str = parameter("simulator/commands", "Where effort commands go")
    effort_trajectory_topic: str = parameter(
        "simulator/effort_trajectory", "Where switches inside a period go"
    )


def planner_from(parameters: BangBangPlannerParameters) -> Callable[..., Any]:
    """Return the function that plans for a robot, from start to goal (n,).

    Only zero_net_work has ramps; only minimum_time takes velocities `v0` (n,) of the start.
    """
    method, slew_rate = parameters.method, parameters.slew_rate
    if slew_rate and method != "zero_net_work":
        raise ManipDynError(
            f"parameter 'slew_rate' is {slew_rate:g} with the method '{method}'; expected 0 or "
            "the method 'zero_net_work'"
        )
    options = {"slew_rate": slew_rate} if slew_rate else {}

    def plan(robot: Robot, q0: Vector, qf: Vector, **moving: Vector) -> Any:
        return PLANNERS[method](robot, q0, qf, **options, **moving)

    return plan


def tuning_from(parameters: BangBangPlannerParameters) -> Tuning:
    """Return the gains and thresholds; feedback alone (pd) is never off a plan."""
    ever = parameters.off_plan and parameters.method != "pd"
    return Tuning(
        parameters.stiffness,
        parameters.damping,
        parameters.integral,
        parameters.off_plan if ever else math.inf,
        parameters.arrival_tolerance,
    )


def goal_from(parameters: BangBangPlannerParameters, robot: Robot) -> Vector | None:
    """Return the goal (n,) that the parameters give, if they do."""
    if not parameters.goal:
        return None
    goal = finite_vector("parameter 'goal'", parameters.goal, robot.n)
    robot.check_within_limits("goal", goal)
    return goal
