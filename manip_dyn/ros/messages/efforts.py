"""Efforts: commands and trajectories whose points hold until the next."""

from __future__ import annotations

from collections.abc import Sequence

from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.stamps import to_duration, to_nanoseconds, to_time
from manip_dyn.simulation import Schedule


def effort_command(effort: Vector) -> Float64MultiArray:
    """Return a command of efforts (n,), N m or N."""
    return Float64MultiArray(data=effort.tolist())


def efforts_from(message: Float64MultiArray, robot: Robot) -> Vector:
    """Return the efforts (n,) of a command in joint order."""
    return finite_vector("effort command", message.data, robot.n)


def schedule_from(message: JointTrajectory, robot: Robot, origin_ns: int, now_ns: int) -> Schedule:
    """Return the effort schedule of a trajectory whose points hold until the next.

    Args:
        message: Names in any order; a zero stamp means that it begins now.
        robot: The arm.
        origin_ns: The stamp at simulation time 0.
        now_ns: Simulation time.
    """
    names = list(message.joint_names)
    if sorted(names) != sorted(robot.joint_names):
        unknown = [name for name in names if name not in robot.joint_names]
        what = f"unknown joint '{unknown[0]}'" if unknown else f"joints {names}"
        raise ManipDynError(
            f"effort trajectory has {what}; expected each of {', '.join(robot.joint_names)} once"
        )
    order = [names.index(name) for name in robot.joint_names]
    stamp = to_nanoseconds(message.header.stamp)
    start = now_ns if stamp == 0 else stamp - origin_ns
    times = [start + to_nanoseconds(point.time_from_start) for point in message.points]
    efforts = [
        finite_vector(f"effort of point {k}", point.effort, robot.n)[order]
        for k, point in enumerate(message.points)
    ]
    return Schedule(robot, times, efforts)


def trajectory_from(
    robot: Robot, stamp_ns: int, rows: Sequence[tuple[float, Vector]]
) -> JointTrajectory:
    """Return times (s) and efforts, each held until the next, as a trajectory message."""
    message = JointTrajectory(joint_names=list(robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    for seconds, effort in rows:
        time = to_duration(round(seconds * 1e9))
        message.points.append(JointTrajectoryPoint(effort=effort.tolist(), time_from_start=time))
    return message
