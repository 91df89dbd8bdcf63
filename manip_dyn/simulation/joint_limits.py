"""Joint limits as events: the time at which a joint reaches one is found to rounding."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled.specialized import specialized
from manip_dyn.integration import Events
from manip_dyn.robot import Robot
from manip_dyn.simulation import limit_distances


class JointLimits:
    """The finite position limits of an arm.

    Attributes:
        events: Events whose functions are the distances from the limits, rad or m.
    """

    def __init__(self, robot: Robot):
        """Take the limits of `robot`, which has a finite one."""
        n = robot.n
        bounds = np.concatenate([robot.q_min, robot.q_max])
        finite = np.flatnonzero(np.isfinite(bounds))
        joints, signs = finite % n, np.where(finite < n, 1.0, -1.0)
        module: Any = specialized(
            limit_distances, JOINTS=joints, SIGNS=signs, BOUNDS=bounds[finite]
        )
        self.events = Events(module.distances, count=len(finite), direction=-1)
        self._names = [robot.joint_names[joint] for joint in joints]
        self._sides = np.where(finite < n, "lower", "upper")

    def reached(self, y: Vector) -> str:
        """Return which limit the state (m,) is at, as a clause."""
        nearest = int(np.argmin(self.distances(y)))
        return f"joint '{self._names[nearest]}' reached its {self._sides[nearest]} limit"

    def distances(self, y: Vector) -> Vector:
        """Return how far the state (m,) is from each limit (k,), rad or m."""
        distances = np.empty(len(self._names))
        self.events.function(0.0, y, None, distances)
        return distances


@lru_cache(maxsize=32)
def joint_limits(robot: Robot) -> JointLimits | None:
    """Return the limits of a robot, compiled once; None if no limit is finite."""
    finite = np.isfinite(robot.q_min) | np.isfinite(robot.q_max)
    return JointLimits(robot) if finite.any() else None
