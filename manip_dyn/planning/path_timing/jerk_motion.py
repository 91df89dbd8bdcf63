"""The motion along a path by time where jerk is limited: s(t) is cubic between grid points."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.path_timing.grid import INSIDE
from manip_dyn.planning.path_timing.jerk_pieces import Pieces
from manip_dyn.planning.path_timing.joint_path import JointPath
from manip_dyn.planning.path_timing.motion import OnPath, PathMotion
from manip_dyn.robot import Robot


class JerkLimitedMotion(PathMotion):
    """A motion along a path with a continuous acceleration."""

    def __init__(self, robot: Robot, path: JointPath, payload: Vector | None, pieces: Pieces):
        """Take s(t) in pieces."""
        self._robot, self._path, self._payload = robot, path, payload
        self._pieces, self._jerk = pieces, pieces.jerk
        self.grid, self.speed = pieces.grid, pieces.speed
        self.knots = np.concatenate([[0.0], np.cumsum(pieces.times)])

    @property
    def switches(self) -> list[float]:
        """None: efforts jump only where dry friction does."""
        return []

    def on_path(self, t: float) -> OnPath:
        """Return place, speed and acceleration along the path at time `t` s."""
        k = int(np.searchsorted(self.knots, t, side="right")) - 1
        k = min(max(k, 0), len(self._jerk) - 1)
        since = min(max(t - self.knots[k], 0.0), self.knots[k + 1] - self.knots[k])
        v, u = float(self.speed[k]), float(self._pieces.acceleration[k])
        j = float(self._jerk[k])
        moved = since * (v + since * (0.5 * u + since * j / 6.0))
        width = self.grid[k + 1] - self.grid[k]
        moved = min(max(moved, INSIDE * width), (1.0 - INSIDE) * width)
        return OnPath(
            float(self.grid[k] + moved),
            max(v + since * (u + 0.5 * since * j), 0.0),
            u + since * j,
        )
