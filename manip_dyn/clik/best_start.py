"""The start of a path: from which of its postures, and how, an arm can follow all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from manip_dyn.clik.law.settings import ClikSettings
from manip_dyn.clik.tracking.result import TrackResult
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

ENOUGH = 4
"""Motions that follow the whole path, of which the one furthest from joint limits is taken."""
AVOIDANCE = 1.0
"""Null-space gain towards the middle of the joint ranges that is tried, 1/s."""

Follow = Callable[[Vector, ClikSettings], TrackResult]
"""Follows the path from joint positions (n,) by settings."""


def best_run(
    robot: Robot, starts: Iterable[Vector], ways: Sequence[ClikSettings], follow: Follow
) -> TrackResult | None:
    """Return the best motion of those that begin at postures (n,), each tried in several ways.

    The whole path counts first, then the distance from the joint limits; where no motion follows
    it to its end, how much of it is followed.
    """
    best, rank, complete = None, (-1.0, -1.0), 0
    for start in starts:
        for settings in ways:
            run = follow(start, settings)
            mine = (on_path(run), room(robot, run) if run.success else 0.0)
            if mine > rank:
                best, rank = run, mine
            complete += run.success
        if complete >= ENOUGH:
            break
    return best


def ways_of(robot: Robot, given: ClikSettings | None) -> list[ClikSettings]:
    """Return the settings to try: those that are given, or with and without limit avoidance."""
    if given is not None:
        return [given]
    usual = ClikSettings()
    return [usual, replace(usual, limit_avoidance=AVOIDANCE)] if robot.n > 6 else [usual]


def on_path(run: TrackResult) -> float:
    """Return which share of the path is followed before the tool first leaves it; 1: all."""
    if run.success:
        return 1.0
    end = float(run.path_time[-1])
    return 0.0 if end <= 0.0 else min(run.followed / end, 1.0 - 1e-9)


def room(robot: Robot, run: TrackResult) -> float:
    """Return the least distance of a joint from its limits on the way, of half its range."""
    limited = np.isfinite(robot.q_max - robot.q_min)
    if not limited.any():
        return 1.0
    low, high, q = robot.q_min[limited], robot.q_max[limited], run.q[:, limited]
    return float((np.minimum(q - low, high - q) / (0.5 * (high - low))).min())
