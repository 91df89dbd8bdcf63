"""Joint states: made, and read in a robot's joint order."""

from __future__ import annotations

from collections.abc import Sequence

from sensor_msgs.msg import JointState

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.stamps import to_time


def joint_state(
    robot: Robot, stamp_ns: int, q: Vector, v: Vector, effort: Sequence[float] = ()
) -> JointState:
    """Return a joint state message; positions rad or m, efforts N m or N."""
    message = JointState(name=list(robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    message.position, message.velocity, message.effort = q.tolist(), v.tolist(), list(effort)
    return message


def by_name(message: JointState, robot: Robot, field: str) -> Vector:
    """Return a field of a joint state in the robot's joint order; joints not its own are skipped.

    Raises:
        ManipDynError: If a joint is missing or named twice, or the field has another length than
            the names.
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
    twice = [name for name in robot.joint_names if message.name.count(name) > 1]
    if twice:
        raise ManipDynError(f"joint state names joint '{twice[0]}' twice; expected it once")
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
