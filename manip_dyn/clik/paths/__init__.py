"""Paths of the tool: geometric curves s -> pose with timing laws s(t), and moving targets."""

from manip_dyn.clik.paths.curves import Circle, Line, Lissajous
from manip_dyn.clik.paths.path import Path, Timing
from manip_dyn.clik.paths.targets import SmoothTarget, Target, TargetBounds
from manip_dyn.clik.paths.waypoints import Waypoints, path_from_csv

__all__ = [
    "Circle",
    "Line",
    "Lissajous",
    "Path",
    "SmoothTarget",
    "Target",
    "TargetBounds",
    "Timing",
    "Waypoints",
    "path_from_csv",
]
