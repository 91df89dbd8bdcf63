"""How the law leaves a singular posture that blocks what it wants.

In a singular posture the tool cannot move along the lost directions u, u^T J = 0: an error along
one of them gives no joint velocity at all, and an arm that is stretched (or a robot at all zeros)
would stay there for good. But a null-space motion v moves the tool along u in second order, by
1/2 v^T H v with H_ik = u . dJ_i/dq_k. The null-space direction in which u x is gained fastest is
the eigenvector of the largest eigenvalue of P (s H) P, where P projects on the null space and s
is the sign of the wanted u^T x. If no eigenvalue is positive, the wanted motion leads out of
reach: then nothing is added, until the target allows it.

The joint speed is that of the damped inverse at its worst, |u^T x| / (2 d), fading to zero where
the singular value reaches the threshold. (Compare Bedrossian, Flueckiger 1991, on null-space
motions at singular postures; the eigenvector form is ours.)
"""

from __future__ import annotations

from manip_dyn.clik.law.curvature import curvature
from manip_dyn.clik.law.inverse import NEGLIGIBLE
from manip_dyn.clik.law.settings import DAMPING, Q_MAX, Q_MIN, THRESHOLD
from manip_dyn.clik.law.singular import decompose
from manip_dyn.clik.law.workspace import ESCAPING, task_of
from manip_dyn.core.compiled import inlined
from manip_dyn.core.compiled.late import late

FLAT = 1e-9
"""Share of the size of H below which an eigenvalue is zero."""


@late
def add_escape(q, memory):
    """Add to ``task.null`` what leads out of a singularity; needs the singular values.

    ``task.rest`` is the wanted twist x (6,).
    """
    task = task_of(memory)
    threshold = task.numbers[THRESHOLD]
    lost, blocked = -1, 0.0
    for k in range(6):
        ratio = task.values[k] / threshold
        share = 0.0
        for r in range(6):
            share += task.basis[r, k] * task.rest[r]
        share *= max(1.0 - ratio * ratio, 0.0)
        if abs(share) > abs(blocked):
            lost, blocked = k, share
    if lost < 0:
        return
    _project(task, threshold)
    sign = 1.0 if blocked > 0.0 else -1.0
    _second_order(task, sign, lost)
    largest = _largest_eigenvector(task.hessian, task.directions, task.speeds)
    if largest < 0:
        return
    speed = abs(blocked) / (2.0 * max(task.numbers[DAMPING], NEGLIGIBLE))
    task.report[ESCAPING] = speed
    speed *= _side(q, task, sign, lost, largest)
    for i in range(task.null.size):
        task.null[i] += speed * task.freedom[i] * task.directions[i, largest]


@inlined
def _project(task, threshold):
    """Write the projector on velocities that move the tool along lost directions only."""
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
    """Write P (s H) P, symmetric, in weighted joint coordinates."""
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
    _multiply(task.projector, hessian, task.directions)
    _multiply(task.directions, task.projector, hessian)


@inlined
def _multiply(left, right, product):
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
    """Return the column of `vectors` of the largest eigenvalue; -1 if none is above zero.

    The matrix is shifted by its size, so that singular values are eigenvalues; it is overwritten.
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
    return 0 if values[0] - size > FLAT * size else -1


@inlined
def _side(q, task, sign, lost, column):
    """Return 1 or -1: on which side of the singularity to leave it.

    On the side where the arm already is; exactly in it towards the middle of the joint ranges,
    and if that does not decide, so that the largest component is positive.
    """
    joints, directions = task.joints, task.directions
    progress = middle = largest = 0.0
    for i in range(task.null.size):
        component = directions[i, column]
        for r in range(6):
            progress += sign * task.basis[r, lost] * task.jacobian[r, i] * component
        center = 0.5 * (joints[Q_MIN, i] + joints[Q_MAX, i])
        if abs(center) < 1e9:
            middle += (center - q[i]) * component
        if abs(component) > abs(largest) + 1e-6:
            largest = component
    decisive = largest
    if abs(middle) > 1e-3:
        decisive = middle
    if abs(progress) > 1e-9:
        decisive = progress
    return 1.0 if decisive >= 0.0 else -1.0
