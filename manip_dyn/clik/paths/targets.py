"""Targets that move while the arm follows them.

A smooth target moves towards its goal at the speed k e for small errors e. For large errors the
speed is about sqrt(2 a e), so that a constant deceleration a stops the target at the goal. Speed
and acceleration are bounded. The distance between the desired pose and the tool is limited by a
leash. The arm therefore approaches an unreachable goal as closely as possible, and reverses
towards a new goal without delay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.poses import Pose, checked_pose, task_error
from manip_dyn.clik.paths.path import Path, Timing, harmonic
from manip_dyn.core.checks import Vector, finite, finite_vector, positive


class Target(Path):
    """A desired pose that moves with a constant twist in the base frame.

    `set` changes both while a follower runs.
    """

    def __init__(self, pose: tuple[ArrayLike, ArrayLike], twist: ArrayLike = (0.0,) * 6):
        """Start at a pose (position (3,), m, and orientation) with a twist (6,)."""
        self.parameters = harmonic(Timing(1.0), np.zeros(3), np.eye(3))
        self.set(pose, twist)

    def set(
        self,
        pose: tuple[ArrayLike, ArrayLike],
        twist: ArrayLike = (0.0,) * 6,
        t: float = 0.0,
    ) -> None:
        """Set the pose at a path time, and the constant twist, both in the base frame.

        Args:
            pose: Position (3,), m, and orientation: a rotation matrix (3, 3) or a quaternion x, y,
                z, w (4,).
            twist: Linear and angular velocity (6,), m/s and rad/s.
            t: Path time at which the target has this pose, s.

        Raises:
            ManipDynError: If an argument is invalid. The target is then unchanged.
        """
        t = finite("t", t, "s")
        start: Pose = checked_pose("target", pose)
        velocity = finite_vector("target twist", twist, 6)
        linear, angular = velocity[:3], velocity[3:]
        from scipy.spatial.transform import Rotation  # slow to load

        back = Rotation.from_rotvec(-t * angular).as_matrix()
        self.parameters[:] = harmonic(
            Timing(1.0), start.position - t * linear, back @ start.rotation, linear, turn=angular
        )


RATE = 8.0
"""Rate k at which small errors decay, 1/s; lower for long steps."""


class TargetBounds(NamedTuple):
    """Bounds of the motion of a smooth target.

    Attributes:
        linear_speed: Largest speed of the desired position, m/s.
        angular_speed: Largest angular speed of the desired orientation, rad/s.
        linear_acceleration: Largest acceleration, m/s^2.
        angular_acceleration: Largest angular acceleration, rad/s^2.
        linear_leash: Largest distance of the desired position from the tool, m.
        angular_leash: Largest angle between the desired orientation and the tool, rad.
    """

    linear_speed: float = 0.25
    angular_speed: float = 1.0
    linear_acceleration: float = 1.0
    angular_acceleration: float = 4.0
    linear_leash: float = 0.05
    angular_leash: float = 0.2


class SmoothTarget(Target):
    """A target that moves smoothly to a goal, which may move with a constant twist.

    Attributes:
        goal: Goal pose.
        goal_twist: Twist (6,) of the goal, m/s and rad/s, base frame.
        bounds: Bounds of speed, acceleration and distance from the tool.
    """

    def __init__(self, pose: tuple[ArrayLike, ArrayLike], bounds: TargetBounds | None = None):
        """Start at rest at a pose, which is also the first goal."""
        super().__init__(pose)
        self.bounds = bounds or TargetBounds()
        for name, value in self.bounds._asdict().items():
            positive(name, value)
        self.begin(self.pose(0.0), 0.0)

    def begin(self, pose: Pose, t: float) -> None:
        """Set the target and its goal to a pose, at rest, at path time `t` (s)."""
        self.goal, self.goal_twist = pose, np.zeros(6)
        self.set(pose, t=t)

    def aim(self, pose: tuple[ArrayLike, ArrayLike]) -> None:
        """Set the goal pose. Invalid values raise `ManipDynError` and leave it unchanged."""
        self.goal = checked_pose("target", pose)

    def drift(self, twist: ArrayLike) -> None:
        """Set the twist (6,) of the goal, m/s and rad/s, in the base frame."""
        self.goal_twist = finite_vector("target twist", twist, 6)

    def advance(self, t: float, step: float, tool: Pose) -> None:
        """Set the desired pose and twist for the next step, and move the goal.

        Args:
            t: Path time at the start of the step, s.
            step: Duration of the step, s.
            tool: Pose of the tool.
        """
        here = self._leashed(self.pose(t), tool)
        velocity = self.twist(t)
        bounds = self.bounds
        error = task_error(self.goal, here, "log")
        for part, speed, acceleration in (
            (slice(0, 3), bounds.linear_speed, bounds.linear_acceleration),
            (slice(3, 6), bounds.angular_speed, bounds.angular_acceleration),
        ):
            rate = min(RATE, 0.5 / step)
            desired = self.goal_twist[part] + _approach_velocity(error[part], rate, acceleration)
            change = _bounded(desired, speed) - velocity[part]
            velocity[part] += _bounded(change, acceleration * step)
        self.set(here, velocity, t)
        self._move_goal(step, here)

    def _move_goal(self, step: float, here: Pose) -> None:
        """Move the goal according to its twist, within the leash."""
        if not self.goal_twist.any():
            return
        goal = displaced(self.goal, self.goal_twist * step)
        self.goal = self._leashed(goal, here)

    def _leashed(self, pose: Pose, anchor: Pose) -> Pose:
        """Return `pose`, or the nearest pose within the leash from `anchor`."""
        ahead = task_error(pose, anchor, "log")
        leash = np.array([self.bounds.linear_leash, self.bounds.angular_leash])
        lengths = np.array([np.linalg.norm(ahead[:3]), np.linalg.norm(ahead[3:])])
        if np.all(lengths <= leash):
            return pose
        fraction = np.minimum(1.0, leash / np.maximum(lengths, 1e-12))
        return displaced(anchor, ahead * np.repeat(fraction, 3))


def displaced(pose: Pose, displacement: Vector) -> Pose:
    """Return `pose` displaced by a translation and a rotation vector (6,) in the base frame."""
    from scipy.spatial.transform import Rotation  # slow to load

    turn = Rotation.from_rotvec(displacement[3:]).as_matrix()
    return Pose(pose.position + displacement[:3], turn @ pose.rotation)


def _approach_velocity(error: Vector, rate: float, acceleration: float) -> Vector:
    """Return the velocity (3,) towards a goal at distance `error` (3,), see the module docstring.

    `rate` is k, 1/s, and `acceleration` the deceleration a.
    """
    distance = float(np.linalg.norm(error))
    if rate * rate * distance <= acceleration:
        return rate * error
    near = 0.5 * acceleration / rate**2
    return error * (np.sqrt(2.0 * acceleration * (distance - near)) / distance)


def _bounded(vector: Vector, length: float) -> Vector:
    """Return `vector`, shortened to at most `length`."""
    size = float(np.linalg.norm(vector))
    return vector if size <= length else vector * (length / size)
