"""Joint trajectories: waypoints, argument checks, and splines.

The rules are those of joint_trajectory_controller 4.42.1 (ros2_controllers, branch jazzy:
`trajectory.cpp`), with additional checks of limits. Waypoints are joined by straight lines if they
have only positions, by cubic polynomials with velocities, and by quintic polynomials with
accelerations. Efforts are interpolated linearly. `Code` contains the result codes of the action
FollowJointTrajectory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.control.computed_torque import JointMotion
from manip_dyn.core.checks import Matrix, Vector, distinct_digits, finite_vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot

if TYPE_CHECKING:
    from scipy.interpolate import PPoly


class Code(IntEnum):
    """Result codes of the action FollowJointTrajectory, with the names of its constants."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class Outcome(NamedTuple):
    """The result code of a trajectory and an explanation."""

    code: Code
    sentence: str


class RejectedTrajectoryError(ManipDynError):
    """Error for an invalid trajectory.

    Attributes:
        code: Result code.
    """

    def __init__(self, code: Code, sentence: str):
        """Set code and explanation."""
        super().__init__(f"{code.name}: {sentence}")
        self.code = code


AT_REST = 1e-6
"""Maximum speed at the last waypoint, rad/s or m/s."""
SPEED_MARGIN = 0.05
"""Fraction of its speed limit by which a joint may exceed it between waypoints."""
POSITION_MARGIN = 1e-6
"""Distance by which a joint may exceed a position limit between waypoints, rad or m."""


EFFORT_MARGIN = 1e-6
"""Fraction of its effort limit by which an effort of a waypoint may exceed it: rounding errors."""
START_DISTANCE, START_TIME = 0.05, 0.05
"""Largest distance of a joint from the trajectory at its start: the first number (rad or m), or
the distance that the joint travels at its speed limit in the second (s), if that is smaller. The
feedback of `TrajectoryFollower` eliminates it at 0.37 times the speed limit or less."""


class Waypoint(NamedTuple):
    """Joint positions at a time, and optionally their derivatives and efforts.

    Attributes:
        time_ns: Time since the start of the trajectory, ns.
        positions: Positions (n,), rad or m.
        velocities: Velocities (n,), rad/s or m/s, or empty.
        accelerations: Accelerations (n,), rad/s^2 or m/s^2, or empty; only with velocities.
        effort: Efforts (n,), N m or N, or empty; at all waypoints or at none.
    """

    time_ns: int
    positions: Sequence[float] | Vector
    velocities: Sequence[float] | Vector = ()
    accelerations: Sequence[float] | Vector = ()
    effort: Sequence[float] | Vector = ()


FIELDS = Waypoint._fields[1:]


def checked_waypoints(
    robot: Robot, names: Sequence[str], waypoints: Sequence[Waypoint]
) -> list[Waypoint]:
    """Check waypoints; return them with arrays (n,) in the joint order of the robot.

    Fields that are not set become empty arrays.

    Args:
        robot: The arm.
        names: Names of all joints, in any order.
        waypoints: Waypoints with values in the order of `names`.

    Raises:
        RejectedTrajectoryError: If the names or the waypoints are invalid.
    """
    _check_names(robot, names)
    order = [list(names).index(name) for name in robot.joint_names]
    if not waypoints:
        raise _invalid("trajectory must have at least one point, got none.")
    points = [_ordered(k, point, robot.n, order) for k, point in enumerate(waypoints)]
    _check_times(points)
    if len({np.size(point.effort) for point in points}) > 1:
        raise _invalid("efforts must be given at all points or at none.")
    _check_efforts(robot, points)
    moving = np.abs(points[-1].velocities) > AT_REST
    if moving.any():
        joint = robot.joint_names[int(moving.argmax())]
        raise _invalid(f"joint '{joint}' must have the velocity 0 at the last point.")
    begin = 1 if len(points) > 1 else 0  # with several points, the first is the state of the arm
    for k, point in enumerate(points[begin:], begin):
        try:
            robot.check_within_limits(f"point {k}", np.asarray(point.positions))
        except ManipDynError as error:
            raise _invalid(str(error)) from error
    return points


def _invalid(sentence: str) -> RejectedTrajectoryError:
    return RejectedTrajectoryError(Code.INVALID_GOAL, sentence)


def _check_names(robot: Robot, names: Sequence[str]) -> None:
    if sorted(names) == sorted(robot.joint_names):
        return
    unknown = [name for name in names if name not in robot.joint_names]
    sentence = (
        f"trajectory must have each of the joints {', '.join(robot.joint_names)} once, got "
        f"{', '.join(names) or 'none'}."
    )
    if unknown:
        hint = closest(unknown[0], robot.joint_names)
        sentence = f"trajectory has the unknown joint '{unknown[0]}'{hint}"
    raise RejectedTrajectoryError(Code.INVALID_JOINTS, sentence)


def _ordered(k: int, point: Waypoint, n: int, order: list[int]) -> Waypoint:
    arrays = []
    for name, values in zip(FIELDS, point[1:], strict=True):
        if len(values) == 0 and name != "positions":
            arrays.append(np.empty(0))
            continue
        try:
            arrays.append(finite_vector(f"{name} of point {k}", values, n)[order])
        except ManipDynError as error:
            raise _invalid(str(error)) from error
    if arrays[2].size and not arrays[1].size:
        raise _invalid(f"point {k} must have velocities if it has accelerations, got none.")
    return Waypoint(point.time_ns, *arrays)


def _check_efforts(robot: Robot, points: list[Waypoint]) -> None:
    if not np.size(points[0].effort):
        return
    efforts = np.array([point.effort for point in points])
    for k, i in np.argwhere(np.abs(efforts) > (1.0 + EFFORT_MARGIN) * robot.tau_max).tolist():
        got, limit = distinct_digits(efforts[k, i], robot.tau_max[i])
        unit = robot.effort_unit(i)
        raise _invalid(
            f"effort of joint '{robot.joint_names[i]}' at point {k} must be from -{limit} to "
            f"{limit} {unit}, got {got} {unit}."
        )


def _check_times(points: list[Waypoint]) -> None:
    times = [1e-9 * point.time_ns for point in points]
    if times[0] < 0.0:
        raise _invalid(f"time of the first point must be 0 or more, got {times[0]:g} s.")
    for before, after in pairwise(times):
        if after <= before:
            raise _invalid(
                f"times of the points must increase, got {before:g} s followed by {after:g} s."
            )


class JointSplines:
    """Splines from an initial state through waypoints; the motion ends at rest.

    Times are in seconds since the start of the trajectory.

    Attributes:
        t_final: Time of the last waypoint, s.
        goal: Positions of the last waypoint (n,), rad or m.
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
        """Connect the initial state to waypoints, see `checked_waypoints`.

        If the initial state is not earlier than the first waypoint, the motion joins the
        trajectory at that time and ignores the velocities and efforts of the state.

        Args:
            robot: The arm; its continuous joints use the nearest revolution.
            waypoints: One or more waypoints.
            t: Time of the initial state, s; negative before the start.
            q: Initial positions (n,), rad or m.
            v: Initial velocities (n,), rad/s or m/s.
            effort: Initial efforts (n,), N m or N, for trajectories with efforts. Default: 0.
        """
        points = list(waypoints)
        first = points[0]
        turns = _turns(robot, q - np.asarray(first.positions))
        now_ns = round(1e9 * t)
        if now_ns < first.time_ns:
            zero = np.zeros_like(q)
            start = Waypoint(now_ns, q - turns, v, zero, zero if effort is None else effort)
            points.insert(0, _with_fields_of(first, start))
        self._targets = range(len(waypoints) - len(points) + 1, len(waypoints))
        self._times = np.array([1e-9 * point.time_ns for point in points])
        self._rows = [_segment(a, b) for a, b in pairwise(points)]
        for rows in self._rows:
            rows[0] += turns
        self._efforts = [np.asarray(point.effort) for point in points]
        self.t_final = float(self._times[-1])
        self.goal = np.asarray(points[-1].positions) + turns
        self._zeros = np.zeros_like(q)
        self._distance = np.abs(q - self.motion(t).q) if now_ns >= first.time_ns else self._zeros

    @classmethod
    def standing(cls, robot: Robot, q: Vector) -> JointSplines:
        """Return the splines of an arm that rests at q (n,)."""
        return cls(robot, [Waypoint(0, q)], 0.0, q, 0.0 * q)

    def polynomials(self) -> PPoly:
        """Return the positions (n,) as a piecewise polynomial of the time, s."""
        from scipy.interpolate import PPoly

        if not self._rows:
            return PPoly(self.goal[np.newaxis, np.newaxis], np.array([0.0, 1.0]))
        powers = np.array(self._rows).transpose(1, 0, 2)
        widths = np.diff(self._times)[np.newaxis, :, np.newaxis]
        powers = powers / widths ** np.arange(6)[:, np.newaxis, np.newaxis]
        return PPoly(powers[::-1], self._times)

    def check_limits(self, robot: Robot) -> None:
        """Check the start, and positions and speeds along the whole motion.

        A joint that starts beyond a position limit must not move further beyond it. If the motion
        joins the trajectory at or after its first waypoint, the arm must be near it.

        Raises:
            RejectedTrajectoryError: If a joint exceeds a position limit by more than
                `POSITION_MARGIN`, or a speed limit by more than the fraction `SPEED_MARGIN`, or
                is farther from the trajectory than `START_DISTANCE` and `START_TIME` allow.
        """
        self._check_start(robot)
        if not self._rows:
            return
        positions = np.array(self._rows)
        durations = np.diff(self._times)[:, np.newaxis, np.newaxis]
        with np.errstate(over="ignore"):
            speeds = positions[:, 1:] * np.arange(1.0, 6.0)[:, np.newaxis] / durations
        start, fastest = positions[0, 0], (1.0 + SPEED_MARGIN) * robot.v_max
        lowest = np.minimum(robot.q_min, start) - POSITION_MARGIN
        highest = np.maximum(robot.q_max, start) + POSITION_MARGIN
        if excess := _excess(speeds, -fastest, fastest):
            k, i, speed = excess
            got, limit = distinct_digits(abs(speed), robot.v_max[i])
            unit = f"{robot.unit(i)}/s"
            raise _invalid(
                f"speed of joint '{robot.joint_names[i]}' on the path to point {self._targets[k]} "
                f"must be at most {limit} {unit}, got {got} {unit}."
            )
        if excess := _excess(positions, lowest, highest):
            k, i, position = excess
            got, low, high = distinct_digits(position, robot.q_min[i], robot.q_max[i])
            unit = robot.unit(i)
            raise _invalid(
                f"position of joint '{robot.joint_names[i]}' on the path to point "
                f"{self._targets[k]} must be from {low} to {high} {unit}, got {got} {unit}."
            )

    def _check_start(self, robot: Robot) -> None:
        largest = np.minimum(START_DISTANCE, START_TIME * robot.v_max)
        for i in np.flatnonzero(self._distance > largest).tolist():
            got, limit = distinct_digits(self._distance[i], largest[i])
            unit = robot.unit(i)
            raise _invalid(
                f"distance of joint '{robot.joint_names[i]}' from the start of the trajectory "
                f"must be at most {limit} {unit}, got {got} {unit}. Set a later time for the "
                "first point, or a later stamp."
            )

    def motion(self, t: float) -> JointMotion:
        """Return positions, velocities and accelerations (n,) at time `t`, s.

        From `t_final` on, the motion rests at `goal`.
        """
        if t >= self.t_final or not self._rows:
            return JointMotion(self.goal, self._zeros, self._zeros)
        k, s, h = self._segment_at(t)
        powers = _powers(s)
        q, v, a = powers @ self._rows[k]
        return JointMotion(q, v / h, a / h**2)

    def effort(self, t: float) -> Vector | None:
        """Return the efforts (n,) of the trajectory at time `t`, s, or None if it has none.

        From `t_final` on, they are those of the last waypoint.
        """
        if not self._efforts[-1].size:
            return None
        if t >= self.t_final or not self._rows:
            return self._efforts[-1]
        k, s, _ = self._segment_at(t)
        return self._efforts[k] + s * (self._efforts[k + 1] - self._efforts[k])

    def _segment_at(self, t: float) -> tuple[int, float, float]:
        """Return index, elapsed fraction (0 to 1) and duration (s) of the segment at time `t`."""
        k = max(int(np.searchsorted(self._times, t, side="right")) - 1, 0)
        h = float(self._times[k + 1] - self._times[k])
        return k, max((t - float(self._times[k])) / h, 0.0), h


def _turns(robot: Robot, ahead: Vector) -> Vector:
    """Return the whole revolutions (n,), in rad, by which continuous joints are ahead."""
    turn = 2.0 * math.pi
    continuous = np.array([kind == "continuous" for kind in robot.joint_types])
    return np.where(continuous, turn * np.round(ahead / turn), 0.0)


def _with_fields_of(first: Waypoint, start: Waypoint) -> Waypoint:
    """Return `start` without the fields that are empty in `first`."""
    pairs = zip(start[1:], first[1:], strict=True)
    return Waypoint(start.time_ns, *(own if len(field) else () for own, field in pairs))


def _segment(a: Waypoint, b: Waypoint) -> Matrix:
    """Return the coefficients (6, n) of powers of the elapsed fraction, from waypoint a to b."""
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


def _excess(rows: NDArray[np.float64], low: Vector, high: Vector) -> tuple[int, int, float] | None:
    """Find a polynomial that leaves its range for a variable from 0 to 1.

    Bernstein coefficients bound a polynomial. Its extremes are computed only if they are outside.

    Args:
        rows: Coefficients (m, k, n) of m segments and n joints, in ascending order.
        low: Lower ends (n,) of the ranges.
        high: Upper ends (n,) of the ranges.

    Returns:
        Segment, joint and most extreme value of the first such polynomial, or None. The value is
        infinite if the coefficients overflow.
    """
    k = rows.shape[1]
    bernstein = np.array([[comb(i, j) / comb(k - 1, j) for j in range(k)] for i in range(k)])
    with np.errstate(over="ignore", invalid="ignore"):
        bounds = bernstein @ rows
    suspect = ~((low <= bounds) & (bounds <= high)).all(axis=1)
    for segment, joint in np.argwhere(suspect).tolist():
        polynomial = rows[segment, ::-1, joint]
        if not np.isfinite(bounds[segment, :, joint]).all():
            return segment, joint, math.inf
        extremes = np.clip(np.roots(np.polyder(polynomial)).real, 0.0, 1.0)
        values = np.polyval(polynomial, [0.0, 1.0, *extremes])
        worst = values[np.argmax(np.maximum(values - high[joint], low[joint] - values))]
        if not low[joint] <= worst <= high[joint]:
            return segment, joint, float(worst)
    return None


def _powers(s: float) -> Matrix:
    """Return an array (3, 6): powers 0 to 5 of s and their first two derivatives."""
    return np.array(
        [
            [1.0, s, s**2, s**3, s**4, s**5],
            [0.0, 1.0, 2.0 * s, 3.0 * s**2, 4.0 * s**3, 5.0 * s**4],
            [0.0, 0.0, 2.0, 6.0 * s, 12.0 * s**2, 20.0 * s**3],
        ]
    )
