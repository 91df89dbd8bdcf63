"""The task ``execution``: a plan in closed loop on an arm that differs from the plan's."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np

from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions
from manip_dyn.ensembles.sweeps.closed_loop.execution import execute
from manip_dyn.ensembles.sweeps.tasks.plan import PLANNERS, ending, planned
from manip_dyn.ensembles.sweeps.tasks.problem import Settings, choice, posture, some
from manip_dyn.planning import Plan, Tuning
from manip_dyn.robot import Robot

FEEDBACK_ALONE = "pd"
CONDITIONS = tuple(each.name for each in fields(Conditions))
GAINS = ("stiffness", "damping", "integral", "off_plan")
SETTINGS, NEEDED = ("method", "start", "goal", *CONDITIONS, *GAINS), ("method", "goal")
VECTORS, TEXTS = ("start", "goal", "disturbance"), ("method",)
COLUMNS = {
    "planned_time": "number",
    "arrival_time": "number",
    "final_error": "number",
    "overshoot": "number",
    "returns": "whole",
}


def run(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return when the arm arrived, how far beyond the goal it went, and where it was at last."""
    method = choice("method", settings["method"], (*PLANNERS, FEEDBACK_ALONE))
    start, goal = (posture(robot, settings, name) for name in ("start", "goal"))
    gains = some(settings, *GAINS)
    if method == FEEDBACK_ALONE:
        hold = planned(robot, "zero_net_work", goal, goal)
        plan, gains["off_plan"] = replace(hold, q0=start), math.inf
        robot.check_within_limits("start", start)
    else:
        plan = planned(robot, method, start, goal)
    conditions = Conditions(**some(settings, *CONDITIONS))
    result = execute(plan, conditions, Tuning(**gains))
    arrived = not math.isnan(result.arrival_time)
    return {
        "planned_time": plan.t_final,
        "arrival_time": result.arrival_time if arrived else None,
        "final_error": float(np.abs(result.q[-1] - goal).max()),
        "overshoot": _overshoot(plan, result.q),
        "returns": result.returns,
        **ending(result),
    }


def _overshoot(plan: Plan, q: np.ndarray) -> float:
    """Return how far a joint went beyond the goal, seen from its start, at most."""
    way = np.sign(plan.qf - plan.q0)
    return float(np.maximum(way * (q - plan.qf), 0.0).max())
