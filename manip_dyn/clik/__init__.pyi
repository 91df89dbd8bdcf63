"""Closed-loop inverse kinematics: paths, the law and its inverses, tracking."""

from manip_dyn.clik.arm_driver import ArmDriver as ArmDriver
from manip_dyn.clik.diagnostics import TrackingDiagnostics as TrackingDiagnostics
from manip_dyn.clik.follower import PathFollower as PathFollower
from manip_dyn.clik.follower import VelocitySolver as VelocitySolver
from manip_dyn.clik.joint_reference import JointReference as JointReference
from manip_dyn.clik.law.joint_velocity import joint_velocity as joint_velocity
from manip_dyn.clik.law.poses import ERRORS as ERRORS
from manip_dyn.clik.law.poses import Pose as Pose
from manip_dyn.clik.law.poses import task_error as task_error
from manip_dyn.clik.law.settings import INVERSES as INVERSES
from manip_dyn.clik.law.settings import ClikSettings as ClikSettings
from manip_dyn.clik.paths import Circle as Circle
from manip_dyn.clik.paths import Line as Line
from manip_dyn.clik.paths import Lissajous as Lissajous
from manip_dyn.clik.paths import Path as Path
from manip_dyn.clik.paths import SmoothTarget as SmoothTarget
from manip_dyn.clik.paths import Target as Target
from manip_dyn.clik.paths import TargetBounds as TargetBounds
from manip_dyn.clik.paths import Timing as Timing
from manip_dyn.clik.paths import Waypoints as Waypoints
from manip_dyn.clik.paths import path_from_csv as path_from_csv
from manip_dyn.clik.postures import dexterous_posture as dexterous_posture
from manip_dyn.clik.postures import middle_posture as middle_posture
from manip_dyn.clik.postures import tool_pose as tool_pose
from manip_dyn.clik.samples import TrackingSample as TrackingSample
from manip_dyn.clik.tracking import TrackResult as TrackResult
from manip_dyn.clik.tracking import posture_for as posture_for
from manip_dyn.clik.tracking import track as track
from manip_dyn.control.computed_torque import ComputedTorque as ComputedTorque

__all__ = [
    "ArmDriver",
    "Circle",
    "ClikSettings",
    "ComputedTorque",
    "ERRORS",
    "INVERSES",
    "JointReference",
    "Line",
    "Lissajous",
    "Path",
    "PathFollower",
    "Pose",
    "SmoothTarget",
    "Target",
    "TargetBounds",
    "Timing",
    "TrackResult",
    "TrackingDiagnostics",
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
