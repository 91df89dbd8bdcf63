"""Joint trajectories: waypoints, their checks, and splines through them.

The rules are those of joint_trajectory_controller 4.42.1 (ros2_controllers, branch jazzy:
`trajectory.cpp`). Positions alone are joined by straight lines, positions with velocities by cubic
polynomials, and with accelerations by polynomials of degree five. Efforts are interpolated
linearly. `Code` has the result codes of the action FollowJointTrajectory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from manip_dyn.control.computed_torque import JointMotion
from manip_dyn.core.checks import Matrix, Vector, finite_vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot


class Code(IntEnum):
    """Result codes by the action's names."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class Outcome(NamedTuple):
    """A code for programs and a sentence for people."""

    code: Code
    sentence: str


class RefusedTrajectoryError(ManipDynError):
    """A trajectory that is not followed at all.

    Attributes:
        code: Why.
    """

    def __init__(self, code: Code, sentence: str):
        """Take the code and the sentence."""
        super().__init__(f"{code.name}: {sentence}")
        self.code = code


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


class JointSplines:
    """The motion from where an arm is through waypoints; it rests at the last one.

    Times are in s from the trajectory's start, when the first waypoint's time is 0.

    Attributes:
        t_final: Time of the last waypoint, s.
        goal: Positions there (n,), rad or m.
    """

    def __init__(
        self,
        robot: Robot,
        waypoints: Sequence[Waypoint],
        t: float,
        q: Vector,
        v: Vector,
        effort: Vector | None = None,
    ):
        """Join waypoints, see `checked_waypoints`, to the state at which following begins.

        Where it begins after the first waypoint's time, the motion enters the trajectory there.

        Args:
            robot: The arm; its continuous joints take the nearest turn.
            waypoints: At least one.
            t: Time of the state, s; negative before the start.
            q: Positions (n,).
            v: Velocities (n,).
            effort: What holds the arm there (n,), for trajectories with efforts.
        """
        points = list(waypoints)
        first = points[0]
        turns = _turns(robot, q - np.asarray(first.positions))
        now_ns = round(1e9 * t)
        if now_ns < first.time_ns:
            zero = np.zeros_like(q)
            here = Waypoint(now_ns, q - turns, v, zero, zero if effort is None else effort)
            points.insert(0, _as_far_as(here, first))
        self._times = np.array([1e-9 * each.time_ns for each in points])
        self._rows = [_segment(a, b) for a, b in pairwise(points)]
        for rows in self._rows:
            rows[0] += turns
        self._efforts = [np.asarray(each.effort) for each in points]
        self.t_final = float(self._times[-1])
        self.goal = np.asarray(points[-1].positions) + turns
        self._still = np.zeros_like(q)

    @classmethod
    def standing(cls, robot: Robot, q: Vector) -> JointSplines:
        """Return an arm that rests at q (n,)."""
        return cls(robot, [Waypoint(0, q)], 0.0, q, 0.0 * q)

    def motion(self, t: float) -> JointMotion:
        """Return positions, velocities and accelerations (n,) at `t` s."""
        if t >= self.t_final or not self._rows:
            return JointMotion(self.goal, self._still, self._still)
        k, s, h = self._place(t)
        powers = _powers(s)
        q, v, a = powers @ self._rows[k]
        return JointMotion(q, v / h, a / h**2)

    def effort(self, t: float) -> Vector | None:
        """Return the efforts (n,) that are given for `t` s, or None."""
        if not self._efforts[-1].size:
            return None
        if t >= self.t_final or not self._rows:
            return self._efforts[-1]
        k, s, _ = self._place(t)
        return self._efforts[k] + s * (self._efforts[k + 1] - self._efforts[k])

    def _place(self, t: float) -> tuple[int, float, float]:
        """Return the segment at a time, how much of it has passed (0 to 1), and its length, s."""
        k = max(int(np.searchsorted(self._times, t, side="right")) - 1, 0)
        h = float(self._times[k + 1] - self._times[k])
        return k, max((t - float(self._times[k])) / h, 0.0), h


def _turns(robot: Robot, ahead: Vector) -> Vector:
    """Return the whole turns (n,) that bring continuous joints nearest to where they are."""
    turn = 2.0 * math.pi
    free = np.array([kind == "continuous" for kind in robot.joint_types])
    return np.where(free, turn * np.round(ahead / turn), 0.0)


def _as_far_as(here: Waypoint, first: Waypoint) -> Waypoint:
    """Return where the arm is with what the first waypoint has, too."""
    pairs = zip(here[1:], first[1:], strict=True)
    return Waypoint(here.time_ns, *(mine if len(given) else () for mine, given in pairs))


def _segment(a: Waypoint, b: Waypoint) -> Matrix:
    """Return the polynomials (6, n) from a to b, by the part of the time that has passed."""
    h = 1e-9 * (b.time_ns - a.time_ns)
    qa, qb = np.asarray(a.positions), np.asarray(b.positions)
    rows, rise = np.zeros((6, len(qa))), qb - qa
    rows[0] = qa
    if not (len(a.velocities) and len(b.velocities)):
        rows[1] = rise
        return rows
    va, vb = h * np.asarray(a.velocities), h * np.asarray(b.velocities)
    rows[1] = va
    if not (len(a.accelerations) and len(b.accelerations)):
        rows[2], rows[3] = 3.0 * rise - 2.0 * va - vb, va + vb - 2.0 * rise
        return rows
    aa, ab = h**2 * np.asarray(a.accelerations), h**2 * np.asarray(b.accelerations)
    rows[2] = 0.5 * aa
    rows[3] = 10.0 * rise - 6.0 * va - 4.0 * vb - 1.5 * aa + 0.5 * ab
    rows[4] = -15.0 * rise + 8.0 * va + 7.0 * vb + 1.5 * aa - ab
    rows[5] = 6.0 * rise - 3.0 * (va + vb) - 0.5 * (aa - ab)
    return rows


def _powers(s: float) -> Matrix:
    """Return the powers 0 to 5 of s and their first two derivatives, (3, 6)."""
    return np.array(
        [
            [1.0, s, s**2, s**3, s**4, s**5],
            [0.0, 1.0, 2.0 * s, 3.0 * s**2, 4.0 * s**3, 5.0 * s**4],
            [0.0, 0.0, 2.0, 6.0 * s, 12.0 * s**2, 20.0 * s**3],
        ]
    )
