"""Closed-loop inverse kinematics: paths, the law and its inverses, tracking."""

from manip_dyn.clik.control.joint_reference import JointReference
from manip_dyn.clik.law.settings import INVERSES, ClikSettings
from manip_dyn.clik.paths import (
    Circle,
    Line,
    Lissajous,
    Path,
    Target,
    Timing,
    Waypoints,
    path_from_csv,
)
from manip_dyn.clik.paths.smooth_target import SmoothTarget
from manip_dyn.clik.posture import dexterous_posture, middle_posture, tool_pose
from manip_dyn.clik.start import posture_for
from manip_dyn.clik.task.pose import Pose
from manip_dyn.clik.task.task_error import ERRORS, task_error
from manip_dyn.clik.track import track
from manip_dyn.clik.tracking.path_follower import PathFollower
from manip_dyn.clik.tracking.record import TrackingSample
from manip_dyn.clik.tracking.result import TrackResult
from manip_dyn.clik.velocity_solver import VelocitySolver
from manip_dyn.control.computed_torque import ComputedTorque

__all__ = [
    "ERRORS",
    "INVERSES",
    "Circle",
    "ClikSettings",
    "ComputedTorque",
    "JointReference",
    "SmoothTarget",
    "Line",
    "Lissajous",
    "Path",
    "Pose",
    "Target",
    "Timing",
    "PathFollower",
    "TrackResult",
    "TrackingSample",
    "VelocitySolver",
    "Waypoints",
    "dexterous_posture",
    "middle_posture",
    "path_from_csv",
    "posture_for",
    "task_error",
    "tool_pose",
    "track",
]
