"""Joint states, goals, commands and energies as messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from manip_dyn.control.joint_drives import References
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import to_time

if TYPE_CHECKING:
    from manip_dyn.simulation import Energy


def joint_state(
    robot: Robot, stamp_ns: int, q: Vector, v: Vector, effort: Sequence[float] = ()
) -> JointState:
    """Return a joint state message; positions rad or m, efforts N m or N."""
    message = JointState(name=list(robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    message.position, message.velocity, message.effort = q.tolist(), v.tolist(), list(effort)
    return message


def in_joint_order(message: JointState, robot: Robot, field: str) -> Vector:
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


def goal_from_message(message: JointState, robot: Robot, here: Vector) -> Vector:
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


COMMAND_FIELDS = ("position", "velocity", "effort")


def references_from(message: JointState, robot: Robot) -> References | None:
    """Return what a message tells the joints, in joint order; None if it tells nothing yet.

    NaN is what ros2_control has for a command that no controller has claimed: this joint is not
    told this.

    Args:
        message: Names in any order, perhaps not all; arrays of one number per name, or none.
        robot: The arm.

    Raises:
        ManipDynError: If names are missing, unknown or repeated, an array has another length, a
            number is infinite, or a joint is told an effort beside a position or velocity.
    """
    places = [_joint_index(name, robot) for name in message.name]
    if not places or len(set(places)) < len(places):
        raise ManipDynError(
            f"joint command has the names {list(message.name)}; expected each joint at most once, "
            "at least one"
        )
    if not any(len(getattr(message, field)) for field in COMMAND_FIELDS):
        raise ManipDynError("joint command has no numbers; expected positions, or efforts, ...")
    told = References(*(np.full(robot.n, np.nan) for _ in COMMAND_FIELDS))
    for field, values in zip(COMMAND_FIELDS, told, strict=True):
        given = np.asarray(getattr(message, field), dtype=np.float64)
        if len(given) not in (0, len(places)):
            raise ManipDynError(
                f"joint command has {len(places)} names and {len(given)} of {field}; expected as "
                "many of both, or none (NaN where a joint is not told this)"
            )
        if np.isinf(given).any():
            raise ManipDynError(f"{field} of a joint command is {given.tolist()}; expected no inf")
        if len(given):
            values[places] = given
    _check_one_kind(told, robot)
    return None if told.unset.all() else told


def _joint_index(name: str, robot: Robot) -> int:
    if name not in robot.joint_names:
        hint = closest(name, robot.joint_names)
        raise ManipDynError(f"joint command has the unknown joint '{name}'{hint}")
    return robot.joint_names.index(name)


def _check_one_kind(told: References, robot: Robot) -> None:
    moved = ~(np.isnan(told.position) & np.isnan(told.velocity))
    for joint in np.flatnonzero(moved & ~np.isnan(told.effort)):
        raise ManipDynError(
            f"joint command has an effort and a position or velocity for "
            f"'{robot.joint_names[joint]}'; expected the effort alone, or the others"
        )


def effort_command(effort: Vector) -> Float64MultiArray:
    """Return a command of efforts (n,), N m or N."""
    return Float64MultiArray(data=effort.tolist())


def efforts_from(message: Float64MultiArray, robot: Robot) -> Vector:
    """Return the efforts (n,) of a command in joint order."""
    return finite_vector("effort command", message.data, robot.n)


def energy_message(energy: Energy) -> Float64MultiArray:
    """Return energies, J, with their names as the label of the only dimension."""
    names = ",".join(f"{name} [J]" for name in energy._fields)
    size = len(energy)
    label = MultiArrayDimension(label=names, size=size, stride=size)
    return Float64MultiArray(layout=MultiArrayLayout(dim=[label]), data=list(energy))
