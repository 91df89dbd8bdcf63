"""Paths of the tool: geometric curves s -> pose with timing laws s(t), and moving targets."""

from manip_dyn.clik.paths.curves import Circle as Circle
from manip_dyn.clik.paths.curves import Line as Line
from manip_dyn.clik.paths.curves import Lissajous as Lissajous
from manip_dyn.clik.paths.path import Path as Path
from manip_dyn.clik.paths.path import Timing as Timing
from manip_dyn.clik.paths.targets import SmoothTarget as SmoothTarget
from manip_dyn.clik.paths.targets import Target as Target
from manip_dyn.clik.paths.targets import TargetBounds as TargetBounds
from manip_dyn.clik.paths.waypoints import Waypoints as Waypoints
from manip_dyn.clik.paths.waypoints import path_from_csv as path_from_csv
