"""Limits of an arm on a path, those of jerk among them, as rows at places of a grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.planning.path_timing.grid import INSIDE
from manip_dyn.planning.path_timing.jerk_pieces import JerkRows, Pieces, slopes
from manip_dyn.planning.path_timing.joint_path import JointPath
from manip_dyn.planning.path_timing.rows import Geometry, Limits, geometry, rows
from manip_dyn.robot import Robot

PLACES = np.linspace(0.0, 1.0, 9)
"""Shares of an interval's time at which a motion is read."""


class Course(NamedTuple):
    """An arm on a path with its limits, those of jerk (n,) among them."""

    robot: Robot
    path: JointPath
    limits: Limits
    jerk: Vector

    def at_ends(self, grid: Vector, inside: float = INSIDE) -> JerkRows:
        """Return the rows at both ends of the intervals of a grid (k + 1,), a share inside."""
        shares = np.array([inside, 1.0 - inside])
        along = geometry(self.path, grid[:-1], np.diff(grid), shares)
        width = np.diff(grid)[:, None]
        return self._rows(along, grid[:-1, None] + width * shares)

    def read(self, pieces: Pieces) -> Tensor:
        """Return what rows come to (k, p, r) at `PLACES` between grid points."""
        s, v, u = pieces.at(PLACES)
        width = np.diff(pieces.grid)[:, None]
        least, most = (pieces.grid[:-1, None], pieces.grid[1:, None])
        s = np.clip(s, least + INSIDE * width, most - INSIDE * width)
        shape = (*s.shape, -1)
        along = Geometry(*(self.path(s.ravel(), order).reshape(shape) for order in range(3)))
        return slopes(self._rows(along, s), v, u, pieces.jerk[:, None] + 0.0 * s).value

    def _rows(self, along: Geometry, s: Matrix) -> JerkRows:
        third = self.path(s.ravel(), 3).reshape(along.q.shape)
        jerk = tuple(each / self.jerk for each in (along.first, along.second, third))
        return JerkRows(rows(self.robot, self.limits, along), jerk)  # type: ignore[arg-type]
