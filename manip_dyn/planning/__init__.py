"""Time-optimal and near time-optimal control: plans and their execution."""

from manip_dyn.planning.bang_bang import BangBangPlan
from manip_dyn.planning.certificate import Certificate
from manip_dyn.planning.execution import PlanExecutor
from manip_dyn.planning.feedback import Tuning
from manip_dyn.planning.minimum_time import plan_minimum_time
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.ramped import RampedPlan
from manip_dyn.planning.segments import Segment, mean_effort
from manip_dyn.planning.zero_net_work import plan_zero_net_work

__all__ = [
    "BangBangPlan",
    "Certificate",
    "Plan",
    "PlanExecutor",
    "RampedPlan",
    "Segment",
    "Tuning",
    "mean_effort",
    "plan_minimum_time",
    "plan_zero_net_work",
]
