"""Observer of an arm by its joint states: limits, speed and brake."""

from __future__ import annotations

import numpy as np

import manip_dyn as md
from manip_dyn.control import Brake

SAME = 1e-6
"""Relative difference of efforts that are the same."""


class Witness:
    """Extremes of an arm's motion since the last call of `begin`.

    An arm is braked if its efforts are those of the brake in two consecutive states. The kinetic
    energy of a braked arm must not rise.

    Attributes:
        beyond: The largest distance of a joint beyond its limits, rad or m.
        speed: The highest speed of a joint, rad/s or m/s.
        rise: The largest rise of the kinetic energy between two braked states, J.
        count: Number of states.
    """

    def __init__(self, robot: md.Robot):
        """Create a witness of a robot."""
        self._robot, self._kernels = robot, md.customize(robot)
        self._brake = Brake(self._kernels)
        self.begin()

    def begin(self) -> None:
        """Restart the observation."""
        self.beyond = self.speed = self.rise = 0.0
        self.count, self._braked, self._energy = 0, False, 0.0
        self._newest_ns = 0

    def see(self, message) -> None:
        """Process a joint state."""
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        if stamp == self._newest_ns or not len(message.effort):
            return
        q, v, effort = map(np.array, (message.position, message.velocity, message.effort))
        low, high = self._robot.q_min, self._robot.q_max
        beyond = float(np.maximum(low - q, q - high).max())
        energy = 0.5 * v @ self._kernels.mass_matrix(q) @ v
        braking = self._brake.effort(0, q, v)
        braked = bool(np.abs(effort - braking).max() <= SAME * self._robot.tau_max.max())
        continues = stamp > self._newest_ns and beyond <= 0.0
        if braked and self._braked and continues:
            self.rise = max(self.rise, float(energy - self._energy))
        self.beyond = max(self.beyond, beyond)
        self.speed = max(self.speed, float(np.abs(v).max()))
        self._braked, self._energy, self._newest_ns = braked, float(energy), stamp
        self.count += 1
