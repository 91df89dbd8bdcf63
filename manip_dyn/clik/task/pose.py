"""Poses and frames: the conventions of everything in `clik`.

- Poses, twists, errors and Jacobians are those of the tool (`robot.tip`) in the robot's base
  frame: positions in m along the base axes, rotation matrices R with the tool's axes as columns,
  so that R turns tool coordinates into base coordinates.
- A twist (6,) is linear velocity of the tool's origin, m/s, then angular velocity, rad/s, both
  along the base axes: the time derivative of the pose, dR/dt = skew(w) R. The Jacobian is the
  geometric one, J v = twist.
- An error (6,) leads from the actual to the desired pose: position p_d - p, then orientation, a
  vector along the base axes about which the tool has to turn.
- Quaternions are (x, y, z, w), as in ROS and scipy.

In compiled code a desired pose is one array (18,): position (3), rotation by rows (9), twist (6).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector, finite_vector, rotation_matrix
from manip_dyn.core.errors import ManipDynError

POSITION, ROTATION, TWIST, DESIRED = 0, 3, 12, 18
"""Where the parts of a desired pose begin, and its size."""
UNIT = 0.01
"""How far from 1 the length of a quaternion may be."""


class Pose(NamedTuple):
    """A pose in the base frame: position (3,) in m and rotation matrix (3, 3)."""

    position: Vector
    rotation: Vector


def checked_pose(name: str, value: Any) -> Pose:
    """Return a pose of a position and an orientation as `checked_rotation` takes it."""
    try:
        position, orientation = value
    except (TypeError, ValueError) as error:
        raise ManipDynError(
            f"{name} is {value!r}; expected a pair of a position and an orientation"
        ) from error
    return Pose(
        finite_vector(f"{name} position", position, 3),
        checked_rotation(f"{name} orientation", orientation),
    )


def checked_rotation(name: str, value: ArrayLike) -> Matrix:
    """Return a rotation matrix (3, 3) of one, or of a quaternion x, y, z, w (4,)."""
    if np.shape(value) != (4,):
        return rotation_matrix(name, value)
    quaternion = finite_vector(name, value, 4)
    if abs(np.linalg.norm(quaternion) - 1.0) > UNIT:
        raise ManipDynError(f"{name} is the quaternion {quaternion.tolist()}; expected a length 1")
    from scipy.spatial.transform import Rotation  # slow to load, as wherever it is imported so

    return Rotation.from_quat(quaternion).as_matrix()
