"""Conversions of trajectories: effort schedules, waypoints and goals of the trajectory action."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manip_dyn.control.joint_trajectory import (
    Code,
    JointSplines,
    RejectedTrajectoryError,
    Waypoint,
    checked_waypoints,
)
from manip_dyn.control.trajectory_follower import JointTolerance, Tolerances
from manip_dyn.core.checks import Matrix, Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import to_duration, to_nanoseconds, to_time
from manip_dyn.ros.messages.joints import RELEASE
from manip_dyn.simulation import Schedule

if TYPE_CHECKING:
    from manip_dyn.planning.path_timing import PathTiming


MAX_POINTS = 10_000
"""Maximum number of points of a received trajectory. Converting more would take seconds."""


LONGEST_HOLD = 60.0
"""Longest time for which an effort of a schedule is held, s. The command timeout does not apply to
schedules."""


def deserialized(content: bytes, robot: Robot) -> JointTrajectory:
    """Return a serialized trajectory as a message, unless it has too many points.

    The size is checked first, because deserializing 10^5 points takes more than a second.

    Raises:
        ManipDynError: If the trajectory has more than `MAX_POINTS` points.
    """
    size_of_point = 8 * (4 * robot.n + 8)  # four arrays, their lengths, alignment and the time
    if len(content) > (MAX_POINTS + 1) * size_of_point:
        raise _too_long(f"a message of {1e-6 * len(content):.3g} MB")
    message = deserialize_message(content, JointTrajectory)
    _check_length(message)
    return message


def _check_length(message: JointTrajectory) -> None:
    if len(message.points) > MAX_POINTS:
        raise _too_long(f"{len(message.points)}")


def _too_long(got: str) -> ManipDynError:
    return ManipDynError(f"trajectory must have at most {MAX_POINTS} points, got {got}.")


def schedule_from(
    message: JointTrajectory, robot: Robot, origin_ns: int, now_ns: int
) -> tuple[Schedule, int | None]:
    """Return the effort schedule of a trajectory and its end.

    Efforts are held constant between points. A last point without efforts, after at least one
    other point, is the end.

    Args:
        message: Trajectory with the joints in any order. With a zero stamp it begins now.
        robot: The arm.
        origin_ns: Stamp of simulation time zero, ns.
        now_ns: Current simulation time, ns.

    Returns:
        The schedule, and its end in simulation time (ns), or None if its last efforts hold.

    Raises:
        ManipDynError: If joints are missing, repeated or unknown, times or efforts are invalid, or
            an effort is held for more than `LONGEST_HOLD`.
    """
    names = list(message.joint_names)
    if sorted(names) != sorted(robot.joint_names):
        unknown = [name for name in names if name not in robot.joint_names]
        shown = f"unknown joint '{unknown[0]}'" if unknown else f"{names}"
        raise ManipDynError(
            f"effort trajectory must have each of {', '.join(robot.joint_names)} once, "
            f"got {shown}."
        )
    order = [names.index(name) for name in robot.joint_names]
    stamp = to_nanoseconds(message.header.stamp)
    start = now_ns if stamp == 0 else stamp - origin_ns
    times = [start + to_nanoseconds(point.time_from_start) for point in message.points]
    points, end = message.points, None
    if len(points) > 1 and not points[-1].effort:
        points, end = points[:-1], times.pop()
        if end <= times[-1]:
            raise ManipDynError(
                f"effort trajectory must end after its last efforts at {times[-1]} ns, got an end "
                f"at {end} ns."
            )
    begins = [now_ns] if stamp == 0 else []  # `CommandedArm.check_age` checks other starts
    longest = 1e-9 * int(np.diff([*begins, *times]).max(initial=0))
    if longest > LONGEST_HOLD:
        raise ManipDynError(
            f"effort trajectory must change or repeat its efforts within {LONGEST_HOLD:g} s, got "
            f"a hold of {longest:.6g} s."
        )
    return Schedule(robot, times, _rows("effort", points, robot.n)[:, order]), end


def _rows(field: str, points: Sequence[JointTrajectoryPoint], n: int) -> Matrix:
    """Return a field of all points as an array (k, n), after checking its sizes and numbers."""
    values = [getattr(point, field) for point in points]
    if not all(len(value) == n for value in values) or not np.isfinite(values).all():
        for k, value in enumerate(values):
            finite_vector(f"{field} of point {k}", value, n)
    return np.array(values, dtype=np.float64).reshape(-1, n)


def trajectory_from(
    robot: Robot,
    stamp_ns: int,
    rows: Sequence[tuple[float, Vector]],
    end: float | None = None,
    message: JointTrajectory | None = None,
) -> JointTrajectory:
    """Return a trajectory message with efforts that are held constant between points.

    Args:
        robot: The arm.
        stamp_ns: Stamp of time zero, ns.
        rows: Times (s) and efforts (n,), N m or N.
        end: Time (s) at which the receiver must end the command. It is sent as a last point
            without efforts. Default: the last efforts hold.
        message: An earlier result, which is overwritten. The creation of points takes longer than
            everything else. Default: a new message.
    """
    message = message or JointTrajectory(joint_names=list(robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    contents = [(seconds, effort.tobytes()) for seconds, effort in rows]
    if end is not None:
        contents.append((end, b""))
    points = message.points
    del points[len(contents) :]
    points += [JointTrajectoryPoint() for _ in range(len(contents) - len(points))]
    for point, (seconds, effort) in zip(points, contents, strict=True):
        point.effort = array("d", effort)
        time = point.time_from_start
        time.sec, time.nanosec = divmod(round(seconds * 1e9), 1_000_000_000)
    return message


def release_trajectory() -> JointTrajectory:
    """Return an effort trajectory message that ends the current command."""
    message = JointTrajectory()
    message.header.frame_id = RELEASE
    return message


def is_release_trajectory(message: JointTrajectory) -> bool:
    """Return whether an effort trajectory has no points and the frame `RELEASE`."""
    return not message.points and message.header.frame_id == RELEASE


def waypoints_from(message: JointTrajectory, robot: Robot) -> Matrix:
    """Return the positions (m, n) of a trajectory as waypoints for `time_path`.

    The columns are in the robot's joint order. The other fields of the points are ignored.

    Raises:
        ManipDynError: If a joint is missing, repeated or unknown, or the positions of a point are
            not n finite numbers.
    """
    names = list(message.joint_names)
    if sorted(names) != sorted(robot.joint_names):
        raise ManipDynError(
            f"trajectory must have each of {', '.join(robot.joint_names)} once, got {names}."
        )
    order = [names.index(name) for name in robot.joint_names]
    return _rows("positions", message.points, robot.n)[:, order]


def timed_trajectory(timing: PathTiming, period: float, stamp_ns: int = 0) -> JointTrajectory:
    """Return a timed motion along a path as a trajectory message.

    Points are `period` seconds apart, with a last point at the end of the motion. They contain
    positions, velocities, accelerations and efforts. With a zero stamp, the trajectory begins
    when it is received.
    """
    message = JointTrajectory(joint_names=list(timing.robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    for time, q, v, a, effort in zip(*timing.samples(period), strict=True):
        message.points.append(
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=v.tolist(),
                accelerations=a.tolist(),
                effort=effort.tolist(),
                time_from_start=to_duration(round(float(time) * 1e9)),
            )
        )
    return message


LARGEST_LEAD = 60.0
"""Longest time from now to the start of a trajectory, s."""


class TrajectoryGoal(NamedTuple):
    """A requested trajectory.

    Attributes:
        stamp_ns: Start of the trajectory in the time of joint_states, ns; 0: now.
        waypoints: Waypoints in the robot's joint order.
        tolerances: Tolerances of the path, the goal and the arrival time.
    """

    stamp_ns: int
    waypoints: list[Waypoint]
    tolerances: Tolerances

    def start_ns(self, now_ns: int) -> int:
        """Return the stamp (ns) at which the trajectory begins.

        Args:
            now_ns: Current stamp of joint_states, ns.

        Raises:
            RejectedTrajectoryError: If the trajectory has already ended, or begins more than
                `LARGEST_LEAD` from now.
        """
        start = self.stamp_ns or now_ns
        ahead, end = 1e-9 * (start - now_ns), 1e-9 * (start + self.waypoints[-1].time_ns - now_ns)
        if end < 0.0:
            sentence = f"trajectory must end in the future, got an end {-end:.3f} s ago."
            raise RejectedTrajectoryError(Code.OLD_HEADER_TIMESTAMP, sentence)
        if ahead > LARGEST_LEAD:
            sentence = (
                f"trajectory must begin within {LARGEST_LEAD:g} s, in the time of joint_states, "
                f"got {ahead:.3f} s."
            )
            raise RejectedTrajectoryError(Code.INVALID_GOAL, sentence)
        return start

    def checked_motion(self, robot: Robot, stamp_ns: int, q: Vector, v: Vector) -> JointSplines:
        """Return the motion of an arm that begins the trajectory at a measured state.

        Args:
            robot: The arm.
            stamp_ns: Stamp of the state, ns.
            q: Positions (n,), rad or m.
            v: Velocities (n,), rad/s or m/s.

        Raises:
            RejectedTrajectoryError: If the trajectory has already ended or begins too late, or a
                joint exceeds a position or speed limit during the trajectory.
        """
        elapsed = 1e-9 * (stamp_ns - self.start_ns(stamp_ns))
        splines = JointSplines(robot, self.waypoints, elapsed, q, v)
        splines.check_limits(robot)
        return splines


def goal_from_trajectory(message: JointTrajectory, robot: Robot) -> TrajectoryGoal:
    """Return the goal of a trajectory message, with default tolerances.

    Raises:
        RejectedTrajectoryError: If the trajectory is invalid for the robot.
    """
    try:
        _check_length(message)
    except ManipDynError as error:
        raise RejectedTrajectoryError(Code.INVALID_GOAL, str(error)) from error
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
    """Return the goal of a request of the action control_msgs/action/FollowJointTrajectory.

    Raises:
        RejectedTrajectoryError: If the trajectory or a tolerance is invalid for the robot.
    """
    if request.multi_dof_trajectory.points:
        sentence = "goal must have joints only, got a multi_dof_trajectory."
        raise RejectedTrajectoryError(Code.INVALID_GOAL, sentence)
    goal = goal_from_trajectory(request.trajectory, robot)
    tolerances = Tolerances.of(
        robot,
        [
            JointTolerance(tolerance.name, tolerance.position, tolerance.velocity)
            for tolerance in request.path_tolerance
        ],
        [
            JointTolerance(tolerance.name, tolerance.position, tolerance.velocity)
            for tolerance in request.goal_tolerance
        ],
        1e-9 * to_nanoseconds(request.goal_time_tolerance),
    )
    return goal._replace(tolerances=tolerances)


def trajectory_point(
    t: float, q: Vector, v: Vector, a: Vector | None = None
) -> JointTrajectoryPoint:
    """Return a trajectory point at time `t`, s, with positions, velocities and accelerations (n,).

    Without `a`, the point has no accelerations.
    """
    return JointTrajectoryPoint(
        time_from_start=to_duration(round(1e9 * t)),
        positions=q.tolist(),
        velocities=v.tolist(),
        accelerations=[] if a is None else a.tolist(),
    )
