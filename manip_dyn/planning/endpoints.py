"""Checks of a plan's start and goal: positions, limits, and efforts at rest."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, distinct_digits, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot


def checked_postures(robot: Robot, q0: ArrayLike, qf: ArrayLike) -> tuple[Vector, Vector]:
    """Return start and goal (n,); refuse what is not within the limits."""
    start, goal = finite_vector("start", q0, robot.n), finite_vector("goal", qf, robot.n)
    robot.check_within_limits("start", start)
    robot.check_within_limits("goal", goal)
    return start, goal


def check_effort_limits(robot: Robot, joints: Iterable[int]) -> None:
    """Refuse joints whose efforts have no finite limits above 0."""
    for i in joints:
        limit = robot.tau_max[i]
        if not 0.0 < limit < np.inf:
            raise ManipDynError(
                f"joint '{robot.joint_names[i]}' has the effort limit {limit:g}; bang-bang "
                "control expects a finite one above 0"
            )


def check_speed_limits(robot: Robot, joints: Iterable[int]) -> None:
    """Refuse joints that have to move and must not."""
    for i in joints:
        if robot.v_max[i] == 0.0:
            raise ManipDynError(
                f"joint '{robot.joint_names[i]}' has the speed limit 0; expected one above 0, or "
                "the joint locked"
            )


def check_without_friction(robot: Robot, what: str) -> None:
    """Refuse joints with dry friction for `what` cannot take it into account."""
    for i in np.flatnonzero(robot.static_friction):
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' has the friction {robot.static_friction[i]:g}, which "
            f"{what} cannot take into account; expected none (coulomb_friction of zeros plans "
            "without it), or md.time_path along a path of your own"
        )


def holding_effort(robot: Robot, place: str, q: Vector, strictly: bool = False) -> Vector:
    """Return the efforts (n,) that keep the arm at rest at `q` (n,); refuse an arm too weak.

    Args:
        robot: The arm.
        place: What `q` is called, ``start`` or ``goal``.
        q: Positions (n,).
        strictly: Whether the efforts have to be below the limits, not just within them.
    """
    zero = np.zeros(robot.n)
    effort = customize(robot).unchecked.inverse_dynamics(q, zero, zero)
    size, limit = np.abs(effort), robot.tau_max
    for i in np.flatnonzero(size >= limit if strictly else size > limit * (1.0 + 1e-9)):
        needed, most = distinct_digits(effort[i], limit[i], digits=4)
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' needs the effort {needed} to be held at the "
            f"{place}; its limit is {most}"
        )
    return effort
