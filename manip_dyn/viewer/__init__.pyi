"""Viewer of results and running nodes in the browser. Requires the extra ``view``."""

from manip_dyn.viewer.charts import (
    Chart as Chart,
)
from manip_dyn.viewer.collisions import (
    ClosestPair as ClosestPair,
)
from manip_dyn.viewer.collisions import (
    scene_figure as scene_figure,
)
from manip_dyn.viewer.drawing import (
    Drawing as Drawing,
)
from manip_dyn.viewer.drawing import (
    bounds_of as bounds_of,
)
from manip_dyn.viewer.drawing import (
    look_at as look_at,
)
from manip_dyn.viewer.figures import (
    mechanism_figure as mechanism_figure,
)
from manip_dyn.viewer.figures import (
    robot_figure as robot_figure,
)
from manip_dyn.viewer.live import (
    LivePage as LivePage,
)
from manip_dyn.viewer.meshes import (
    surfaces_of as surfaces_of,
)
from manip_dyn.viewer.motions import (
    file_motion as file_motion,
)
from manip_dyn.viewer.motions import (
    motion_of as motion_of,
)
from manip_dyn.viewer.motions import (
    plan_marks as plan_marks,
)
from manip_dyn.viewer.motions import (
    plan_motion as plan_motion,
)
from manip_dyn.viewer.motions import (
    standing as standing,
)
from manip_dyn.viewer.motions import (
    view_motion as view_motion,
)
from manip_dyn.viewer.playback import (
    ResultsPage as ResultsPage,
)
from manip_dyn.viewer.playback import (
    View as View,
)
from manip_dyn.viewer.playback import (
    view as view,
)
from manip_dyn.viewer.scene import (
    GROUND as GROUND,
)
from manip_dyn.viewer.scene import (
    Closest as Closest,
)
from manip_dyn.viewer.scene import (
    Controls as Controls,
)
from manip_dyn.viewer.scene import (
    Curves as Curves,
)
from manip_dyn.viewer.scene import (
    Figure as Figure,
)
from manip_dyn.viewer.scene import (
    Mark as Mark,
)
from manip_dyn.viewer.scene import (
    Motion as Motion,
)
from manip_dyn.viewer.scene import (
    Scope as Scope,
)
from manip_dyn.viewer.scene import (
    Snapshot as Snapshot,
)
from manip_dyn.viewer.server import (
    Frames as Frames,
)
from manip_dyn.viewer.server import (
    start as start,
)
from manip_dyn.viewer.server import (
    stop as stop,
)
