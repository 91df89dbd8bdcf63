"""Time-optimal and near time-optimal control: plans and their execution."""

from manip_dyn.planning.certificate import Certificate
from manip_dyn.planning.convergence import Convergence
from manip_dyn.planning.execution.executor import PlanExecutor
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.planning.execution.pd_backup import PdBackup
from manip_dyn.planning.execution.segments import Segment, mean_effort
from manip_dyn.planning.minimum_time.planner import plan_minimum_time
from manip_dyn.planning.plan import FiniteRamps, Plan
from manip_dyn.planning.zero_net_work.planner import plan_zero_net_work

__all__ = [
    "Certificate",
    "Convergence",
    "FiniteRamps",
    "PdBackup",
    "Plan",
    "PlanExecutor",
    "Segment",
    "Tuning",
    "mean_effort",
    "plan_minimum_time",
    "plan_zero_net_work",
]
