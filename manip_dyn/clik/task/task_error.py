"""The error between a desired and an actual tool pose; frames: see `pose`.

Of an angle theta about the axis a that leads from the actual to the desired orientation, the
orientation error is

    columns     sin(theta) a = 1/2 sum_i n_i x n_d,i over the columns of the rotation matrices
                (Luh, Walker, Paul 1980; Sariyildiz et al. 2011); beyond 90 degrees, where the
                sine falls to zero again and the tool would stay turned away, a itself
    quaternion  2 sin(theta / 2) a: twice the vector part of the error quaternion (Yuan 1988)
    log         theta a: the logarithm of R_d R^T

All three are equal for small angles. At 180 degrees one of the two axes is chosen.
"""

from __future__ import annotations

from math import atan2, sqrt

import numpy as np

from manip_dyn.clik.task.pose import Pose
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.compiled.late import late
from manip_dyn.core.errors import ManipDynError, closest

ERRORS = ("columns", "quaternion", "log")
COLUMNS, QUATERNION, LOG = range(3)


def task_error(desired: Pose, actual: Pose, orientation: str = "columns") -> Vector:
    """Return position and orientation error (6,), base frame, m and (for small angles) rad."""
    if orientation not in ERRORS:
        hint = closest(str(orientation), ERRORS)
        raise ManipDynError(
            f"orientation error is '{orientation}'; expected one of {', '.join(ERRORS)}{hint}"
        )
    target, pose, error = np.empty(12), np.empty(12), np.empty(6)
    for array, each in ((target, desired), (pose, actual)):
        array[:3], array[3:] = each.position, np.ravel(each.rotation)
    pose_error(target, pose, float(ERRORS.index(orientation)), error)
    return error


@compiled(short=True)
def pose_error(desired, actual, kind, error):
    """Write the error (6,) of two poses (12,) or longer; `kind` is an index of `ERRORS`."""
    for i in range(3):
        error[i] = desired[i] - actual[i]
    # Entries of E = R_d R^T.
    xx = _entry(desired, actual, 0, 0)
    yy = _entry(desired, actual, 1, 1)
    zz = _entry(desired, actual, 2, 2)
    error[3] = 0.5 * (_entry(desired, actual, 2, 1) - _entry(desired, actual, 1, 2))
    error[4] = 0.5 * (_entry(desired, actual, 0, 2) - _entry(desired, actual, 2, 0))
    error[5] = 0.5 * (_entry(desired, actual, 1, 0) - _entry(desired, actual, 0, 1))
    cosine = 0.5 * (xx + yy + zz - 1.0)
    if kind != COLUMNS or not cosine >= 0.0:
        _scale(desired, actual, kind, cosine, error)


@inlined
def _entry(desired, actual, i, j):
    return (
        desired[3 + 3 * i] * actual[3 + 3 * j]
        + desired[4 + 3 * i] * actual[4 + 3 * j]
        + desired[5 + 3 * i] * actual[5 + 3 * j]
    )


@late
def _scale(desired, actual, kind, cosine, error):
    """Scale sin(theta) a, in ``error[3:6]``, to the error of another kind or a large angle."""
    if cosine > -0.5:
        # sin(theta) is well above 0, or theta is small.
        w = sqrt(0.5 * (1.0 + min(cosine, 1.0)))
        for i in range(3, 6):
            error[i] *= 0.5 / w
    else:
        w = _turned_away(desired, actual, error)
    sine = sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5])
    factor = 2.0
    if kind == LOG and sine > 1e-9:
        factor = 2.0 * atan2(sine, w) / sine
    elif kind == COLUMNS:
        factor = 1.0 / sine
    for i in range(3, 6):
        error[i] *= factor


@inlined
def _turned_away(desired, actual, error):
    """Turn sin(theta) a in ``error[3:6]`` into the quaternion of an angle above 120 degrees.

    Returns its scalar part, w >= 0. The largest component comes from the diagonal of E's
    symmetric part (Shepperd 1978).
    """
    first, largest = 0, -1.0
    for i in range(3):
        entry = _entry(desired, actual, i, i)
        if entry > largest:
            first, largest = i, entry
    square = 1.0 + largest
    for i in range(3):
        if i != first:
            square -= _entry(desired, actual, i, i)
    a = 0.5 * sqrt(max(square, 0.0))
    w = 0.5 * error[3 + first] / a
    sign = 1.0 if w >= 0.0 else -1.0
    error[3 + first] = sign * a
    for i in range(3):
        if i != first:
            both = _entry(desired, actual, first, i) + _entry(desired, actual, i, first)
            error[3 + i] = sign * 0.25 * both / a
    return sign * w
