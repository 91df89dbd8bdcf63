"""`TrajectoryFollower`: efforts along a joint trajectory, with path and goal tolerances.

The tolerances are those of joint_trajectory_controller 4.42.1 (ros2_controllers, branch jazzy:
`tolerances.hpp`), with two exceptions. An invalid tolerance is rejected. By default, the positions
at the goal and the time to reach it are limited, too: an arm that has stopped elsewhere has not
reached its goal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.control.computed_torque import DAMPING, STIFFNESS, ComputedTorque, JointMotion
from manip_dyn.control.joint_trajectory import Code, JointSplines, Outcome, RejectedTrajectoryError
from manip_dyn.core.checks import Vector, distinct_digits
from manip_dyn.core.errors import closest
from manip_dyn.robot import Robot

STOPPED = 0.01
"""Default tolerance of the speed at the goal, rad/s or m/s."""
AT_GOAL = 0.01
"""Default tolerance of the position at the goal, rad or m."""
GOAL_TIME = 10.0
"""Default time after the end of a trajectory within which the arm must reach the goal, s."""
UNLIMITED = -1.0
"""Tolerance that disables the check."""


class JointTolerance(NamedTuple):
    """Tolerances of one joint; 0 for the default, -1 for no limit.

    Attributes:
        name: Name of the joint.
        position: Largest position error, rad or m.
        velocity: Largest velocity error, rad/s or m/s.
    """

    name: str
    position: float = 0.0
    velocity: float = 0.0


class Bounds(NamedTuple):
    """Largest allowed errors of positions and velocities (n,); inf for no limit."""

    position: Vector
    velocity: Vector

    def violation(self, robot: Robot, q_error: Vector, v_error: Vector) -> str:
        """Return a message about the first error (n,) that exceeds its bound, or ""."""
        for quantity, errors, bounds, per in (
            ("position", q_error, self.position, ""),
            ("velocity", v_error, self.velocity, "/s"),
        ):
            beyond = ~(np.abs(errors) <= bounds)
            if beyond.any():
                i = int(beyond.argmax())
                error, bound = distinct_digits(errors[i], bounds[i], digits=4)
                return (
                    f"joint '{robot.joint_names[i]}' has the {quantity} error {error} "
                    f"{robot.unit(i)}{per}, beyond {bound}"
                )
        return ""


@dataclass(frozen=True)
class Tolerances:
    """Path and goal tolerances of a trajectory.

    Attributes:
        path: Bounds of the errors before the end of the trajectory.
        goal: Bounds of the errors from the last point, at and after the end of the trajectory.
        goal_time: Time after the end within which the arm must reach the goal, s; inf for no
            limit, 0 for the default of trajectories, `GOAL_TIME`.
    """

    path: Bounds
    goal: Bounds
    goal_time: float = 0.0

    @classmethod
    def of(
        cls,
        robot: Robot,
        path: Iterable[JointTolerance] = (),
        goal: Iterable[JointTolerance] = (),
        goal_time: float = 0.0,
    ) -> Tolerances:
        """Return the tolerances of an action goal; zeros are replaced with defaults.

        Raises:
            RejectedTrajectoryError: For an unknown joint or an invalid tolerance.
        """
        free, stopped = np.full(robot.n, np.inf), np.full(robot.n, STOPPED)
        at_goal = Bounds(np.full(robot.n, AT_GOAL), stopped)
        return cls(
            _bounds(robot, "path_tolerance", path, Bounds(free, free)),
            _bounds(robot, "goal_tolerance", goal, at_goal),
            _resolved("goal_time_tolerance", goal_time, 0.0),
        )

    def at_end(
        self, robot: Robot, late: float, q_error: Vector, v_error: Vector
    ) -> Outcome | None:
        """Return the outcome for errors (n,) `late` s after the end, or None if undecided."""
        beyond = self.goal.violation(robot, q_error, v_error)
        if not beyond:
            return Outcome(Code.SUCCESSFUL, "the arm is at the goal")
        if late > (self.goal_time or GOAL_TIME):
            sentence = f"{beyond}, {late:.4g} s after the end of the trajectory"
            return Outcome(Code.GOAL_TOLERANCE_VIOLATED, sentence)
        return None


def _bounds(
    robot: Robot, name: str, tolerances: Iterable[JointTolerance], default: Bounds
) -> Bounds:
    position, velocity = default.position.copy(), default.velocity.copy()
    for tolerance in tolerances:
        if tolerance.name not in robot.joint_names:
            hint = closest(tolerance.name, robot.joint_names)
            sentence = f"{name} has the unknown joint '{tolerance.name}'{hint}"
            raise RejectedTrajectoryError(Code.INVALID_JOINTS, sentence)
        i, joint = robot.index(tolerance.name), f"of joint '{tolerance.name}' in {name}"
        position[i] = _resolved(f"position {joint}", tolerance.position, position[i])
        velocity[i] = _resolved(f"velocity {joint}", tolerance.velocity, velocity[i])
    return Bounds(position, velocity)


def _resolved(name: str, value: float, default: float) -> float:
    if value == 0.0:
        return default
    if value == UNLIMITED:
        return np.inf
    if not 0.0 < value < np.inf:
        sentence = f"{name} must be a number above 0, 0 or -1, got {value:g}."
        raise RejectedTrajectoryError(Code.INVALID_GOAL, sentence)
    return value


class TrajectoryFollower:
    """Computed-torque control along splines, with tolerances.

    The efforts are the inverse dynamics for the accelerations of the trajectory, or the efforts of
    the trajectory, plus the feedback M(q) (K e + D de/dt) of the position error e. After the end,
    the last point is held.

    Attributes:
        splines: The motion to follow.
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
        """Set the motion, the tolerances and the feedback.

        Args:
            robot: The arm; its inertial parameters are assumed to be exact.
            splines: The motion to follow.
            tolerances: Path and goal tolerances.
            period: Time for which each effort is held, s.
            stiffness: Feedback K of the position error, 1/s^2.
            damping: Feedback D of the velocity error, 1/s.

        Raises:
            ManipDynError: If the feedback is unstable at this period.
        """
        self.splines, self._tolerances, self._robot = splines, tolerances, robot
        self._controller = ComputedTorque(robot, stiffness, damping, period)
        self._inverse_dynamics = customize(robot).unchecked.inverse_dynamics
        self._started = False

    def effort(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) for the period that starts at time `t` (s) in the state (q, v).

        The efforts are within their limits. Accelerations and efforts of the trajectory are
        evaluated at the middle of the period.
        """
        middle = t + 0.5 * self._controller.period
        start = self.splines.motion(t)
        reference = JointMotion(start.q, start.v, self.splines.motion(middle).a)
        feedforward = self.splines.effort(middle)
        if feedforward is None:
            return self._controller.efforts(q, v, reference).effort
        limit = self._robot.tau_max
        return np.clip(feedforward + self._feedback(q, v, reference), -limit, limit)

    def errors(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return position and velocity errors (n,) at time `t`, s: reference minus actual.

        Their units are rad and rad/s, or m and m/s.
        """
        reference = self.splines.motion(t)
        return reference.q - q, reference.v - v

    def outcome(self, t: float, q: Vector, v: Vector) -> Outcome | None:
        """Return the outcome at time `t` (s) in the state (q, v), or None if undecided.

        Call this method every control period. The path tolerances apply before the end and at the
        first call. The goal tolerances apply at and after the end.
        """
        ended, first = t >= self.splines.t_final, not self._started
        self._started = True
        errors = self.errors(t, q, v)
        if not ended or first:
            beyond = self._tolerances.path.violation(self._robot, *errors)
            if beyond:
                return Outcome(Code.PATH_TOLERANCE_VIOLATED, beyond)
        if not ended:
            return None
        return self._tolerances.at_end(self._robot, t - self.splines.t_final, *errors)

    def _feedback(self, q: Vector, v: Vector, reference: JointMotion) -> Vector:
        """Return the feedback efforts (n,): M(q) (K e + D de/dt)."""
        k, d = self._controller.stiffness, self._controller.damping
        a = k * (reference.q - q) + d * (reference.v - v)
        return self._inverse_dynamics(q, v, a) - self._inverse_dynamics(q, v, 0.0 * v)
