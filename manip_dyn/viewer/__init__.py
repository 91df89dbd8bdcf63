"""A view in the browser of what moves, live or afterwards; needs the extra ``view``."""

from manip_dyn.viewer.motions.results import standing
from manip_dyn.viewer.motions.robot import view_motion
from manip_dyn.viewer.scene import Curves, Mark, Motion
from manip_dyn.viewer.shown import View, view

__all__ = ["Curves", "Mark", "Motion", "View", "standing", "view", "view_motion"]
