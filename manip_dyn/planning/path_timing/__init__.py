"""The fastest timing of a joint path within limits of speed, acceleration, jerk and effort."""

from manip_dyn.planning.path_timing.joint_path import JointPath
from manip_dyn.planning.path_timing.motion import PathSamples, PathTiming
from manip_dyn.planning.path_timing.planner import time_path

__all__ = ["JointPath", "PathSamples", "PathTiming", "time_path"]
