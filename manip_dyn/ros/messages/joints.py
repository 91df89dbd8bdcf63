"""Conversions of joint states, goals, commands and energies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

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
    """Return a joint state message.

    Args:
        robot: The arm.
        stamp_ns: Stamp, ns.
        q: Positions (n,), rad or m.
        v: Velocities (n,), rad/s or m/s.
        effort: Efforts (n,), N m or N, or empty.
    """
    message = JointState(name=list(robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    message.position, message.velocity, message.effort = q.tolist(), v.tolist(), list(effort)
    return message


def in_joint_order(
    message: JointState, robot: Robot, field: str, joints: Sequence[str] = ()
) -> Vector:
    """Return a field (k,), such as "position", of a joint state in the order of the joints.

    Other joints in the message are ignored.

    Args:
        message: The joint state.
        robot: The arm.
        field: Name of the field.
        joints: Names of k joints of the arm. Default: all its joints, in their order.

    Raises:
        ManipDynError: If one of the joints is missing or named twice, its value is not finite, or
            the number of values differs from the number of names.
    """
    values, joints = getattr(message, field), joints or robot.joint_names
    if len(values) != len(message.name):
        raise ManipDynError(
            f"joint state must have one {field} for each of its {len(message.name)} names, got "
            f"{len(values)}."
        )
    index = {name: i for i, name in enumerate(message.name)}
    missing = [name for name in joints if name not in index]
    if missing:
        raise ManipDynError(
            f"joint state must have joint '{missing[0]}' of '{robot.name}'"
            f"{closest(missing[0], message.name)}"
        )
    twice = [name for name in joints if message.name.count(name) > 1]
    if twice:
        raise ManipDynError(f"joint state must name joint '{twice[0]}' once, got it twice.")
    return finite_vector(field, [values[index[name]] for name in joints], len(joints))


def goal_from_message(message: JointState, robot: Robot, q: Vector) -> Vector:
    """Return the goal (n,) of all joints. Joints without a goal remain at their position in `q`.

    Raises:
        ManipDynError: If the goal is malformed, names an unknown joint or exceeds a limit.
    """
    if len(message.position) != len(message.name) or not message.name:
        raise ManipDynError(
            f"goal must have one position for each name, at least one, got {len(message.name)} "
            f"names and {len(message.position)} positions."
        )
    if len(set(message.name)) < len(message.name):
        raise ManipDynError(f"goal must name each joint once, got {list(message.name)}.")
    goal = q.copy()
    for name, position in zip(message.name, message.position, strict=True):
        if name not in robot.joint_names:
            hint = closest(name, robot.joint_names)
            raise ManipDynError(f"goal must name joints of '{robot.name}', got '{name}'{hint}")
        goal[robot.index(name)] = position
    goal = finite_vector("goal", goal, robot.n)
    robot.check_within_limits("goal", goal)
    return goal


COMMAND_FIELDS = ("position", "velocity", "effort")


def references_from(message: JointState, robot: Robot) -> References | None:
    """Return the references of the joints in joint order, or None if all numbers are NaN.

    NaN means "no reference". ros2_control sends it for interfaces that no controller has claimed.

    Args:
        message: Names of some or all joints in any order. Each array has one number per name, or
            is empty.
        robot: The arm.

    Raises:
        ManipDynError: If there are no names or no numbers, a name is unknown or repeated, an
            array has the wrong length, a number is infinite, or a joint has both an effort and a
            position or velocity.
    """
    indices = [_joint_index(name, robot) for name in message.name]
    if not indices or len(set(indices)) < len(indices):
        raise ManipDynError(
            "joint command must name at least one joint, and each joint at most once, got "
            f"{list(message.name)}."
        )
    if not any(len(getattr(message, field)) for field in COMMAND_FIELDS):
        raise ManipDynError("joint command must have positions, velocities or efforts, got none.")
    references = References(*(np.full(robot.n, np.nan) for _ in COMMAND_FIELDS))
    for field, values in zip(COMMAND_FIELDS, references, strict=True):
        numbers = np.asarray(getattr(message, field), dtype=np.float64)
        if len(numbers) not in (0, len(indices)):
            raise ManipDynError(
                f"joint command must have no {field} or one for each of its {len(indices)} names "
                f"(NaN for no reference), got {len(numbers)}."
            )
        if np.isinf(numbers).any():
            raise ManipDynError(
                f"{field} of a joint command must be finite or NaN, got {numbers.tolist()}."
            )
        if len(numbers):
            values[indices] = numbers
    _check_one_kind(references, robot)
    return None if references.unset.all() else references


def _joint_index(name: str, robot: Robot) -> int:
    if name not in robot.joint_names:
        hint = closest(name, robot.joint_names)
        raise ManipDynError(
            f"joint command must name joints of '{robot.name}', got '{name}'{hint}"
        )
    return robot.joint_names.index(name)


def _check_one_kind(references: References, robot: Robot) -> None:
    driven = ~(np.isnan(references.position) & np.isnan(references.velocity))
    for joint in np.flatnonzero(driven & ~np.isnan(references.effort)):
        raise ManipDynError(
            f"joint command for '{robot.joint_names[joint]}' must be either an effort, or a "
            "position and velocity, got both."
        )


RELEASE = "release"
"""Label of a command without efforts, and frame of an effort trajectory without points, that end
the current command. An empty message without it is an error."""


def release_command() -> Float64MultiArray:
    """Return a command message that ends the current command."""
    return Float64MultiArray(layout=MultiArrayLayout(dim=[MultiArrayDimension(label=RELEASE)]))


def is_release(message: Float64MultiArray) -> bool:
    """Return whether a command message has no efforts and the label `RELEASE`."""
    return not message.data and [dim.label for dim in message.layout.dim] == [RELEASE]


class Validity(NamedTuple):
    """Time in which a command is valid, ns.

    Attributes:
        stamp_ns: Stamp of the joint state that the command answers.
        duration_ns: Time after this stamp at which the command ends.
        deadline_ns: Time after this stamp until which the command must arrive.
    """

    stamp_ns: int
    duration_ns: int
    deadline_ns: int


_LABELS = "state", "valid", "deadline"
"""Labels of the dimensions that contain a validity. The deadline may be missing."""


def effort_command(effort: Vector, validity: Validity | None = None) -> Float64MultiArray:
    """Return a command message with efforts (n,), N m or N.

    Args:
        effort: The efforts.
        validity: Time after which the receiver must end the command. Default: no end. Receivers
            that do not know it, such as the controllers of ros2_control, ignore it.
    """
    message = Float64MultiArray(data=effort.tolist())
    if validity is not None:
        message.layout.dim = [
            MultiArrayDimension(label=label, size=time // _SECOND, stride=time % _SECOND)
            for label, time in zip(_LABELS, validity, strict=True)
        ]
    return message


def validity_of(message: Float64MultiArray) -> Validity | None:
    """Return the validity of a command message, or None if it has none."""
    dimensions = message.layout.dim
    count = len(dimensions)
    if count < 2 or tuple(dim.label for dim in dimensions) != _LABELS[:count]:
        return None
    stamp, duration, *deadline = (dim.size * _SECOND + dim.stride for dim in dimensions)
    return Validity(stamp, duration, min([duration, *deadline]))


_SECOND = 1_000_000_000


def efforts_from(message: Float64MultiArray, robot: Robot) -> Vector:
    """Return the efforts (n,) of a command message, N m or N, in joint order."""
    return finite_vector("effort command", message.data, robot.n)


def energy_message(energy: Energy) -> Float64MultiArray:
    """Return a message with energies, J. The label of its only dimension contains their names."""
    names = ",".join(f"{name} [J]" for name in energy._fields)
    size = len(energy)
    label = MultiArrayDimension(label=names, size=size, stride=size)
    return Float64MultiArray(layout=MultiArrayLayout(dim=[label]), data=list(energy))
