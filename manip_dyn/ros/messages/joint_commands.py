"""Joint commands by name, as hardware components and controllers of ros2_control send them."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState

from manip_dyn.control.joint_references import References
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot

FIELDS = ("position", "velocity", "effort")


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
    places = [_place(name, robot) for name in message.name]
    if not places or len(set(places)) < len(places):
        raise ManipDynError(
            f"joint command has the names {list(message.name)}; expected each joint at most once, "
            "at least one"
        )
    if not any(len(getattr(message, field)) for field in FIELDS):
        raise ManipDynError("joint command has no numbers; expected positions, or efforts, ...")
    told = References(*(np.full(robot.n, np.nan) for _ in FIELDS))
    for field, values in zip(FIELDS, told, strict=True):
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
    return None if told.untold.all() else told


def _place(name: str, robot: Robot) -> int:
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
