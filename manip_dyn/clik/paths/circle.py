"""Circles in any plane."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.paths.path import Path, harmonic
from manip_dyn.clik.paths.timing import Timing
from manip_dyn.clik.task.pose import checked_rotation
from manip_dyn.errors import ManipDynError
from manip_dyn.validate import finite_vector, positive


class Circle(Path):
    """A circle with constant or tangent-following tool orientation.

    By default that of Sariyildiz et al. (2011): at full speed from the first moment on, lap
    after lap. The radius follows from the two printed speeds: linear speed / angular speed.
    """

    def __init__(
        self,
        center: ArrayLike,
        normal: ArrayLike,
        start: ArrayLike,
        rotation: ArrayLike,
        linear_speed: float = 0.1,
        angular_speed: float = 0.2,
        *,
        ramp: float = 0.0,
        rounds: float | None = None,
        follow_tangent: bool = False,
    ):
        """Describe the circle in the base frame.

        Args:
            center: Centre (3,), m.
            normal: Axis of rotation (3,), any length.
            start: Direction (3,) from the centre to the first point; its part along the
                normal is ignored.
            rotation: Orientation of the tool at the start, rotation matrix (3, 3) or quaternion.
            linear_speed: Of the tool, m/s.
            angular_speed: Of the radius, rad/s.
            ramp: Duration of a smooth start (and stop, if there is an end), s.
            rounds: After how many to stop; default: never.
            follow_tangent: Whether the tool turns with the radius.
        """
        middle = finite_vector("circle center", center, 3)
        axis = finite_vector("circle normal", normal, 3)
        outward = finite_vector("circle start", start, 3)
        speed = positive("linear speed", linear_speed, "m/s")
        rate = positive("angular speed", angular_speed, "rad/s")
        if np.linalg.norm(np.cross(axis, outward)) < 1e-9:
            raise ManipDynError(
                f"circle normal {axis.tolist()} and start {outward.tolist()} are parallel or "
                "zero; expected two directions that span a plane"
            )
        axis /= np.linalg.norm(axis)
        outward -= (outward @ axis) * axis
        x = outward / np.linalg.norm(outward)
        self.radius = speed / rate
        end = inf if rounds is None else 2.0 * np.pi * positive("rounds", rounds)
        timing = Timing(rate, ramp, end)
        self.parameters = harmonic(
            timing,
            middle,
            checked_rotation("tool rotation", rotation),
            waves=(
                (self.radius * x, 1.0, 0.5 * np.pi),
                (self.radius * np.cross(axis, x), 1.0, 0.0),
            ),
            turn=axis if follow_tangent else np.zeros(3),
        )
        self.period = 2.0 * np.pi / rate
        self.settled = timing.ramp
        self.duration = timing.time_at(2.0 * np.pi) if rounds is None else timing.duration
