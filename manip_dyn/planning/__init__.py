"""Time-optimal and near time-optimal control: plans and their execution."""

from typing import TYPE_CHECKING

from manip_dyn.core.imports import lazy_names

if TYPE_CHECKING:
    from manip_dyn.planning.certificate import Certificate, Convergence
    from manip_dyn.planning.execution.executor import PlanExecutor
    from manip_dyn.planning.execution.feedback import Tuning
    from manip_dyn.planning.execution.pd_backup import PdBackup
    from manip_dyn.planning.execution.segments import Segment, mean_effort
    from manip_dyn.planning.minimum_time.planner import plan_minimum_time
    from manip_dyn.planning.path_timing import JointPath, PathSamples, PathTiming, time_path
    from manip_dyn.planning.plan import FiniteRamps, Plan
    from manip_dyn.planning.zero_net_work.planner import plan_zero_net_work
else:
    # A path timing needs no planners, and a plan needs no executor.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "certificate": ("Certificate", "Convergence"),
            "execution.executor": ("PlanExecutor",),
            "execution.feedback": ("Tuning",),
            "execution.pd_backup": ("PdBackup",),
            "execution.segments": ("Segment", "mean_effort"),
            "minimum_time.planner": ("plan_minimum_time",),
            "path_timing": ("JointPath", "PathSamples", "PathTiming", "time_path"),
            "plan": ("FiniteRamps", "Plan"),
            "zero_net_work.planner": ("plan_zero_net_work",),
        },
    )

__all__ = [
    "Certificate",
    "Convergence",
    "FiniteRamps",
    "JointPath",
    "PathSamples",
    "PathTiming",
    "PdBackup",
    "Plan",
    "PlanExecutor",
    "Segment",
    "Tuning",
    "mean_effort",
    "plan_minimum_time",
    "plan_zero_net_work",
    "time_path",
]
