"""Poses of the tool, their frames, and errors between two poses.

- Poses, twists, errors and Jacobians are those of the tool (`robot.tip`) in the robot's base
  frame. Positions are in m along the base axes. The columns of a rotation matrix R are the tool's
  axes: R turns tool coordinates into base coordinates.
- A twist (6,) is the linear velocity of the tool's origin, m/s, then the angular velocity, rad/s,
  both along the base axes: the time derivative of the pose, dR/dt = skew(w) R. The Jacobian is the
  geometric one, J v = twist.
- An error (6,) leads from the actual to the desired pose: the position error p_d - p, then one of
  the orientation errors below, both along the base axes.
- Quaternions are (x, y, z, w), as in ROS and SciPy.

In compiled code a desired pose is one array (18,): position (3), rotation by rows (9), twist (6).

If the rotation from the actual to the desired orientation has the axis a and the angle theta, the
orientation error is

    columns     sin(theta) a = 1/2 sum_i n_i x n_d,i over the columns of the rotation matrices
                (Luh, Walker, Paul 1980; Sariyildiz et al. 2011). Beyond 90 degrees the error is a,
                because the sine decreases to zero and the tool would stay at a wrong orientation.
    quaternion  2 sin(theta / 2) a: twice the vector part of the error quaternion (Yuan 1988)
    log         theta a: the logarithm of R_d R^T

All three agree for small angles. At 180 degrees one of the two opposite axes is chosen.
"""

from __future__ import annotations

from math import atan2, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector, finite_vector, rotation_matrix
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.errors import ManipDynError, closest

POSITION, ROTATION, TWIST, DESIRED = 0, 3, 12, 18
"""Offsets of position, rotation and twist in a desired pose, and its size."""
UNIT = 0.01
"""Largest accepted deviation of the norm of a quaternion from 1."""


class Pose(NamedTuple):
    """A pose in the base frame: position (3,) in m and rotation matrix (3, 3)."""

    position: Vector
    rotation: Vector


def checked_pose(name: str, value: Any) -> Pose:
    """Check a position and an orientation (see `checked_rotation`); return them as a `Pose`."""
    try:
        position, orientation = value
    except (TypeError, ValueError) as error:
        raise ManipDynError(
            f"{name} must be a pair of a position and an orientation, got {value!r}."
        ) from error
    return Pose(
        finite_vector(f"{name} position", position, 3),
        checked_rotation(f"{name} orientation", orientation),
    )


def checked_rotation(name: str, value: ArrayLike) -> Matrix:
    """Return a rotation matrix (3, 3) or a quaternion x, y, z, w (4,) as a rotation matrix."""
    try:
        is_quaternion = np.shape(value) == (4,)
    except ValueError:  # rows of different lengths
        is_quaternion = False
    if not is_quaternion:
        return rotation_matrix(name, value)
    quaternion = finite_vector(name, value, 4)
    if abs(np.linalg.norm(quaternion) - 1.0) > UNIT:
        raise ManipDynError(f"{name} must be a quaternion of length 1, got {quaternion.tolist()}.")
    from scipy.spatial.transform import Rotation  # slow to load

    return Rotation.from_quat(quaternion).as_matrix()


ERRORS = ("columns", "quaternion", "log")
COLUMNS, QUATERNION, LOG = range(3)


def task_error(desired: Pose, actual: Pose, orientation: str = "columns") -> Vector:
    """Return the position error, m, and the orientation error as one array (6,), base frame.

    `orientation` is one of `ERRORS`, see the module docstring. ``log`` is in rad; the two others
    approximate it for small angles.
    """
    if orientation not in ERRORS:
        hint = closest(str(orientation), ERRORS)
        raise ManipDynError(
            f"orientation error must be one of {', '.join(ERRORS)}, got '{orientation}'{hint}"
        )
    target, pose, error = np.empty(12), np.empty(12), np.empty(6)
    for array, source in ((target, desired), (pose, actual)):
        array[:3], array[3:] = source.position, np.ravel(source.rotation)
    kind = ERRORS.index(orientation)
    cosine = pose_error(target, pose, error)
    if kind != COLUMNS or not cosine >= 0.0:
        scale_orientation_error(target, pose, float(kind), error)
    return error


@compiled(short=True)
def pose_error(desired, actual, error):
    """Write the error (6,) between two poses with the orientation error sin(theta) a.

    The first 12 entries of `desired` and `actual` are the poses. The function returns cos(theta).
    The error is final for ``columns`` up to 90 degrees. In all other cases, it must be scaled by
    `scale_orientation_error`.
    """
    for i in range(3):
        error[i] = desired[i] - actual[i]
    error[3] = 0.5 * (_entry(desired, actual, 2, 1) - _entry(desired, actual, 1, 2))
    error[4] = 0.5 * (_entry(desired, actual, 0, 2) - _entry(desired, actual, 2, 0))
    error[5] = 0.5 * (_entry(desired, actual, 1, 0) - _entry(desired, actual, 0, 1))
    return _cosine(desired, actual)


@inlined
def _cosine(desired, actual):
    """Return cos(theta) = (trace E - 1) / 2 with E = R_d R^T."""
    xx = _entry(desired, actual, 0, 0)
    yy = _entry(desired, actual, 1, 1)
    zz = _entry(desired, actual, 2, 2)
    return 0.5 * (xx + yy + zz - 1.0)


@inlined
def _entry(desired, actual, i, j):
    """Return an entry of E = R_d R^T."""
    return (
        desired[3 + 3 * i] * actual[3 + 3 * j]
        + desired[4 + 3 * i] * actual[4 + 3 * j]
        + desired[5 + 3 * i] * actual[5 + 3 * j]
    )


@compiled(short=True)
def scale_orientation_error(desired, actual, kind, error):
    """Scale sin(theta) a in ``error[3:6]`` to the error `kind`, an index of `ERRORS`.

    For ``columns``, theta must be above 90 degrees: the error becomes a.
    """
    cosine = _cosine(desired, actual)
    if cosine > -0.5:
        # sin(theta) is well above 0, or theta is small.
        w = sqrt(0.5 * (1.0 + min(cosine, 1.0)))
        for i in range(3, 6):
            error[i] *= 0.5 / w
    else:
        w = _large_angle_quaternion(desired, actual, error)
    sine = sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5])
    factor = 2.0
    if kind == LOG and sine > 1e-9:
        factor = 2.0 * atan2(sine, w) / sine
    elif kind == COLUMNS:
        factor = 1.0 / sine
    for i in range(3, 6):
        error[i] *= factor


@inlined
def _large_angle_quaternion(desired, actual, error):
    """Replace sin(theta) a in ``error[3:6]`` with the vector part of the error quaternion.

    This form is for angles above 120 degrees. It computes the largest component from the diagonal
    of E (Shepperd 1978) and returns the scalar part w >= 0.
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
