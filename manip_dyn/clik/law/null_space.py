"""What a redundant arm does beside its task: wanted joint velocities, projected by the law.

posture         k (q_0 - q)
joint limits    -k times the gradient of 1/2 sum_i ((q_i - middle_i) / half range_i)^2, times
the half range squared: towards the middle, 1/s (Liegeois 1977); joints
without limits are left alone
manipulability  k times the gradient of w = sqrt(det J J^T) (Yoshikawa 1985)
"""

from __future__ import annotations

from math import isfinite

from manip_dyn.clik.law.curvature import curvature
from manip_dyn.clik.law.inverse import determinant_root, multiply
from manip_dyn.clik.law.settings import (
    AVOIDANCE_GAIN,
    MANIPULABILITY_GAIN,
    POSTURE,
    POSTURE_GAIN,
    Q_MAX,
    Q_MIN,
    THRESHOLD,
)
from manip_dyn.clik.law.singular import factorize, substitute
from manip_dyn.clik.law.workspace import task_of
from manip_dyn.core.compiled import inlined
from manip_dyn.core.compiled.late import late

FLOOR = 1e-3
"""Share of the damping threshold that the gradient of w takes singular values for at least."""


@late
def wanted_velocity(q, memory):
    """Write the wanted null-space velocities into ``task.wish`` (n,)."""
    task = task_of(memory)
    numbers, joints = task.numbers, task.joints
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
        _add_gradient(task)


@inlined
def _add_gradient(task):
    """Add gain times dw/dq_k = w trace(J^T (J J^T)^-1 dJ/dq_k)."""
    n, numbers = task.wish.size, task.numbers
    multiply(task.jacobian, numbers, task.square)
    if not factorize(task.square, FLOOR * numbers[THRESHOLD], task.factor):
        return
    measure = determinant_root(task.factor, numbers)
    for i in range(n):
        for r in range(6):
            task.rest[r] = task.jacobian[r, i]
        substitute(task.factor, task.rest)
        factor = numbers[MANIPULABILITY_GAIN] * measure * task.freedom[i]
        for k in range(n):
            task.wish[k] += factor * curvature(task.actual, task.rest, n, i, k)
