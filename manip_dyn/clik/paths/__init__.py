"""Paths of the tool: a geometric curve s -> pose, times a timing law s(t)."""

from manip_dyn.clik.paths.circle import Circle
from manip_dyn.clik.paths.csv_file import path_from_csv
from manip_dyn.clik.paths.line import Line
from manip_dyn.clik.paths.lissajous import Lissajous
from manip_dyn.clik.paths.path import Path
from manip_dyn.clik.paths.target import Target
from manip_dyn.clik.paths.timing import Timing
from manip_dyn.clik.paths.waypoints import Waypoints

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
