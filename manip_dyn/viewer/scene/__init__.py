"""What there is to see: figures that move, curves, marks; plain data."""

from manip_dyn.viewer.scene.figure import (
    GROUND,
    Colour,
    Coordinate,
    Figure,
    Part,
    Poses,
    Rod,
)
from manip_dyn.viewer.scene.live import Controls, Level, Scope, Snapshot
from manip_dyn.viewer.scene.motion import Curves, Mark, Motion

__all__ = [
    "GROUND",
    "Colour",
    "Controls",
    "Coordinate",
    "Curves",
    "Figure",
    "Level",
    "Mark",
    "Motion",
    "Part",
    "Poses",
    "Rod",
    "Scope",
    "Snapshot",
]
