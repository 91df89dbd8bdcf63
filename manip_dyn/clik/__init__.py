"""Closed-loop inverse kinematics: paths, the law and its inverses, tracking."""

from manip_dyn.clik.follower import PathFollower, VelocitySolver
from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.clik.law.poses import ERRORS, Pose, task_error
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
from manip_dyn.clik.paths.targets import SmoothTarget
from manip_dyn.clik.postures import dexterous_posture, middle_posture, tool_pose
from manip_dyn.clik.samples import TrackingSample
from manip_dyn.clik.tracking import TrackResult, posture_for, track
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
