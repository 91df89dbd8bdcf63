"""Browser view of results and running nodes; requires the extra ``view``."""

from typing import TYPE_CHECKING

from manip_dyn.core.imports import lazy_names

if TYPE_CHECKING:
    from manip_dyn.viewer.charts import Chart
    from manip_dyn.viewer.drawing import look_at
    from manip_dyn.viewer.figures import find_mesh, mechanism_figure, robot_figure
    from manip_dyn.viewer.live import LivePage
    from manip_dyn.viewer.motions import (
        motion_of,
        plan_marks,
        plan_motion,
        standing,
        view_motion,
    )
    from manip_dyn.viewer.playback import View, view
    from manip_dyn.viewer.scene import (
        GROUND,
        Controls,
        Curves,
        Figure,
        Mark,
        Motion,
        Scope,
        Snapshot,
    )
    from manip_dyn.viewer.server import Frames, start, stop
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "charts": ("Chart",),
            "drawing": ("look_at",),
            "figures": ("find_mesh", "mechanism_figure", "robot_figure"),
            "live": ("LivePage",),
            "motions": ("motion_of", "plan_marks", "plan_motion", "standing", "view_motion"),
            "playback": ("View", "view"),
            "scene": (
                "GROUND",
                "Controls",
                "Curves",
                "Figure",
                "Mark",
                "Motion",
                "Scope",
                "Snapshot",
            ),
            "server": ("Frames", "start", "stop"),
        },
    )

__all__ = [
    "GROUND",
    "Chart",
    "Controls",
    "Curves",
    "Figure",
    "Frames",
    "LivePage",
    "Mark",
    "Motion",
    "Scope",
    "Snapshot",
    "View",
    "find_mesh",
    "look_at",
    "mechanism_figure",
    "motion_of",
    "plan_marks",
    "plan_motion",
    "robot_figure",
    "standing",
    "start",
    "stop",
    "view",
    "view_motion",
]
