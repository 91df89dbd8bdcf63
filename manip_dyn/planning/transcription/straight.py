"""The straight path in its fastest timing: one more initial guess, and a floor."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.spline import Ends
from manip_dyn.robot import Robot


def straight_path(robot: Robot, ends: Ends) -> Plan | None:
    """Return the fastest motion along the straight path; None if there is none, or it moves."""
    if ends.moving:
        return None
    from manip_dyn.planning.path_timing.planner import time_path  # loads scipy

    try:
        return time_path(robot, np.array([ends.q0, ends.qf])).plan
    except ManipDynError:
        return None
