"""Waypoints of a joint trajectory, checked by the rules of joint_trajectory_controller."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from manip_dyn.control.joint_trajectory.outcome import Code, RefusedTrajectoryError
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot

STANDS = 1e-6
"""Speed up to which a last waypoint rests, rad/s or m/s."""


class Waypoint(NamedTuple):
    """Where the joints are to be at a time; of the rest what is given.

    Attributes:
        time_ns: From the start of the trajectory.
        positions: rad or m.
        velocities: rad/s or m/s; empty: not given, as all that follow.
        accelerations: Per s^2; only beside velocities.
        effort: N m or N; at all waypoints or at none.
    """

    time_ns: int
    positions: Sequence[float] | Vector
    velocities: Sequence[float] | Vector = ()
    accelerations: Sequence[float] | Vector = ()
    effort: Sequence[float] | Vector = ()


FIELDS = Waypoint._fields[1:]


def checked_waypoints(
    robot: Robot, names: Sequence[str], given: Sequence[Waypoint]
) -> list[Waypoint]:
    """Return waypoints with arrays (n,), or (0,), in the robot's joint order.

    Args:
        robot: The arm.
        names: All its joints, in any order.
        given: Values in the order of `names`.

    Raises:
        RefusedTrajectoryError: If they are none that can be followed.
    """
    _check_names(robot, names)
    order = [list(names).index(name) for name in robot.joint_names]
    if not given:
        raise _bad("the trajectory has no points; expected one at least")
    found = [_ordered(k, each, robot.n, order) for k, each in enumerate(given)]
    _check_times(found)
    if len({each.effort.size for each in found}) > 1:  # type: ignore[union-attr]
        raise _bad("some points have efforts; expected efforts at all points or at none")
    moves = np.abs(found[-1].velocities) > STANDS
    if moves.any():
        joint = robot.joint_names[int(moves.argmax())]
        raise _bad(f"joint '{joint}' moves at the last point; expected the velocity 0 there")
    begin = 1 if len(found) > 1 else 0  # the first of several is where the arm is
    for k, each in enumerate(found[begin:], begin):
        try:
            robot.check_within_limits(f"point {k}", np.asarray(each.positions))
        except ManipDynError as error:
            raise _bad(str(error)) from error
    return found


def _bad(sentence: str) -> RefusedTrajectoryError:
    return RefusedTrajectoryError(Code.INVALID_GOAL, sentence)


def _check_names(robot: Robot, names: Sequence[str]) -> None:
    if sorted(names) == sorted(robot.joint_names):
        return
    unknown = [name for name in names if name not in robot.joint_names]
    what = f"the joints {', '.join(names) or 'none'}"
    hint = f"; expected each of {', '.join(robot.joint_names)} once"
    if unknown:
        what, hint = f"the unknown joint '{unknown[0]}'", closest(unknown[0], robot.joint_names)
    raise RefusedTrajectoryError(Code.INVALID_JOINTS, f"the trajectory has {what}{hint}")


def _ordered(k: int, given: Waypoint, n: int, order: list[int]) -> Waypoint:
    arrays = []
    for name, values in zip(FIELDS, given[1:], strict=True):
        if len(values) == 0 and name != "positions":
            arrays.append(np.empty(0))
            continue
        try:
            arrays.append(finite_vector(f"{name} of point {k}", values, n)[order])
        except ManipDynError as error:
            raise _bad(str(error)) from error
    if arrays[2].size and not arrays[1].size:
        raise _bad(f"point {k} has accelerations alone; expected velocities beside them")
    return Waypoint(given.time_ns, *arrays)


def _check_times(found: list[Waypoint]) -> None:
    times = [1e-9 * each.time_ns for each in found]
    if times[0] < 0.0:
        raise _bad(f"the first point is at {times[0]:g} s; expected 0 or more")
    for before, after in pairwise(times):
        if after <= before:
            raise _bad(
                f"a point is at {after:g} s, after one at {before:g} s; expected rising times"
            )
