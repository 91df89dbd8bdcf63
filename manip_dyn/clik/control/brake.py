"""A brake: gravity compensation minus damping, which slows an arm from any speed.

tau = g(q) - D v within the limits, D diagonal. Where the limits can hold the arm, what each joint
gets beyond g(q) has the sign of -v, cut or not: the kinetic energy T only falls,
dT/dt = v (tau - g) <= 0 (passivity; Takegaki, Arimoto 1981; Siciliano et al., Robotics, section
8.5.1). Inverse dynamics at 200 rad/s, cut joint by joint, has no such bound.

D_i = k m_i with the inertia m_i = 1 / (M^-1)_ii that joint i has while the others are free. Then
M^-1 D has eigenvalues between 0 and k n, and efforts held for a period h are stable for k n h < 2.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, positive
from manip_dyn.robot import Robot

RATE = 20.0
"""k where the period allows it, 1/s."""


class Brake:
    """The brake of one arm; its inertial parameters are taken for true."""

    def __init__(self, robot: Robot, period: float):
        """Take the arm and how long each effort is held, s."""
        self._robot = robot
        self._rate = min(RATE, 1.0 / (robot.n * positive("period", period, "s")))
        self._inverse_dynamics = customize(robot).in_place.inverse_dynamics

    def effort(self, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,), N m or N, at positions and velocities (n,)."""
        n, zero = self._robot.n, np.zeros(self._robot.n)
        rows = np.empty((n + 1, n))
        for row, acceleration in zip(rows, (zero, *np.eye(n)), strict=True):
            self._inverse_dynamics(q, zero, acceleration, row)
        gravity, mass = rows[0], rows[1:] - rows[0]
        free = 1.0 / np.diag(np.linalg.inv(mass))
        limit = self._robot.tau_max
        return np.clip(np.clip(gravity, -limit, limit) - self._rate * free * v, -limit, limit)
