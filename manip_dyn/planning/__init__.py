"""Time-optimal and near time-optimal control: plans and their execution."""

from manip_dyn.planning.execution import PlanExecutor, Segment
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.zero_net_work import plan_zero_net_work

__all__ = ["Plan", "PlanExecutor", "Segment", "plan_zero_net_work"]
