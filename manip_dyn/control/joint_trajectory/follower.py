"""`TrajectoryFollower`: efforts along a joint trajectory, and a verdict by its tolerances."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.control.computed_torque import DAMPING, STIFFNESS, ComputedTorque, JointMotion
from manip_dyn.control.joint_trajectory.outcome import Code, Outcome
from manip_dyn.control.joint_trajectory.splines import JointSplines
from manip_dyn.control.joint_trajectory.tolerances import Tolerances
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot


class TrajectoryFollower:
    """Computed torque along splines, by tolerances.

    The efforts are those that the model needs for the trajectory's accelerations, or the ones that
    the trajectory has, and feedback on top: M(q) (K e + D e'). From the end on the last point is
    held.

    Attributes:
        splines: What is followed.
    """

    def __init__(
        self,
        robot: Robot,
        splines: JointSplines,
        tolerances: Tolerances,
        period: float,
        stiffness: float = STIFFNESS,
        damping: float = DAMPING,
    ):
        """Take what to follow, and how.

        Args:
            robot: The arm; its inertial parameters are taken for true.
            splines: What to follow.
            tolerances: What it may be off.
            period: How long each effort is held, s.
            stiffness: Acceleration per position error, 1/s^2.
            damping: Acceleration per velocity error, 1/s.

        Raises:
            ManipDynError: If the feedback is unstable at this period.
        """
        self.splines, self._tolerances, self._robot = splines, tolerances, robot
        self._controller = ComputedTorque(robot, stiffness, damping, period)
        self._inverse_dynamics = customize(robot).unchecked.inverse_dynamics
        self._begun = False

    def effort(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return what acts for the period that begins at `t` s, at positions and velocities (n,).

        The efforts (n,) are within their limits. Accelerations, and efforts that are given, are
        those of the period's middle.
        """
        middle = t + 0.5 * self._controller.period
        wanted = self.splines.motion(t)
        wanted = JointMotion(wanted.q, wanted.v, self.splines.motion(middle).a)
        given = self.splines.effort(middle)
        if given is None:
            return self._controller.efforts(q, v, wanted).effort
        limit = self._robot.tau_max
        return np.clip(given + self._feedback(q, v, wanted), -limit, limit)

    def errors(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return what positions and velocities (n,) lack at `t` s: wanted minus actual."""
        wanted = self.splines.motion(t)
        return wanted.q - q, wanted.v - v

    def outcome(self, t: float, q: Vector, v: Vector) -> Outcome | None:
        """Return how the following ends at `t` s and positions and velocities (n,), if it does.

        To be asked every control period. The tolerances of the way hold before the end, and
        whenever it is asked for the first time; those of the goal from the end on.
        """
        over, first = t >= self.splines.t_final, not self._begun
        self._begun = True
        errors = self.errors(t, q, v)
        if not over or first:
            beyond = self._tolerances.path.violation(self._robot, *errors)
            if beyond:
                return Outcome(Code.PATH_TOLERANCE_VIOLATED, beyond)
        if not over:
            return None
        return self._tolerances.at_end(self._robot, t - self.splines.t_final, *errors)

    def _feedback(self, q: Vector, v: Vector, wanted: JointMotion) -> Vector:
        """Return M(q) (K e + D e'), (n,)."""
        k, d = self._controller.stiffness, self._controller.damping
        asked = k * (wanted.q - q) + d * (wanted.v - v)
        return self._inverse_dynamics(q, v, asked) - self._inverse_dynamics(q, v, 0.0 * v)
