"""Closed-loop inverse kinematics: paths, the law and its inverses, tracking."""

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
from manip_dyn.clik.posture import dexterous_posture, middle_posture, posture_for
from manip_dyn.clik.task.pose import Pose
from manip_dyn.clik.task.task_error import ERRORS, task_error
from manip_dyn.clik.track import track
from manip_dyn.clik.tracking.record import TrackingSample
from manip_dyn.clik.tracking.result import Tracking
from manip_dyn.clik.tracking.tracker import Tracker
from manip_dyn.clik.velocity_solver import VelocitySolver

__all__ = [
    "ERRORS",
    "INVERSES",
    "Circle",
    "ClikSettings",
    "Line",
    "Lissajous",
    "Path",
    "Pose",
    "Target",
    "Timing",
    "Tracker",
    "Tracking",
    "TrackingSample",
    "VelocitySolver",
    "Waypoints",
    "dexterous_posture",
    "middle_posture",
    "path_from_csv",
    "posture_for",
    "task_error",
    "track",
]
