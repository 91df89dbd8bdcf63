"""What is prepared of a plan before its motion begins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manip_dyn.planning import Plan, PlanExecutor, Tuning
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector


class Prepared(NamedTuple):
    """A plan ready to be executed: how, what to publish of it, what to tell about it."""

    executor: PlanExecutor
    rows: list[tuple[float, Vector]]
    told: dict[str, object]


def prepared(robot: Robot, plan: Plan, values: dict[str, Any], tuning: Tuning) -> Prepared:
    """Prepare a plan by the planner's parameters."""
    period = values["control_period"]
    executor = PlanExecutor(robot, plan, period + values["transport_delay"], tuning, period)
    switches = [[round(t, 9) for t in times] for times in plan.switch_times]
    told = {
        "plan": plan.status,
        "plan reason": plan.reason,
        "switch times [s]": dict(zip(robot.joint_names, switches, strict=True)),
        "final time [s]": plan.t_final,
        "net work [J]": float(np.abs(plan.net_work).max()),
    }
    return Prepared(executor, plan.samples(period), told)
