"""`track`: one call from a path to the joint motion that follows it."""

from __future__ import annotations

from math import ceil, isinf

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.settings import ClikSettings, checked_settings
from manip_dyn.clik.paths.path import Path
from manip_dyn.clik.posture import posture_for
from manip_dyn.clik.tracking.path_follower import PathFollower, check_path
from manip_dyn.clik.tracking.result import TrackResult, tracking_of
from manip_dyn.core.checks import nanoseconds, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integrate import Method
from manip_dyn.robot import Robot

PATIENCE = 10
"""How many times longer than the path a motion may take that speed limits slow down."""


def track(
    robot: Robot,
    path: Path,
    method: str | Method = "rk4",
    step: float = 0.1,
    q0: ArrayLike | None = None,
    duration: float | None = None,
    settings: ClikSettings | None = None,
    tolerance: float = 1e-3,
) -> TrackResult:
    """Follow `path` with the tool of `robot` by closed-loop inverse kinematics.

    Args:
        robot: The arm.
        path: Desired pose and twist over time.
        method: Integrator: a name in `md.METHODS` other than ``taylor``, or a `Method`, with fixed
            steps.
        step: Sampling period, s.
        q0: Joint positions (n,) at the start, on or off the path. Default: a posture on the
            path's first pose, searched from the middle of the joint ranges.
        duration: Path time to track, s, rounded up to whole steps. Default: the path's, one
            lap of an endless one.
        settings: Gain, inverse, null space and limits.
        tolerance: Errors that count as being on the path, m and rad; what the start is off
            the path comes on top, and fades with the gain.

    Raises:
        ManipDynError: For bad arguments. What goes wrong later is in the result.
    """
    span = check_path(path).duration if duration is None else duration
    if duration is None and isinf(span):
        raise ManipDynError("the path has no end; expected a duration in s")
    steps = ceil(nanoseconds("duration", span) / nanoseconds("step", step) - 1e-6)
    positive("tolerance", tolerance)
    if q0 is None:
        controlled = None if settings is None else checked_settings(settings).controlled
        q0 = posture_for(robot, path.pose(0.0), controlled=controlled)
    follower = PathFollower(robot, path, q0, step, settings, method, deadlines=False)
    rows = [follower.look()[None, :]]
    end, taken, most = (steps - 1e-6) * step, 0, PATIENCE * max(steps, 1)
    while follower.path_time < end and taken < most and not follower.status:
        behind = (end - follower.path_time) / step
        chunk = min(max(ceil(behind), 1), most - taken)
        rows.append(follower.run(chunk))
        taken += chunk
    return tracking_of(follower, np.concatenate(rows), end, tolerance)
