"""The fastest timing of a joint path within limits of speed, acceleration, jerk and effort."""

from manip_dyn.planning.path_timing.joint_path import JointPath as JointPath
from manip_dyn.planning.path_timing.motion import PathSamples as PathSamples
from manip_dyn.planning.path_timing.motion import PathTiming as PathTiming
from manip_dyn.planning.path_timing.planner import time_path as time_path
