"""Between messages and arrays: checks of what comes in, stamps, latched topics."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Duration, Time
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError, closest
from manip_dyn.robot import Robot, load_robot
from manip_dyn.simulation import Schedule
from manip_dyn.validate import Vector, finite_vector

LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
EVERY_MESSAGE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)
NEWEST_ONLY = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)


def load_robot_from_parameters(values: dict[str, object], *kernels: str) -> Robot:
    """Return the robot that ``robot``, ``lock`` and ``tip`` name; compile kernels of it."""
    lock = {}
    for entry in filter(None, (part.strip() for part in str(values["lock"]).split(","))):
        joint, _, position = entry.partition("=")
        try:
            lock[joint.strip()] = float(position)
        except ValueError as error:
            raise ManipDynError(
                f"parameter 'lock' has the entry '{entry}'; expected JOINT=POSITION"
            ) from error
    robot = load_robot(
        str(values["robot"]), lock, str(values["tip"]) or None, values.get("mass_scale", 1.0)
    )
    if kernels:  # without names, all of them would be compiled
        customize(robot).in_place.compile(*kernels)
    return robot


def joint_array(name: str, values: object, robot: Robot) -> Vector:
    """Return a parameter's list as (n,), zeros where the list is empty."""
    return finite_vector(name, values, robot.n) if len(values) else np.zeros(robot.n)


def to_time(nanoseconds: int) -> Time:
    """Return a time message."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


def to_nanoseconds(stamp: Time | Duration) -> int:
    """Return a time or duration message in nanoseconds."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def joint_state(robot: Robot, stamp_ns: int, q: Vector, v: Vector, effort=()) -> JointState:
    """Return a joint state message; positions rad or m, efforts N m or N."""
    message = JointState(name=list(robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    message.position, message.velocity, message.effort = q.tolist(), v.tolist(), list(effort)
    return message


def by_name(message: JointState, robot: Robot, field: str) -> Vector:
    """Return a field of a joint state in the robot's joint order; joints not its own are skipped.

    Raises:
        ManipDynError: If a joint is missing, or the field has another length than the names.
    """
    values = getattr(message, field)
    if len(values) != len(message.name):
        raise ManipDynError(
            f"joint state has {len(message.name)} names and {len(values)} of {field}; "
            "expected as many of both"
        )
    place = {name: i for i, name in enumerate(message.name)}
    missing = [name for name in robot.joint_names if name not in place]
    if missing:
        raise ManipDynError(
            f"joint state lacks joint '{missing[0]}' of '{robot.name}'"
            f"{closest(missing[0], message.name)}"
        )
    return finite_vector(field, [values[place[name]] for name in robot.joint_names], robot.n)


def goal_from(message: JointState, robot: Robot, here: Vector) -> Vector:
    """Return the goal (n,) of all joints; those that the message leaves out stay at `here`."""
    if len(message.position) != len(message.name) or not message.name:
        raise ManipDynError(
            f"goal has {len(message.name)} names and {len(message.position)} positions; "
            "expected as many of both, at least one"
        )
    if len(set(message.name)) < len(message.name):
        raise ManipDynError(f"goal names are {list(message.name)}; expected each joint once")
    goal = here.copy()
    for name, position in zip(message.name, message.position, strict=True):
        if name not in robot.joint_names:
            hint = closest(name, robot.joint_names)
            raise ManipDynError(f"goal has the unknown joint '{name}'{hint}")
        goal[robot.index(name)] = position
    goal = finite_vector("goal", goal, robot.n)
    robot.check_within_limits("goal", goal)
    return goal


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


def trajectory_from(robot: Robot, stamp_ns: int, rows: list[tuple[float, Vector]]):
    """Return times (s) and efforts, each held until the next, as a trajectory message."""
    message = JointTrajectory(joint_names=list(robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    for seconds, effort in rows:
        whole, rest = divmod(round(seconds * 1e9), 1_000_000_000)
        point = JointTrajectoryPoint(effort=effort.tolist())
        point.time_from_start = Duration(sec=whole, nanosec=rest)
        message.points.append(point)
    return message
