"""Joint trajectories to be followed: read from messages, and told of in feedback."""

from __future__ import annotations

from typing import Any, NamedTuple

from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manip_dyn.control.joint_trajectory import (
    Code,
    JointTolerance,
    RefusedTrajectoryError,
    Tolerances,
    Waypoint,
    checked_waypoints,
)
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.stamps import to_duration, to_nanoseconds

MOST_AHEAD = 60.0
"""How far ahead a trajectory may begin, s."""


class TrajectoryGoal(NamedTuple):
    """A trajectory that was asked for.

    Attributes:
        stamp_ns: When it begins, on the time line of joint_states; 0: now.
        waypoints: In the robot's joint order.
        tolerances: Those that were asked for.
    """

    stamp_ns: int
    waypoints: list[Waypoint]
    tolerances: Tolerances

    def start_ns(self, now_ns: int) -> int:
        """Return the stamp at which it begins, if it may be followed from the stamp `now_ns` on.

        Raises:
            RefusedTrajectoryError: If it is over by then, or begins far ahead.
        """
        start = self.stamp_ns or now_ns
        ahead, end = 1e-9 * (start - now_ns), 1e-9 * (start + self.waypoints[-1].time_ns - now_ns)
        if end < 0.0:
            sentence = f"the trajectory ended {-end:.3f} s ago; expected one that is not over"
            raise RefusedTrajectoryError(Code.OLD_HEADER_TIMESTAMP, sentence)
        if ahead > MOST_AHEAD:
            sentence = (
                f"the trajectory begins in {ahead:.3f} s; expected at most {MOST_AHEAD:g} s, on "
                "the time line of joint_states"
            )
            raise RefusedTrajectoryError(Code.INVALID_GOAL, sentence)
        return start


def goal_from_trajectory(message: JointTrajectory, robot: Robot) -> TrajectoryGoal:
    """Return the goal of a trajectory message, with default tolerances.

    Raises:
        RefusedTrajectoryError: If it cannot be followed.
    """
    points = [
        Waypoint(
            to_nanoseconds(point.time_from_start),
            point.positions,
            point.velocities,
            point.accelerations,
            point.effort,
        )
        for point in message.points
    ]
    waypoints = checked_waypoints(robot, message.joint_names, points)
    return TrajectoryGoal(to_nanoseconds(message.header.stamp), waypoints, Tolerances.of(robot))


def goal_from_action(request: Any, robot: Robot) -> TrajectoryGoal:
    """Return the goal of a control_msgs/action/FollowJointTrajectory.

    Raises:
        RefusedTrajectoryError: If it cannot be followed.
    """
    if request.multi_dof_trajectory.points:
        sentence = "the goal has a multi_dof_trajectory; expected joints alone"
        raise RefusedTrajectoryError(Code.INVALID_GOAL, sentence)
    goal = goal_from_trajectory(request.trajectory, robot)
    tolerances = Tolerances.of(
        robot,
        [
            JointTolerance(each.name, each.position, each.velocity)
            for each in request.path_tolerance
        ],
        [
            JointTolerance(each.name, each.position, each.velocity)
            for each in request.goal_tolerance
        ],
        1e-9 * to_nanoseconds(request.goal_time_tolerance),
    )
    return goal._replace(tolerances=tolerances)


def trajectory_point(
    t: float, q: Vector, v: Vector, a: Vector | None = None
) -> JointTrajectoryPoint:
    """Return a point at `t` s; positions, velocities and accelerations (n,)."""
    return JointTrajectoryPoint(
        time_from_start=to_duration(round(1e9 * t)),
        positions=q.tolist(),
        velocities=v.tolist(),
        accelerations=[] if a is None else a.tolist(),
    )
