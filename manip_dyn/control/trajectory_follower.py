"""`TrajectoryFollower`: efforts along a joint trajectory, and its path and goal tolerances.

Tolerances are those of joint_trajectory_controller 4.42.1 (ros2_controllers, branch jazzy:
`tolerances.hpp` and the defaults of its parameters `constraints`), but an invalid tolerance is
rejected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.control.computed_torque import DAMPING, STIFFNESS, ComputedTorque, JointMotion
from manip_dyn.control.joint_trajectory import Code, JointSplines, Outcome, RefusedTrajectoryError
from manip_dyn.core.checks import Vector, distinct_digits
from manip_dyn.core.errors import closest
from manip_dyn.robot import Robot

STOPPED = 0.01
"""Default of the speed of an arm that has stopped, rad/s or m/s."""
ERASED = -1.0
"""The value that takes a default away."""


class JointTolerance(NamedTuple):
    """What a goal says of one joint: 0: the default; -1: none; rad or m, and per s."""

    name: str
    position: float = 0.0
    velocity: float = 0.0


class Bounds(NamedTuple):
    """Most errors of positions and velocities (n,); inf: any."""

    position: Vector
    velocity: Vector

    def violation(self, robot: Robot, q_error: Vector, v_error: Vector) -> str:
        """Return which joint has which error beyond its bound, or nothing."""
        for what, errors, bounds, per in (
            ("position", q_error, self.position, ""),
            ("velocity", v_error, self.velocity, "/s"),
        ):
            beyond = ~(np.abs(errors) <= bounds)
            if beyond.any():
                i = int(beyond.argmax())
                found, bound = distinct_digits(errors[i], bounds[i], digits=4)
                return (
                    f"joint '{robot.joint_names[i]}' has the {what} error {found} "
                    f"{robot.unit(i)}{per}, beyond {bound}"
                )
        return ""


@dataclass(frozen=True)
class Tolerances:
    """Bounds on the way and at the end.

    Attributes:
        path: Errors to the trajectory before its end.
        goal: Errors to its last point from then on.
        goal_time: Time after the end by which the arm must be there, s; 0: it may take any time.
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
        """Return what a goal asks for, defaults where it asks for nothing.

        Raises:
            RefusedTrajectoryError: If it names a joint that there is not, or a bad tolerance.
        """
        free, stopped = np.full(robot.n, np.inf), np.full(robot.n, STOPPED)
        time = _resolved("goal_time_tolerance", goal_time, np.inf)
        return cls(
            _bounds(robot, "path_tolerance", path, Bounds(free, free)),
            _bounds(robot, "goal_tolerance", goal, Bounds(free, stopped)),
            0.0 if time == np.inf else time,
        )

    def at_end(
        self, robot: Robot, late: float, q_error: Vector, v_error: Vector
    ) -> Outcome | None:
        """Return the verdict on errors (n,) `late` s after the end, or None if it is to come."""
        beyond = self.goal.violation(robot, q_error, v_error)
        if not beyond:
            return Outcome(Code.SUCCESSFUL, "the arm is at the goal")
        if 0.0 < self.goal_time < late:
            sentence = f"{beyond}, {late:.4g} s after the end of the trajectory"
            return Outcome(Code.GOAL_TOLERANCE_VIOLATED, sentence)
        return None


def _bounds(robot: Robot, what: str, given: Iterable[JointTolerance], default: Bounds) -> Bounds:
    position, velocity = default.position.copy(), default.velocity.copy()
    for each in given:
        if each.name not in robot.joint_names:
            hint = closest(each.name, robot.joint_names)
            sentence = f"{what} has the unknown joint '{each.name}'{hint}"
            raise RefusedTrajectoryError(Code.INVALID_JOINTS, sentence)
        i, of = robot.index(each.name), f"of joint '{each.name}' in {what}"
        position[i] = _resolved(f"position {of}", each.position, position[i])
        velocity[i] = _resolved(f"velocity {of}", each.velocity, velocity[i])
    return Bounds(position, velocity)


def _resolved(what: str, value: float, default: float) -> float:
    if value == 0.0:
        return default
    if value == ERASED:
        return np.inf
    if not 0.0 < value < np.inf:
        sentence = f"{what} is {value:g}; expected a number above 0, 0 or -1"
        raise RefusedTrajectoryError(Code.INVALID_GOAL, sentence)
    return value


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
