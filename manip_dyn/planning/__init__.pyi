"""Time-optimal and near time-optimal control: plans and their execution."""

from manip_dyn.planning.certificate import (
    Certificate as Certificate,
)
from manip_dyn.planning.certificate import (
    Convergence as Convergence,
)
from manip_dyn.planning.execution.executor import (
    PlanExecutor as PlanExecutor,
)
from manip_dyn.planning.execution.feedback import (
    Tuning as Tuning,
)
from manip_dyn.planning.execution.pd_backup import (
    PdBackup as PdBackup,
)
from manip_dyn.planning.execution.sampled_motion import (
    SampledMotion as SampledMotion,
)
from manip_dyn.planning.execution.segments import (
    Segment as Segment,
)
from manip_dyn.planning.execution.segments import (
    mean_effort as mean_effort,
)
from manip_dyn.planning.minimum_time.planner import (
    plan_minimum_time as plan_minimum_time,
)
from manip_dyn.planning.path_timing import (
    JointPath as JointPath,
)
from manip_dyn.planning.path_timing import (
    PathSamples as PathSamples,
)
from manip_dyn.planning.path_timing import (
    PathTiming as PathTiming,
)
from manip_dyn.planning.path_timing import (
    time_path as time_path,
)
from manip_dyn.planning.plan import (
    FiniteRamps as FiniteRamps,
)
from manip_dyn.planning.plan import (
    Plan as Plan,
)
from manip_dyn.planning.zero_net_work.planner import (
    plan_zero_net_work as plan_zero_net_work,
)
