"""Paths of the tool in SE(3), as functions of time."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.errors import ManipDynError
from manip_dyn.validate import Vector, finite_vector, positive, rotation_matrix


class Pose(NamedTuple):
    """A pose in the base frame: position (3,) in m and rotation matrix (3, 3)."""

    position: Vector
    rotation: Vector


class Path(Protocol):
    """Where the tool should be; `period` is the time of one round in s."""

    period: float

    def pose(self, t: float) -> Pose:
        """Return the desired pose at time `t` in s."""

    def twist(self, t: float) -> Vector:
        """Return the desired linear and angular velocity (6,), base frame, m/s and rad/s."""


class Circle:
    """A circle at constant speed with constant tool orientation (Sariyildiz et al. 2011).

    The radius follows from the two printed speeds: linear speed / angular speed.
    """

    def __init__(
        self,
        center: ArrayLike,
        normal: ArrayLike,
        start: ArrayLike,
        rotation: ArrayLike,
        linear_speed: float = 0.1,
        angular_speed: float = 0.2,
    ):
        """Describe the circle in the base frame.

        Args:
            center: Centre (3,), m.
            normal: Axis of rotation (3,), any length.
            start: Direction (3,) from the centre to the first point; its part along the
                normal is ignored.
            rotation: Orientation of the tool, rotation matrix (3, 3).
            linear_speed: Of the tool, m/s.
            angular_speed: Of the radius, rad/s.
        """
        self._center = finite_vector("circle center", center, 3)
        axis = finite_vector("circle normal", normal, 3)
        outward = finite_vector("circle start", start, 3)
        self._speed = positive("linear speed", linear_speed, "m/s")
        self._rate = positive("angular speed", angular_speed, "rad/s")
        if np.linalg.norm(np.cross(axis, outward)) < 1e-9:
            raise ManipDynError(
                f"circle normal {axis.tolist()} and start {outward.tolist()} are parallel or "
                "zero; expected two directions that span a plane"
            )
        axis /= np.linalg.norm(axis)
        outward -= (outward @ axis) * axis
        self._x = outward / np.linalg.norm(outward)
        self._y = np.cross(axis, self._x)
        self._rotation = rotation_matrix("tool rotation", rotation)
        self.radius = self._speed / self._rate
        self.period = 2.0 * np.pi / self._rate

    def pose(self, t: float) -> Pose:
        """Return the desired pose at time `t` in s."""
        angle = self._rate * t
        spoke = np.cos(angle) * self._x + np.sin(angle) * self._y
        return Pose(self._center + self.radius * spoke, self._rotation)

    def twist(self, t: float) -> Vector:
        """Return the desired velocity (6,): linear m/s, angular rad/s (zero)."""
        angle = self._rate * t
        tangent = -np.sin(angle) * self._x + np.cos(angle) * self._y
        return np.concatenate([self._speed * tangent, np.zeros(3)])
