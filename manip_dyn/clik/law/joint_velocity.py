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

from manip_dyn.clik.law.escape import add_escape
from manip_dyn.clik.law.inverse import (
    add_decomposed,
    add_factorized,
    factorized,
    find_singular_values,
)
from manip_dyn.clik.law.null_space import wanted_velocity
from manip_dyn.clik.law.settings import (
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
from manip_dyn.clik.law.workspace import ESCAPING, SCALE, task_of
from manip_dyn.clik.task.pose import TWIST
from manip_dyn.clik.task.task_error import pose_error
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.compiled.late import late


@compiled(short=True)
def joint_velocity(q, desired, memory, v):
    """Write the joint velocities (n,) into `v` and return the speed scale, 1 or less.

    Args:
        q: Joint positions (n,) or longer.
        desired: Pose and twist (18,).
        memory: Of `workspace`, with the kinematics at q in its part ``actual``.
        v: Joint velocities (n,) or longer.
    """
    task = task_of(memory)
    numbers = task.numbers
    pose_error(desired, task.actual, numbers[ERROR], task.error)
    for r in range(6):
        twist = desired[TWIST + r] + numbers[GAIN] * task.error[r]
        task.twist[r] = twist * numbers[CONTROLLED + r]
    n = task.freedom.size
    for i in range(n):
        task.freedom[i] = task.joints[FREEDOM, i]
        task.held[i] = task.wish[i] = 0.0
    fill_jacobian(task)
    wanted = numbers[POSTURE_GAIN] + numbers[AVOIDANCE_GAIN] + numbers[MANIPULABILITY_GAIN] != 0.0
    if wanted:
        wanted_velocity(q, memory)
    for _ in range(n + 1):
        _solve(q, memory, task, wanted, v)
        if not _hold_one(q, task, v):
            break
        wanted = True
        fill_jacobian(task)
    return _within_speeds(task, v)


@inlined
def fill_jacobian(task):
    """Write the Jacobian of joints and rows that are free into ``task.jacobian``."""
    n = task.freedom.size
    for r in range(6):
        for i in range(n):
            free = task.freedom[i] * task.numbers[CONTROLLED + r]
            task.jacobian[r, i] = task.actual[12 + n * r + i] * free


@inlined
def _solve(q, memory, task, wanted, v):
    """Write v_0 + J^+ (x - J v_0) into `v`; v_0 is 0 unless some is `wanted`."""
    task.report[ESCAPING] = 0.0
    if not factorized(task, memory):
        _solve_decomposed(q, memory, v)
        return
    for i in range(task.freedom.size):
        task.null[i] = v[i] = task.wish[i]
    for r in range(6):
        task.rest[r] = task.twist[r]
    if wanted:
        _subtract_null_motion(task)
    add_factorized(task, v)


@late
def _solve_decomposed(q, memory, v):
    """Do the same where the Jacobian is near singular, and leave a posture that blocks x."""
    task = task_of(memory)
    n = task.freedom.size
    find_singular_values(task)
    for i in range(n):
        task.null[i] = task.wish[i]
    for leaving in (task.numbers[ESCAPE] != 0.0, False):
        for r in range(6):
            task.rest[r] = task.twist[r]
        _subtract_null_motion(task)
        if leaving:
            add_escape(q, memory)
    for i in range(n):
        v[i] = task.null[i]
    add_decomposed(task, v)


@inlined
def _subtract_null_motion(task):
    """Subtract J v_0 from ``task.rest``."""
    n = task.freedom.size
    for r in range(6):
        total = 0.0
        for i in range(n):
            total += task.actual[12 + n * r + i] * task.null[i]
        task.rest[r] -= total * task.numbers[CONTROLLED + r]


@inlined
def _hold_one(q, task, v):
    """Hold the free joint that exceeds its position bounds most; return whether there is one."""
    joints, rate = task.joints, task.numbers[LIMIT_GAIN]
    worst, most, bound = -1, 1e-12, 0.0
    for i in range(task.freedom.size):
        if task.held[i] != 0.0:
            continue
        low = rate * (joints[Q_MIN, i] - q[i])
        high = rate * (joints[Q_MAX, i] - q[i])
        if low - v[i] > most:
            worst, most, bound = i, low - v[i], low
        elif v[i] - high > most:
            worst, most, bound = i, v[i] - high, high
    if worst < 0:
        return False
    task.held[worst] = 1.0
    task.freedom[worst] = 0.0
    task.wish[worst] = bound
    return True


@inlined
def _within_speeds(task, v):
    """Scale `v` into the speed limits, its direction kept; return the scale."""
    scale, joints = 1.0, task.joints
    for i in range(task.freedom.size):
        speed = abs(v[i])
        if speed * scale > joints[V_MAX, i]:
            scale = joints[V_MAX, i] / speed
    if scale < 1.0:
        for i in range(task.freedom.size):
            v[i] *= scale
    task.report[SCALE] = scale
    return scale
