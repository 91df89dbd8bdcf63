"""What joints are told: positions, velocities, efforts, each joint by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot


class References(NamedTuple):
    """What the joints are told, NaN where they are not told this.

    A joint follows its position, its velocity, or its position on the way with its velocity; or it
    has an effort; or it is told nothing.

    Attributes:
        position: (n,), rad or m.
        velocity: (n,), rad/s or m/s.
        effort: (n,), N m or N.
    """

    position: Vector
    velocity: Vector
    effort: Vector

    @property
    def untold(self) -> NDArray[np.bool_]:
        """Which joints are told nothing (n,)."""
        return np.isnan(self.position) & np.isnan(self.velocity) & np.isnan(self.effort)

    def held_at(self, q: Vector) -> References:
        """Return them with a position q (n,) for each joint that is told nothing."""
        return self._replace(position=np.where(self.untold, q, self.position))

    def within_limits(self, robot: Robot) -> References:
        """Return them, cut off at the limits of position, speed and effort."""
        return References(
            np.clip(self.position, robot.q_min, robot.q_max),
            np.clip(self.velocity, -robot.v_max, robot.v_max),
            np.clip(self.effort, -robot.tau_max, robot.tau_max),
        )
