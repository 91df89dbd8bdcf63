"""The CLIK law: joint velocities v = J^+ (twist_d + K e) + null-space motion, within limits.

Closed-loop inverse kinematics (Balestrino, De Maria, Sciavicco 1984; Siciliano 1990) with the
feedback gain K of Sariyildiz et al. (2011), in the redundant form v = v_0 + J^+ (x - J v_0) of
Liegeois (1977). Conventions: see `pose`.

Limits. A joint may move towards its limit at most at `limit_gain` times its distance (Faverjon,
Tournassoud 1987); one that wants more is held at that speed, and the others make up for it as far
as they can, so that a redundant arm stays on its path. Speeds above their limits scale the whole
velocity, which keeps its direction; the path's clock is slowed by the same scale, so that the
tool stays on the path and arrives later.
"""

from __future__ import annotations

import numba

from manip_dyn.clik.escape import add_escape
from manip_dyn.clik.inverse import DECOMPOSED, apply, prepare
from manip_dyn.clik.null_space import wanted_velocity
from manip_dyn.clik.pose import INLINE, INNER, TWIST
from manip_dyn.clik.settings import (
    AVOIDANCE_GAIN,
    CONTROLLED,
    ERROR,
    ESCAPE,
    FREEDOM,
    GAIN,
    LIMIT_GAIN,
    MANIPULABILITY_GAIN,
    POSTURE_GAIN,
    Q_MAX,
    Q_MIN,
    V_MAX,
)
from manip_dyn.clik.task_error import pose_error
from manip_dyn.clik.workspace import ESCAPING, SCALE, task_of


@numba.njit(**INNER)
def joint_velocity(q, desired, actual, numbers, joints, work, v):
    """Write the joint velocities (n,) into `v` and return the speed scale, 1 or less.

    Args:
        q: Joint positions (n,) or longer.
        desired: Pose and twist (18,).
        actual: Of the kernel ``kinematics`` at q (12 + 6 n,).
        numbers: Of `ClikSettings.numbers`.
        joints: Of `ClikSettings.joints` (5, n).
        work: From `workspace`.
        v: Joint velocities (n,) or longer.
    """
    n = joints.shape[1]
    task = task_of(work, n)
    pose_error(desired, actual, int(numbers[ERROR]), task.error)
    for r in range(6):
        twist = desired[TWIST + r] + numbers[GAIN] * task.error[r]
        task.twist[r] = twist * numbers[CONTROLLED + r]
    for i in range(n):
        task.freedom[i] = joints[FREEDOM, i]
        task.held[i] = 0.0
    fill_jacobian(actual, numbers, task)
    wanted = numbers[POSTURE_GAIN] + numbers[AVOIDANCE_GAIN] + numbers[MANIPULABILITY_GAIN] != 0.0
    if wanted:
        wanted_velocity(q, actual, numbers, joints, task)
    else:
        for i in range(n):
            task.wish[i] = 0.0
    for _ in range(n + 1):
        _solve(q, actual, numbers, joints, task, work, v)
        if not _hold_one(q, numbers, joints, task, v):
            break
        fill_jacobian(actual, numbers, task)
    return _within_speeds(joints, task, v)


@numba.njit(**INLINE)
def fill_jacobian(actual, numbers, task):
    """Write the Jacobian of joints and rows that are free into ``task.jacobian``."""
    n = task.freedom.size
    for r in range(6):
        for i in range(n):
            free = task.freedom[i] * numbers[CONTROLLED + r]
            task.jacobian[r, i] = actual[12 + n * r + i] * free


@numba.njit(**INLINE)
def _solve(q, actual, numbers, joints, task, work, v):
    """Write v_0 + J^+ (x - J v_0) into `v`."""
    n = task.freedom.size
    form = prepare(task, numbers)
    for i in range(n):
        task.null[i] = task.wish[i]
    task.report[ESCAPING] = 0.0
    if form == DECOMPOSED and numbers[ESCAPE] != 0.0:
        _remaining(actual, numbers, task)
        add_escape(q, actual, numbers, joints, task, work)
    _remaining(actual, numbers, task)
    for i in range(n):
        v[i] = task.null[i]
    apply(form, task, numbers, task.rest, v)


@numba.njit(**INLINE)
def _remaining(actual, numbers, task):
    """Write x - J v_0 into ``task.rest``."""
    n = task.freedom.size
    for r in range(6):
        total = 0.0
        for i in range(n):
            total += actual[12 + n * r + i] * task.null[i]
        task.rest[r] = task.twist[r] - total * numbers[CONTROLLED + r]


@numba.njit(**INLINE)
def _hold_one(q, numbers, joints, task, v):
    """Hold the free joint that exceeds its position bounds most; return whether there is one."""
    worst, most, bound = -1, 1e-12, 0.0
    for i in range(task.freedom.size):
        if task.held[i] != 0.0:
            continue
        low = numbers[LIMIT_GAIN] * (joints[Q_MIN, i] - q[i])
        high = numbers[LIMIT_GAIN] * (joints[Q_MAX, i] - q[i])
        excess = max(low - v[i], v[i] - high)
        if excess > most:
            worst, most = i, excess
            bound = low if v[i] < low else high
    if worst < 0:
        return False
    task.held[worst] = 1.0
    task.freedom[worst] = 0.0
    task.wish[worst] = bound
    return True


@numba.njit(**INLINE)
def _within_speeds(joints, task, v):
    """Scale `v` into the speed limits, its direction kept; return the scale."""
    scale = 1.0
    for i in range(task.freedom.size):
        speed = abs(v[i])
        if speed * scale > joints[V_MAX, i]:
            scale = joints[V_MAX, i] / speed
    if scale < 1.0:
        for i in range(task.freedom.size):
            v[i] *= scale
    task.report[SCALE] = scale
    return scale
