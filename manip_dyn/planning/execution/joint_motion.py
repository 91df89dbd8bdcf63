"""Dynamics of one joint with the other joints locked: a single degree of freedom."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot


class JointMotion:
    """Dynamics I q'' = tau - load(q) - d q' of one joint with the others at rest.

    The inertia I = M_ii does not depend on q_i. Therefore the velocity term 1/2 dM_ii/dq_i q'^2
    (Christoffel symbol of the first kind) is zero. `full_efforts` hold the other joints at rest
    (Fan 2003, eqs. 6.53 and 6.55, generalized to any arm).
    """

    def __init__(self, robot: Robot, joint: int, posture: Vector):
        """Lock all joints except `joint` at `posture` (n,), rad or m."""
        self.robot = robot
        self.joint = joint
        self._kernels = customize(robot).unchecked
        self._posture = posture.copy()
        self._zero = np.zeros(robot.n)
        self._others = np.array([i for i in range(robot.n) if i != joint], dtype=int)
        self.inertia = float(self._kernels.mass_matrix(posture)[joint, joint])
        self.damping = float(robot.damping[joint])

    def load(self, q: float) -> float:
        """Return the effort that holds the joint at rest at position `q`."""
        return float(
            self._kernels.inverse_dynamics(self._at(q), self._zero, self._zero)[self.joint]
        )

    def acceleration(self, q: float, v: float, effort: float) -> float:
        """Return the acceleration of the joint at position `q` and velocity `v` for `effort`."""
        return (effort - self.load(q) - self.damping * v) / self.inertia

    def derivative(self, effort: float, direction: float = 1.0):
        """Return the right-hand side of the equations of motion for the state (q, v).

        Args:
            effort: Constant effort of the joint.
            direction: 1, or -1 for integration backwards in time.
        """

        def rhs(_t: float, y: Vector) -> Vector:
            return direction * np.array([y[1], self.acceleration(y[0], y[1], effort)])

        return rhs

    def propagate(self, q: float, v: float, effort: float, duration: float) -> tuple[float, float]:
        """Return position and velocity after one Runge-Kutta step of `duration` seconds.

        This is the step of `rk4_step`, written for scalars.
        """
        half = 0.5 * duration
        a = self.acceleration(q, v, effort)
        v2 = v + half * a
        a2 = self.acceleration(q + half * v, v2, effort)
        v3 = v + half * a2
        a3 = self.acceleration(q + half * v2, v3, effort)
        v4 = v + duration * a3
        a4 = self.acceleration(q + duration * v3, v4, effort)
        sixth = duration / 6.0
        q = q + sixth * (v + 2.0 * (v2 + v3) + v4)
        return float(q), float(v + sixth * (a + 2.0 * (a2 + a3) + a4))

    def full_efforts(
        self, q: Vector, v: Vector, effort: float, held_acceleration: Vector
    ) -> Vector:
        """Return the efforts (n,) that drive the joint with `effort` and hold the others.

        Args:
            q: Positions (n,) of all joints.
            v: Velocities (n,) of all joints.
            effort: Effort of the driven joint.
            held_acceleration: Desired accelerations (n,) of the held joints. The entry of the
                driven joint is ignored.
        """
        i, others = self.joint, self._others
        mass = self._kernels.mass_matrix(q)
        bias = self._kernels.inverse_dynamics(q, v, self._zero)
        a = held_acceleration.copy()
        a[i] = (effort - bias[i] - mass[i, others] @ a[others]) / mass[i, i]
        efforts = mass @ a + bias
        efforts[i] = effort
        return efforts

    def _at(self, q: float) -> Vector:
        posture = self._posture.copy()
        posture[self.joint] = q
        return posture
