"""`track`: one call from a path to the joint motion that follows it."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, isinf

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.best_start import best_run, ways_of
from manip_dyn.clik.law.settings import ClikSettings, checked_settings
from manip_dyn.clik.paths.path import Path
from manip_dyn.clik.posture import posture_at, postures_at
from manip_dyn.clik.tracking.path_follower import PathFollower, check_path
from manip_dyn.clik.tracking.result import TrackResult, tracking_of
from manip_dyn.core.checks import Vector, finite_vector, nanoseconds, positive
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
    q0: ArrayLike | str | None = None,
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
            path's first pose, searched from the middle of the joint ranges. ``"best"``: that of
            many on the first pose from which the whole path is followed, furthest from the joint
            limits; without `settings` also with a null space that keeps away from them
            (`TrackResult.settings`, ``q[0]``).
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
    if isinstance(q0, str) and q0 != "best":
        raise ManipDynError(f"q0 is '{q0}'; expected joint positions or \"best\"")
    controlled = None if settings is None else checked_settings(settings).controlled
    if q0 is None or isinstance(q0, str):
        start = posture_at(robot, path.pose(0.0), controlled=controlled)
    else:
        start = finite_vector("q0", q0, robot.n)
    follower = PathFollower(robot, path, start, step, settings, method, deadlines=False)
    if not isinstance(q0, str):
        return _followed(follower, steps, tolerance)

    def follow(q: Vector, chosen: ClikSettings) -> TrackResult:
        follower.settings = chosen
        follower.reset(q)
        return _followed(follower, steps, tolerance, explained=False)

    ways = ways_of(robot, settings)
    best = best_run(robot, postures_at(robot, path.pose(0.0), controlled), ways, follow)
    if best is None or not best.success:
        follower.settings = ways[0] if best is None else best.settings
        follower.reset(start if best is None else best.q[0])
        run = _followed(follower, steps, tolerance, explained=False)
        return replace(run, reason=f"no start that was tried follows it; the best: {run.reason}")
    return best


def _followed(
    follower: PathFollower, steps: int, tolerance: float, explained: bool = True
) -> TrackResult:
    """Return the motion over so many steps of path time, from where the follower is."""
    step = follower.step_size
    rows = [follower.look()[None, :]]
    end, taken, most = (steps - 1e-6) * step, 0, PATIENCE * max(steps, 1)
    while follower.path_time < end and taken < most and not follower.status:
        behind = (end - follower.path_time) / step
        chunk = min(max(ceil(behind), 1), most - taken)
        rows.append(follower.run(chunk))
        taken += chunk
    reach = _reach if explained else None
    return tracking_of(follower, np.concatenate(rows), end, tolerance, reach)


def _reach(follower: PathFollower, path_time: float) -> str:
    """Return whether another posture reaches a pose of the path, in words."""
    pose = follower.path.pose(path_time)
    try:
        q = posture_at(follower.robot, pose, controlled=follower.settings.controlled)
    except ManipDynError:
        return "out of reach"
    place = ", ".join(f"{x:.4g}" for x in q)
    return f'out of reach from this posture, not from ({place}); q0="best" looks for a start'
