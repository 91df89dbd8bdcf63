"""The CLIK law: joint velocities v = J^+ (twist_d + K e) + null-space motion, within limits.

Closed-loop inverse kinematics (Balestrino, De Maria, Sciavicco 1984; Siciliano 1990) with the
feedback gain K of Sariyildiz et al. (2011), in the redundant form v = v_0 + J^+ (x - J v_0) of
Liegeois (1977) with x = twist_d + K e. Conventions: see `poses`.

Limits. A joint moves towards its limit with a speed of at most `limit_gain` times its distance
from the limit (Faverjon, Tournassoud 1987). A joint that would be faster moves with this speed,
and the others compensate as far as possible: a redundant arm stays on its path. If a joint exceeds
its speed limit, the whole velocity is scaled down, which preserves its direction. Path time slows
down by the same factor, so the tool stays on the path and arrives later.

Null-space velocities v_0:

    posture         k (q_0 - q)
    joint limits    k (middle_i - q_i): minus k times the gradient of
                    1/2 sum_i ((q_i - middle_i) / half range_i)^2, times the half range squared
                    (Liegeois 1977). Joints without limits do not move.
    manipulability  k times the gradient of w = sqrt(det J J^T) (Yoshikawa 1985)

Escape from singular postures. In a singular posture the tool cannot move along the lost directions
u with u^T J = 0. An error along u causes no joint velocity, so a stretched arm (or a robot with
all joints at zero) would remain there. However, a null-space motion v moves the tool along u in
second order, by 1/2 v^T H v with H_ik = u . dJ_i/dq_k. The best direction v is the eigenvector of
the largest eigenvalue of P (s H) P, where P projects onto the null space and s is the sign of the
desired u^T x. If no eigenvalue is positive, the desired motion leads out of reach, and no
null-space motion is added.

The joint speed is |u^T x| / (2 d), the maximum of the damped inverse. It decreases to zero where
the singular value reaches the threshold. (Compare Bedrossian, Flueckiger 1991, on null-space
motions at singular postures; the eigenvector form is ours.)
"""

from __future__ import annotations

from math import isfinite, nan
from typing import Any

import numpy as np

from manip_dyn.clik.law.collision_avoidance import (
    Neighbourhood,
    avoid_collisions,
    examine_all,
)
from manip_dyn.clik.law.inverses import (
    NEGLIGIBLE,
    add_decomposed,
    add_factorized,
    decompose,
    determinant_root,
    factorize,
    factorize_damped,
    find_singular_values,
    substitute,
    write_gram_matrix,
)
from manip_dyn.clik.law.poses import COLUMNS, DESIRED, TWIST, pose_error, scale_orientation_error
from manip_dyn.clik.law.settings import (
    AVOIDANCE_GAIN,
    COLLISION_SCALE,
    COLLISIONS,
    CONTROLLED,
    DAMPING,
    ERROR,
    ESCAPE,
    ESCAPING,
    FREEDOM,
    GAIN,
    KINEMATICS,
    LIMIT_GAIN,
    MANIPULABILITY_GAIN,
    NULL_MOTION,
    ORIENTATION,
    POSTURE,
    POSTURE_GAIN,
    Q_MAX,
    Q_MIN,
    SCALE,
    SINGULAR,
    THRESHOLD,
    V_MAX,
    ClikSettings,
    Task,
    task_of,
)
from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.arrays import (
    VECTOR,
    WORDS,
    address_for,
    call_writing,
    overwrite,
    packed,
    table_of,
    words_of,
)
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.robot import Robot


@inlined
def curvature(actual, u, n, i, k):
    """Return u . dJ_i/dq_k; the Jacobian starts at index 12 of `actual`.

    The derivative of a linear column is the angular column of the joint nearer to the base,
    crossed with the linear column of the other joint. An angular column changes only with joints
    nearer to the base. (Kinematic Hessian: Hourtash 2005; valid for prismatic joints, too.)
    """
    low, high = (i, k) if i < k else (k, i)
    total = _triple(actual, u, 0, n, low, high, 0)
    if k < i:
        total += _triple(actual, u, 3, n, k, i, 3)
    return total


@inlined
def _triple(actual, u, first, n, low, high, part):
    """Return u[first:first + 3] . (angular part of J_low x J_high[part:part + 3])."""
    a = 12 + 3 * n + low
    b = 12 + part * n + high
    ax, ay, az = actual[a], actual[a + n], actual[a + 2 * n]
    x, y, z = actual[b], actual[b + n], actual[b + 2 * n]
    return (
        u[first] * (ay * z - az * y)
        + u[first + 1] * (az * x - ax * z)
        + u[first + 2] * (ax * y - ay * x)
    )


MEASURE_FLOOR = 1e-3
"""Damping for the gradient of w, as a fraction of the damping threshold."""


@compiled(short=True)
def desired_null_velocity(memory):
    """Write the desired null-space velocity into ``task.wish`` (n,)."""
    task = task_of(memory)
    q, numbers, joints = task.q, task.numbers, task.joints
    posture, avoidance = numbers[POSTURE_GAIN], numbers[AVOIDANCE_GAIN]
    for i in range(task.wish.size):
        wish = 0.0
        if posture != 0.0:
            wish += posture * (joints[POSTURE, i] - q[i])
        if avoidance != 0.0:
            middle = 0.5 * (joints[Q_MIN, i] + joints[Q_MAX, i])
            if isfinite(middle):
                wish += avoidance * (middle - q[i])
        task.wish[i] = wish
    if numbers[MANIPULABILITY_GAIN] != 0.0:
        _add_manipulability_gradient(task)


@inlined
def _add_manipulability_gradient(task):
    """Add gain times dw/dq_k = w trace(J^T (J J^T)^-1 dJ/dq_k) to ``task.wish``."""
    n, numbers = task.wish.size, task.numbers
    write_gram_matrix(task.jacobian, numbers, task.square)
    if not factorize(task.square, MEASURE_FLOOR * numbers[THRESHOLD], task.factor):
        return
    measure = determinant_root(task.factor, numbers)
    for i in range(n):
        for r in range(6):
            task.rest[r] = task.jacobian[r, i]
        substitute(task.factor, task.rest)
        factor = numbers[MANIPULABILITY_GAIN] * measure * task.freedom[i]
        for k in range(n):
            task.wish[k] += factor * curvature(task.actual, task.rest, n, i, k)


NEGLIGIBLE_EIGENVALUE = 1e-9
"""Eigenvalues up to this fraction of the norm of P (s H) P count as zero."""


@inlined
def _add_escape(task):
    """Add the velocity that leaves a singularity to ``task.null``.

    The singular values must be available, and ``task.rest`` must be the required twist x (6,).
    """
    threshold = task.numbers[THRESHOLD]
    lost, blocked = -1, 0.0
    for k in range(6):
        ratio = task.values[k] / threshold
        component = 0.0
        for r in range(6):
            component += task.basis[r, k] * task.rest[r]
        component *= max(1.0 - ratio * ratio, 0.0)
        if abs(component) > abs(blocked):
            lost, blocked = k, component
    if lost < 0:
        return
    _write_projector(task, threshold)
    sign = 1.0 if blocked > 0.0 else -1.0
    _second_order(task, sign, lost)
    largest = _largest_eigenvector(task.hessian, task.directions, task.speeds)
    if largest < 0:
        return
    speed = abs(blocked) / (2.0 * max(task.numbers[DAMPING], NEGLIGIBLE))
    task.report[ESCAPING] = speed
    speed *= _escape_side(task, sign, lost, largest)
    for i in range(task.null.size):
        task.null[i] += speed * task.freedom[i] * task.directions[i, largest]


@inlined
def _write_projector(task, threshold):
    """Write the projector onto joint velocities that move the tool only along lost directions."""
    projector = task.projector
    n = projector.shape[0]
    for i in range(n):
        for j in range(n):
            projector[i, j] = 1.0 if i == j and task.freedom[i] != 0.0 else 0.0
    for k in range(6):
        value = task.values[k]
        if value < threshold:
            continue
        for i in range(n):
            for j in range(n):
                projector[i, j] -= task.rows[k, i] * task.rows[k, j] / (value * value)


@inlined
def _second_order(task, sign, lost):
    """Write P (s H) P in weighted joint coordinates into ``task.hessian`` (n, n)."""
    actual, hessian = task.actual, task.hessian
    n = hessian.shape[0]
    for r in range(6):
        task.lost[r] = task.basis[r, lost]
    for i in range(n):
        for k in range(i + 1):
            both = curvature(actual, task.lost, n, i, k)
            both += curvature(actual, task.lost, n, k, i)
            both *= 0.5 * sign * task.freedom[i] * task.freedom[k]
            hessian[i, k] = hessian[k, i] = both
    _multiply_square(task.projector, hessian, task.directions)
    _multiply_square(task.directions, task.projector, hessian)


@inlined
def _multiply_square(left, right, product):
    """Write the product of two matrices (n, n)."""
    n = left.shape[0]
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += left[i, k] * right[k, j]
            product[i, j] = total


@inlined
def _largest_eigenvector(matrix, vectors, values):
    """Return the column of `vectors` for the largest eigenvalue; -1 if none is positive.

    The matrix is overwritten. It is shifted by its norm, so that its eigenvalues equal its
    singular values. These are written into `values`.
    """
    n = matrix.shape[0]
    size = 0.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += abs(matrix[i, j])
        size = max(size, total)
    if size < 1e-9:
        return -1
    for i in range(n):
        matrix[i, i] += size
    decompose(matrix, vectors, values)
    return 0 if values[0] - size > NEGLIGIBLE_EIGENVALUE * size else -1


@inlined
def _escape_side(task, sign, lost, column):
    """Return the sign of the eigenvector along which the arm leaves a singularity, 1 or -1.

    The arm stays on its current side. Exactly at the singularity it moves towards the middle of
    the joint ranges. If that is not decisive, the largest component is positive.
    """
    joints, directions = task.joints, task.directions
    progress = middle = largest = 0.0
    for i in range(task.null.size):
        component = directions[i, column]
        for r in range(6):
            progress += sign * task.basis[r, lost] * task.jacobian[r, i] * component
        center = 0.5 * (joints[Q_MIN, i] + joints[Q_MAX, i])
        if abs(center) < 1e9:
            middle += (center - task.q[i]) * component
        if abs(component) > abs(largest) + 1e-6:
            largest = component
    decisive = largest
    if abs(middle) > 1e-3:
        decisive = middle
    if abs(progress) > 1e-9:
        decisive = progress
    return 1.0 if decisive >= 0.0 else -1.0


@compiled(short=True)
def joint_velocity(q, memory, v):
    """Write the joint velocities (n,) into `v` and return the speed scale, at most 1.

    The velocities are NaN if they require a function that was not compiled, see `law_memory`.

    Args:
        q: Joint positions (n,); additional entries are ignored.
        memory: See `law_memory`; ``desired`` contains the desired pose and twist.
        v: Joint velocities (n,); additional entries are ignored.
    """
    task = task_of(memory)
    numbers = task.numbers
    for i in range(task.q.size):
        task.q[i] = q[i]
    call_kernel(task.functions[KINEMATICS], (task.q, task.actual))
    cosine = pose_error(task.desired, task.actual, task.error)
    if (numbers[ERROR] != COLUMNS or not cosine >= 0.0) and not _call(ORIENTATION, memory):
        task.error[3] = nan
    for r in range(6):
        twist = task.desired[TWIST + r] + numbers[GAIN] * task.error[r]
        task.twist[r] = twist * numbers[CONTROLLED + r]
    n = task.freedom.size
    for i in range(n):
        task.freedom[i] = task.joints[FREEDOM, i]
        task.held[i] = task.wish[i] = 0.0
    fill_jacobian(task)
    task.report[COLLISION_SCALE] = 1.0
    gains = numbers[POSTURE_GAIN] + numbers[AVOIDANCE_GAIN] + numbers[MANIPULABILITY_GAIN]
    null_motion = gains != 0.0
    if null_motion:
        _call(NULL_MOTION, memory)
    for _ in range(n + 1):
        _solve(memory, null_motion, v)
        if task.functions[COLLISIONS]:
            call_writing(task.functions[COLLISIONS], (memory, v))
        if not _hold_worst_joint(task, v):
            break
        null_motion = True
        fill_jacobian(task)
    return _scale_to_speed_limits(task, v)


@inlined
def _call(index, memory):
    """Call a function of the table with the memory; return whether the table contains it."""
    address = task_of(memory).functions[index]
    if address:
        call_writing(address, (memory,))
        return True
    return False


@inlined
def fill_jacobian(task):
    """Write the Jacobian of the task (6, n) into ``task.jacobian``.

    Column i is multiplied by ``task.freedom[i]``, which is 0 if joint i must not move, otherwise
    1. Rows of components that are not controlled are 0.
    """
    n = task.freedom.size
    for r in range(6):
        for i in range(n):
            free = task.freedom[i] * task.numbers[CONTROLLED + r]
            task.jacobian[r, i] = task.actual[12 + n * r + i] * free


@inlined
def _solve(memory, null_motion, v):
    """Write v_0 + J^+ (x - J v_0) into `v`, with v_0 = ``task.wish`` and x = ``task.twist``.

    Without `null_motion` v_0 is 0. The velocities are NaN if singular postures are not compiled.
    """
    task = task_of(memory)
    task.report[ESCAPING] = 0.0
    if not factorize_damped(task):
        solved = _call(SINGULAR, memory)
        for i in range(task.freedom.size):
            v[i] = task.null[i] if solved else nan
        return
    for i in range(task.freedom.size):
        task.null[i] = v[i] = task.wish[i]
    for r in range(6):
        task.rest[r] = task.twist[r]
    if null_motion:
        _subtract_null_motion(task)
    add_factorized(task, v)


@compiled(short=True)
def solve_decomposed(memory):
    """Write v_0 + J^+ (x - J v_0) near a singularity, including the escape, to ``task.null``."""
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
            _add_escape(task)
    add_decomposed(task, task.null)


@inlined
def _subtract_null_motion(task):
    """Subtract J v_0 from ``task.rest``, with v_0 = ``task.null``."""
    n = task.freedom.size
    for r in range(6):
        total = 0.0
        for i in range(n):
            total += task.actual[12 + n * r + i] * task.null[i]
        task.rest[r] -= total * task.numbers[CONTROLLED + r]


@inlined
def _hold_worst_joint(task, v):
    """Hold the joint whose speed towards a limit exceeds its bound most.

    It then moves at this bound, see `limit_gain`. Return whether there is such a joint.
    """
    q, joints, rate = task.q, task.joints, task.numbers[LIMIT_GAIN]
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
def _scale_to_speed_limits(task, v):
    """Scale `v` to the speed limits without changing its direction; return the scale."""
    scale, joints = 1.0, task.joints
    for i in range(task.freedom.size):
        speed = abs(v[i])
        if speed * scale > joints[V_MAX, i]:
            scale = joints[V_MAX, i] / speed
    if scale < 1.0:
        for i in range(task.freedom.size):
            v[i] *= scale
    scale *= task.report[COLLISION_SCALE]
    task.report[SCALE] = scale
    return scale


@compiled(short=True)
def scale_error(memory):
    """Replace the orientation error sin(theta) a in ``task.error`` with the selected one."""
    task = task_of(memory)
    scale_orientation_error(task.desired, task.actual, task.numbers[ERROR], task.error)


def law_memory(
    robot: Robot,
    settings: ClikSettings,
    step: float,
    complete: bool = True,
    hood: Neighbourhood | None = None,
) -> Any:
    """Return a packed `Task` with the constants of a law.

    Args:
        robot: The arm.
        settings: Settings of the law.
        step: Time for which each velocity is applied, s.
        complete: Whether to compile all functions of the law. Otherwise functions for large errors
            and singular postures may be missing, see `joint_velocity`.
        hood: Pairs whose collisions are avoided. The caller must not discard it.
    """
    n, zeros = robot.n, np.zeros
    task = Task(
        numbers=settings.numbers(step),
        square=zeros((6, 6)),
        factor=zeros((6, 6)),
        basis=zeros((6, 6)),
        values=zeros(6),
        error=zeros(6),
        twist=zeros(6),
        rest=zeros(6),
        report=zeros(5),
        lost=zeros(6),
        functions=table_of(
            [
                *addresses(robot, "kinematics"),
                *_branches(settings, complete),
                address_for(avoid_collisions, (WORDS, VECTOR)) if hood is not None else 0,
            ]
        ),
        neighbourhood=np.zeros(0, dtype=np.int64) if hood is None else words_of(hood),
        desired=zeros(DESIRED),
        actual=zeros(12 + 6 * n),
        q=zeros(n),
        jacobian=zeros((6, n)),
        rows=zeros((6, n)),
        joints=settings.joints(robot),
        wish=zeros(n),
        null=zeros(n),
        freedom=zeros(n),
        held=zeros(n),
        speeds=zeros(n),
        hessian=zeros((n, n)),
        directions=zeros((n, n)),
        projector=zeros((n, n)),
    )
    return packed(task)


def _branches(settings: ClikSettings, complete: bool) -> list[Any]:
    """Return the addresses of the law's branches, 0 for missing ones; see `Task.functions`."""
    needed = {
        scale_error: settings.orientation_error != "columns",
        desired_null_velocity: settings.has_null_motion,
        solve_decomposed: False,  # only near singular postures
    }
    return [
        address_for(branch, (WORDS,)) if complete or used else 0 for branch, used in needed.items()
    ]


def set_constants(
    memory: Any,
    robot: Robot,
    settings: ClikSettings,
    step: float,
    complete: bool = True,
    hood: Neighbourhood | None = None,
) -> None:
    """Overwrite `memory` with a new `law_memory`.

    Invalid constants raise `ManipDynError` and change nothing.
    """
    overwrite(memory, law_memory(robot, settings, step, complete, hood))
    if hood is not None:
        examine_all(hood)
