"""Closed-loop inverse kinematics: paths, task error, damped inverse, tracker."""

from manip_dyn.clik.paths import Circle, Path, Pose
from manip_dyn.clik.task_error import task_error
from manip_dyn.clik.track import Tracking, middle_posture, track
from manip_dyn.clik.tracker import ClikSettings, Tracker, TrackingSample, posture_for

__all__ = [
    "Circle",
    "ClikSettings",
    "Path",
    "Pose",
    "Tracker",
    "Tracking",
    "TrackingSample",
    "middle_posture",
    "posture_for",
    "task_error",
    "track",
]
