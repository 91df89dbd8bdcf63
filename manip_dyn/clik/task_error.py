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

from manip_dyn.clik.pose import Pose
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.errors import ManipDynError, closest
from manip_dyn.validate import Vector

ERRORS = ("columns", "quaternion", "log")
COLUMNS, QUATERNION, LOG = range(3)


def task_error(desired: Pose, actual: Pose, orientation: str = "columns") -> Vector:
    """Return position and orientation error (6,), base frame, m and (for small angles) rad."""
    if orientation not in ERRORS:
        hint = closest(str(orientation), ERRORS)
        raise ManipDynError(f"orientation error is '{orientation}'; expected {ERRORS}{hint}")
    target, pose, error = np.empty(12), np.empty(12), np.empty(6)
    for array, each in ((target, desired), (pose, actual)):
        array[:3], array[3:] = each.position, np.ravel(each.rotation)
    pose_error(target, pose, ERRORS.index(orientation), error)
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
    x = 0.5 * (_entry(desired, actual, 2, 1) - _entry(desired, actual, 1, 2))
    y = 0.5 * (_entry(desired, actual, 0, 2) - _entry(desired, actual, 2, 0))
    z = 0.5 * (_entry(desired, actual, 1, 0) - _entry(desired, actual, 0, 1))
    cosine = 0.5 * (xx + yy + zz - 1.0)
    if kind == COLUMNS and cosine >= 0.0:
        error[3], error[4], error[5] = x, y, z
        return
    if cosine > -0.5:
        # |(x, y, z)| = sin(theta) is well above 0, or theta is small.
        w = sqrt(0.5 * (1.0 + min(cosine, 1.0)))
        factor = 0.5 / w
        x, y, z = factor * x, factor * y, factor * z
    else:
        x, y, z, w = _turned_away(desired, actual, xx, yy, zz, x, y, z)
    sine = sqrt(x * x + y * y + z * z)
    if kind == QUATERNION:
        factor = 2.0
    elif kind == LOG:
        factor = 2.0 * atan2(sine, w) / sine if sine > 1e-9 else 2.0
    else:
        factor = 1.0 / sine
    error[3], error[4], error[5] = factor * x, factor * y, factor * z


@inlined
def _entry(desired, actual, i, j):
    return (
        desired[3 + 3 * i] * actual[3 + 3 * j]
        + desired[4 + 3 * i] * actual[4 + 3 * j]
        + desired[5 + 3 * i] * actual[5 + 3 * j]
    )


@inlined
def _turned_away(desired, actual, xx, yy, zz, x, y, z):
    """Return the quaternion of an angle above 120 degrees, w >= 0, from E's symmetric part.

    The largest component comes from the diagonal (Shepperd 1978).
    """
    if xx >= yy and xx >= zz:
        a = 0.5 * sqrt(max(1.0 + xx - yy - zz, 0.0))
        b = 0.25 * (_entry(desired, actual, 0, 1) + _entry(desired, actual, 1, 0)) / a
        c = 0.25 * (_entry(desired, actual, 0, 2) + _entry(desired, actual, 2, 0)) / a
        qx, qy, qz, w = a, b, c, 0.5 * x / a
    elif yy >= zz:
        a = 0.5 * sqrt(max(1.0 + yy - xx - zz, 0.0))
        b = 0.25 * (_entry(desired, actual, 0, 1) + _entry(desired, actual, 1, 0)) / a
        c = 0.25 * (_entry(desired, actual, 1, 2) + _entry(desired, actual, 2, 1)) / a
        qx, qy, qz, w = b, a, c, 0.5 * y / a
    else:
        a = 0.5 * sqrt(max(1.0 + zz - xx - yy, 0.0))
        b = 0.25 * (_entry(desired, actual, 0, 2) + _entry(desired, actual, 2, 0)) / a
        c = 0.25 * (_entry(desired, actual, 1, 2) + _entry(desired, actual, 2, 1)) / a
        qx, qy, qz, w = b, c, a, 0.5 * z / a
    if w < 0.0:
        return -qx, -qy, -qz, -w
    return qx, qy, qz, w
