"""Paths of the tool: a geometric curve s -> pose, times a timing law s(t)."""

from manip_dyn.clik.paths.curves import Circle, Line, Lissajous
from manip_dyn.clik.paths.path import Path, Timing
from manip_dyn.clik.paths.targets import Target
from manip_dyn.clik.paths.waypoints import Waypoints, path_from_csv

__all__ = [
    "Circle",
    "Line",
    "Lissajous",
    "Path",
    "Target",
    "Timing",
    "Waypoints",
    "path_from_csv",
]
