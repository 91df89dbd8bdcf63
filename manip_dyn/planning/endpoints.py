"""Checks of a plan's start, goal and robot: positions, limits, friction and efforts at rest.

The functions raise `ManipDynError` if a check fails.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, distinct_digits, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot


def checked_postures(robot: Robot, q0: ArrayLike, qf: ArrayLike) -> tuple[Vector, Vector]:
    """Check that start and goal are within the position limits, and return them (n,)."""
    start, goal = finite_vector("start", q0, robot.n), finite_vector("goal", qf, robot.n)
    robot.check_within_limits("start", start)
    robot.check_within_limits("goal", goal)
    return start, goal


def check_effort_limits(robot: Robot, joints: Iterable[int]) -> None:
    """Check that the effort limits of `joints` are finite and positive."""
    for i in joints:
        limit = robot.tau_max[i]
        if not 0.0 < limit < np.inf:
            raise ManipDynError(
                f"effort limit of joint '{robot.joint_names[i]}' must be finite and above 0 for "
                f"bang-bang control, got {limit:g}."
            )


def check_speed_limits(robot: Robot, joints: Iterable[int]) -> None:
    """Check that the speed limits of `joints`, which must move, are not 0."""
    for i in joints:
        if robot.v_max[i] == 0.0:
            raise ManipDynError(
                f"speed limit of joint '{robot.joint_names[i]}' must be above 0, got 0; a joint "
                "that must not move can be locked: md.load_robot(.., lock={..})."
            )


def check_without_friction(robot: Robot, method: str) -> None:
    """Check that no joint has dry friction, which `method` does not support."""
    for i in np.flatnonzero(robot.static_friction):
        raise ManipDynError(
            f"friction of joint '{robot.joint_names[i]}' must be 0 for {method}, got "
            f"{robot.static_friction[i]:g}; plan with coulomb_friction of zeros, or use "
            "md.time_path along a given path."
        )


def holding_effort(robot: Robot, posture: str, q: Vector, strictly: bool = False) -> Vector:
    """Return the efforts (n,) that hold the arm at rest at `q` (n,).

    Args:
        robot: The arm.
        posture: Name of `q` in messages, ``start`` or ``goal``.
        q: Positions (n,).
        strictly: Whether the efforts must be strictly below the limits, which they may otherwise
            equal.

    Raises:
        ManipDynError: If an effort limit is too low.
    """
    zero = np.zeros(robot.n)
    effort = customize(robot).unchecked.inverse_dynamics(q, zero, zero)
    magnitude, limit = np.abs(effort), robot.tau_max
    (violated,) = (magnitude >= limit if strictly else magnitude > limit * (1.0 + 1e-9)).nonzero()
    for i in violated:
        required, most = distinct_digits(effort[i], limit[i], digits=4)
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' needs the effort {required} to hold the {posture}; "
            f"its limit is {most}."
        )
    return effort
