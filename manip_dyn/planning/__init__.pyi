"""Time-optimal and near time-optimal control: plans and their execution."""

from manip_dyn.planning.certificate import (
    Certificate as Certificate,
)
from manip_dyn.planning.certificate import (
    Convergence as Convergence,
)
from manip_dyn.planning.execution.disturbance import DisturbanceObserver as DisturbanceObserver
from manip_dyn.planning.execution.effort_model import EffortModel as EffortModel
from manip_dyn.planning.execution.effort_model import PathComponents as PathComponents
from manip_dyn.planning.execution.executor import (
    PlanExecutor as PlanExecutor,
)
from manip_dyn.planning.execution.feedback import (
    Tuning as Tuning,
)
from manip_dyn.planning.execution.identification import MotionRecord as MotionRecord
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
from manip_dyn.planning.minimum_time.budget import Budget as Budget
from manip_dyn.planning.minimum_time.budget import Progress as Progress
from manip_dyn.planning.minimum_time.extremals import Candidate as Candidate
from manip_dyn.planning.minimum_time.flow import Flow as Flow
from manip_dyn.planning.minimum_time.flow import LimitFlow as LimitFlow
from manip_dyn.planning.minimum_time.interior_point import cholesky as cholesky
from manip_dyn.planning.minimum_time.interior_point import cholesky_solve as cholesky_solve
from manip_dyn.planning.minimum_time.interior_point import gauss_newton_steps as gauss_newton_steps
from manip_dyn.planning.minimum_time.interior_point import newton_steps as newton_steps
from manip_dyn.planning.minimum_time.nodes import NodeLimits as NodeLimits
from manip_dyn.planning.minimum_time.nodes import cubic_spline as cubic_spline
from manip_dyn.planning.minimum_time.nodes import effort_jacobians as effort_jacobians
from manip_dyn.planning.minimum_time.nodes import empty_node_motion as empty_node_motion
from manip_dyn.planning.minimum_time.nodes import empty_node_work as empty_node_work
from manip_dyn.planning.minimum_time.nodes import inverse_kernels_of as inverse_kernels_of
from manip_dyn.planning.minimum_time.nodes import measure_slacks as measure_slacks
from manip_dyn.planning.minimum_time.planner import faster_plan as faster_plan
from manip_dyn.planning.minimum_time.planner import plan_minimum_time as plan_minimum_time
from manip_dyn.planning.minimum_time.planner import straight_plan as straight_plan
from manip_dyn.planning.minimum_time.refinement import CoarseSearch as CoarseSearch
from manip_dyn.planning.minimum_time.refinement import random_swings as random_swings
from manip_dyn.planning.minimum_time.refinement import swings as swings
from manip_dyn.planning.minimum_time.search import ExtremalSearch as ExtremalSearch
from manip_dyn.planning.minimum_time.search import MotionSearch as MotionSearch
from manip_dyn.planning.minimum_time.splines import Ends as Ends
from manip_dyn.planning.minimum_time.splines import Spline as Spline
from manip_dyn.planning.minimum_time.structures import Control as Control
from manip_dyn.planning.minimum_time.structures import Kind as Kind
from manip_dyn.planning.minimum_time.structures import boundary_control as boundary_control
from manip_dyn.planning.minimum_time.structures import effort_signs as effort_signs
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
from manip_dyn.planning.path_timing.constraints import SAMPLE_FRACTIONS as SAMPLE_FRACTIONS
from manip_dyn.planning.path_timing.constraints import Limits as Limits
from manip_dyn.planning.path_timing.jerk_timing import JerkIterations as JerkIterations
from manip_dyn.planning.path_timing.joint_path import check_derivatives as check_derivatives
from manip_dyn.planning.path_timing.joint_path import path_from as path_from
from manip_dyn.planning.path_timing.speed_profile import PathProblem as PathProblem
from manip_dyn.planning.path_timing.speed_profile import stiff_intervals as stiff_intervals
from manip_dyn.planning.plan import (
    FiniteRamps as FiniteRamps,
)
from manip_dyn.planning.plan import (
    Plan as Plan,
)
from manip_dyn.planning.work import link_powers as link_powers
from manip_dyn.planning.zero_net_work.grid_search import grid_search as grid_search
from manip_dyn.planning.zero_net_work.planner import (
    plan_zero_net_work as plan_zero_net_work,
)
from manip_dyn.planning.zero_net_work.shooting import TOLERANCES as TOLERANCES
from manip_dyn.planning.zero_net_work.shooting import Problem as Problem
from manip_dyn.planning.zero_net_work.shooting import locked_joint_engine as locked_joint_engine
from manip_dyn.planning.zero_net_work.shooting import locked_joint_kernels as locked_joint_kernels
from manip_dyn.planning.zero_net_work.shooting import shoot as shoot
from manip_dyn.planning.zero_net_work.shooting import work_of as work_of
from manip_dyn.planning.zero_net_work.single_switch import try_guesses as try_guesses
from manip_dyn.planning.zero_net_work.straight_path import fastest_squares as fastest_squares

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
    "SampledMotion",
    "Segment",
    "Tuning",
    "mean_effort",
    "plan_minimum_time",
    "plan_zero_net_work",
    "time_path",
]
