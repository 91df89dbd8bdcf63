"""Straight lines, with the orientation turned about one axis meanwhile."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.paths.path import Path, harmonic
from manip_dyn.clik.paths.timing import Timing
from manip_dyn.clik.task.pose import checked_pose
from manip_dyn.core.checks import positive
from manip_dyn.core.errors import ManipDynError


class Line(Path):
    """A straight line between poses; the tool turns about a fixed axis, by half a turn at most."""

    def __init__(
        self,
        start: tuple[ArrayLike, ArrayLike],
        end: tuple[ArrayLike, ArrayLike],
        linear_speed: float = 0.1,
        angular_speed: float = 0.5,
        *,
        ramp: float = 1.0,
    ):
        """Describe the line in the base frame.

        Args:
            start: Position (3,), m, and orientation: rotation matrix (3, 3) or quaternion (4,).
            end: The same at the end.
            linear_speed: Of the tool, at most, m/s.
            angular_speed: Of the tool, at most, rad/s; one of the two speeds is reached.
            ramp: Duration of the smooth start and of the stop, s; 0 for constant speed.
        """
        first, last = checked_pose("line start", start), checked_pose("line end", end)
        positive("linear speed", linear_speed, "m/s")
        positive("angular speed", angular_speed, "rad/s")
        displacement = last.position - first.position
        from scipy.spatial.transform import Rotation  # slow to load

        turn = Rotation.from_matrix(last.rotation @ first.rotation.T).as_rotvec()
        length, angle = float(np.linalg.norm(displacement)), float(np.linalg.norm(turn))
        time = max(length / linear_speed, angle / angular_speed)
        if time < 1e-9:
            raise ManipDynError(f"the line from {first.position} ends where it starts")
        timing = Timing(1.0 / time, ramp, 1.0)
        self.parameters = harmonic(
            timing, first.position, first.rotation, slope=displacement, turn=turn
        )
        self.duration = timing.duration
        self.settled = timing.ramp
