"""The planner's parameters, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from manip_dyn.errors import ManipDynError
from manip_dyn.nodes.parameters import NUMBERS, Parameter
from manip_dyn.nodes.robot_parameters import ROBOT_PARAMETERS
from manip_dyn.planning import Tuning, plan_minimum_time, plan_zero_net_work
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector


def plan_none(robot: Robot, _q0: Vector, qf: Vector):
    """Return the plan of an arm that is at its goal: feedback alone leads there."""
    return plan_zero_net_work(robot, qf, qf)


PLANNERS = {
    "zero_net_work": plan_zero_net_work,
    "minimum_time": plan_minimum_time,
    "pd": plan_none,
}
TUNING = Tuning()

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter("method", "zero_net_work", "How to plan; pd: not at all, feedback leads to the goal",
              choices=tuple(PLANNERS)),
    Parameter("goal", NUMBERS, "Goal of all joints, in joint order; not set: wait for ~/goal",
              "rad or m"),
    Parameter("autostart", True, "Start towards the parameter goal as soon as the arm is heard"),
    Parameter("control_period", 1e-3, "Time between joint states", "s", 1e-6, 10.0),
    Parameter("transport_delay", 0.0, "Time that a command needs to act, added to what is planned "
              "ahead", "s", 0.0, 1.0),
    Parameter("switching", "exact", "exact: a switch inside a period goes to the effort "
              "trajectory topic at its exact time; sampled: to the command topic as the mean "
              "effort of the period", choices=("exact", "sampled")),
    Parameter("slew_rate", 0.0, "Most that efforts change, for zero_net_work; 0: they may jump",
              "N m/s or N/s", 0.0, 1e12),
    Parameter("stiffness", TUNING.stiffness, "Acceleration per position error", "1/s^2", 0.0, 1e6),
    Parameter("damping", TUNING.damping, "Acceleration per velocity error", "1/s", 0.0, 1e6),
    Parameter("integral", TUNING.integral, "Growth of the acceleration per position error, from "
              "the end of the planned motion on", "1/s^3", 0.0, 1e9),
    Parameter("off_plan", TUNING.off_plan, "Position error of a joint from which on the plan no "
              "longer fits and a new motion leads to the goal; 0: never", "rad or m", 0.0, 1e6),
    Parameter("arrival_tolerance", TUNING.tolerance, "Position error of an arm that has arrived; "
              "its speed may be ten times that, per s", "rad or m", 1e-12, 1.0),
    Parameter("state_timeout", 1.0, "Wall time without joint states after which a motion is given "
              "up; 0: never", "s", 0.0, 1e6),
    Parameter("hold_duration", 0.0, "Time after arrival for which the goal is held by feedback; "
              "0: for good", "s", 0.0, 1e6),
    Parameter("rest_speed", 1e-3, "Joint speed up to which the arm counts as resting", "rad/s or "
              "m/s", 0.0, 10.0),
    Parameter("command_topic", "simulator/commands", "Where effort commands go"),
    Parameter("effort_trajectory_topic", "simulator/effort_trajectory", "Where switches inside a "
              "period go"),
)  # fmt: skip


def planner_from(values: dict[str, Any]) -> Callable[[Robot, Vector, Vector], Any]:
    """Return the function that plans from start to goal (n,); only zero_net_work has ramps."""
    method, slew_rate = values["method"], values["slew_rate"]
    if slew_rate and method != "zero_net_work":
        raise ManipDynError(
            f"parameter 'slew_rate' is {slew_rate:g} with the method '{method}'; expected 0 or "
            "the method 'zero_net_work'"
        )
    options = {"slew_rate": slew_rate} if slew_rate else {}
    return lambda robot, q0, qf: PLANNERS[method](robot, q0, qf, **options)


def tuning_from(values: dict[str, Any]) -> Tuning:
    """Return the gains and thresholds; feedback alone (pd) is never off a plan."""
    ever = values["off_plan"] and values["method"] != "pd"
    return Tuning(
        values["stiffness"],
        values["damping"],
        values["integral"],
        values["off_plan"] if ever else math.inf,
        values["arrival_tolerance"],
    )
