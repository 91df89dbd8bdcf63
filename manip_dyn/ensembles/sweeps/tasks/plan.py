"""The task ``plan``: a motion from rest to rest."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.ensembles.sweeps.tasks.problem import Settings, choice, posture, some
from manip_dyn.planning import Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.robot import Robot

PLANNERS: dict[str, Any] = {
    "zero_net_work": plan_zero_net_work,
    "minimum_time": plan_minimum_time,
}
SETTINGS, NEEDED = ("method", "start", "goal", "slew_rate"), ("method", "goal")
VECTORS, TEXTS = ("start", "goal"), ("method",)
COLUMNS = {"t_final": "number", "switches": "whole", "t_switch": "number", "net_work": "number"}


def run(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return the duration of a plan, its switches, and its largest net work."""
    method = choice("method", settings["method"], tuple(PLANNERS))
    start, goal = (posture(robot, settings, name) for name in ("start", "goal"))
    plan = PLANNERS[method](robot, start, goal, **some(settings, "slew_rate"))
    return {
        "t_final": plan.t_final,
        "switches": sum(len(times) for times in plan.switch_times),
        "t_switch": plan.t_switch,
        "net_work": float(np.abs(plan.net_work).max()),
        **ending(plan),
    }


def ending(result: Any) -> dict[str, Any]:
    """Return how a result ended."""
    status = getattr(result.status, "name", result.status)
    return {"success": result.success, "status": str(status).lower(), "reason": result.reason}


def planned(robot: Robot, method: str, start: Vector, goal: Vector) -> Plan:
    """Return a plan that may be asked for again."""
    return _planned(robot, method, tuple(start.tolist()), tuple(goal.tolist()))


@lru_cache(maxsize=8)
def _planned(robot: Robot, method: str, start: tuple[float, ...], goal: tuple[float, ...]) -> Plan:
    ends = (finite_vector("start", start, robot.n), finite_vector("goal", goal, robot.n))
    return PLANNERS[method](robot, *ends)
