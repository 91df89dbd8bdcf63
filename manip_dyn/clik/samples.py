"""Samples of a tracked motion, as rows of numbers and as named tuples."""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.clik.law.inverses import find_singular_values
from manip_dyn.clik.law.joint_velocity import fill_jacobian
from manip_dyn.clik.law.poses import Pose
from manip_dyn.clik.law.settings import CONTROLLED, DAMPED, ESCAPING, SCALE, task_of
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.robot import Robot

ROW_ERROR, ROW_DESIRED, ROW_ACTUAL, ROW_JOINTS = 6, 12, 24, 36
"""Offsets in a row of the error (6), the desired pose (12), the actual pose (12), and q (n), v (n)
and flags of held joints (n). The first six entries are t, path time, scale, damping, smallest
singular value and escape speed."""


class TrackingSample(NamedTuple):
    """One sample of a tracked motion.

    Attributes:
        t: Time, s.
        q: Joint positions (n,), rad or m.
        v: Joint velocities (n,), rad/s or m/s.
        desired: Desired pose.
        actual: Pose of the tool.
        error: Pose error (6,), m and rad, see `task_error`.
        smallest_singular_value: Smallest singular value of the controlled rows of the Jacobian.
        damping: Largest damping d in the inverse.
        speed_scale: Factor by which the speed limits scale the velocity, at most 1.
        at_limit: Names of the joints that are held at their limits.
        path_time: Path time of the desired pose, s; behind `t` after speeds were scaled.
        escape_speed: Joint speed of the escape from a singular posture, rad/s or m/s; 0 if there
            is no escape.
    """

    t: float
    q: Vector
    v: Vector
    desired: Pose
    actual: Pose
    error: Vector
    smallest_singular_value: float
    damping: float
    speed_scale: float
    at_limit: tuple[str, ...]
    path_time: float
    escape_speed: float


def row_size(n: int) -> int:
    """Return the number of columns of a row for n joints."""
    return ROW_JOINTS + 3 * n


def sample_of(row: Vector, robot: Robot) -> TrackingSample:
    """Convert a row to a `TrackingSample`."""
    n = robot.n
    q, v, held = row[ROW_JOINTS:].reshape(3, n).copy()
    desired, actual = row[ROW_DESIRED:ROW_JOINTS].reshape(2, 12).copy()
    return TrackingSample(
        t=float(row[0]),
        q=q,
        v=v,
        desired=Pose(desired[:3], desired[3:].reshape(3, 3)),
        actual=Pose(actual[:3], actual[3:].reshape(3, 3)),
        error=row[ROW_ERROR:ROW_DESIRED].copy(),
        smallest_singular_value=float(row[4]),
        damping=float(row[3]),
        speed_scale=float(row[2]),
        at_limit=tuple(robot.joint_names[i] for i in range(n) if held[i]),
        path_time=float(row[1]),
        escape_speed=float(row[5]),
    )


@compiled(short=True)
def fill_row(t, y, rate, memory, row):
    """Write the sample row of the state `y`; `memory` contains the law evaluated at `y`."""
    task = task_of(memory)
    n = task.freedom.size
    row[0], row[1] = t, y[n]
    row[2], row[3], row[5] = task.report[SCALE], task.report[DAMPED], task.report[ESCAPING]
    _copy(task.error, 6, row, ROW_ERROR)
    _copy(task.desired, 12, row, ROW_DESIRED)
    _copy(task.actual, 12, row, ROW_ACTUAL)
    _copy(y, n, row, ROW_JOINTS)
    _copy(rate, n, row, ROW_JOINTS + n)
    _copy(task.held, n, row, ROW_JOINTS + 2 * n)
    for i in range(n):
        task.freedom[i] = 1.0
    fill_jacobian(task)
    find_singular_values(task)
    rank = 0
    for r in range(6):
        if task.numbers[CONTROLLED + r] != 0.0 and rank < n:
            rank += 1
    row[4] = task.values[rank - 1]


@inlined
def _copy(source, count, row, first):
    for i in range(count):
        row[first + i] = source[i]
