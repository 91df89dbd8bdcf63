"""Paths with a closed form: lines, circles and Lissajous figures."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.poses import checked_pose, checked_rotation
from manip_dyn.clik.paths.path import Path, Timing, harmonic
from manip_dyn.core.checks import finite_vector, positive
from manip_dyn.core.errors import ManipDynError


class Line(Path):
    """A straight line between two poses.

    The tool rotates about a fixed axis by at most 180 degrees.
    """

    def __init__(
        self,
        start: tuple[ArrayLike, ArrayLike],
        end: tuple[ArrayLike, ArrayLike],
        linear_speed: float = 0.1,
        angular_speed: float = 0.5,
        *,
        ramp: float = 1.0,
    ):
        """Describe the line in the base frame.

        Args:
            start: Position (3,), m, and orientation: rotation matrix (3, 3) or quaternion (4,).
            end: Pose at the end, in the same form.
            linear_speed: Largest linear speed of the tool, m/s.
            angular_speed: Largest angular speed of the tool, rad/s. A tool with enough time
                between its ramps reaches one of the two speeds.
            ramp: Duration of the smooth start and of the stop, s; 0 for constant speed.
        """
        first, last = checked_pose("line start", start), checked_pose("line end", end)
        positive("linear speed", linear_speed, "m/s")
        positive("angular speed", angular_speed, "rad/s")
        displacement = last.position - first.position
        from scipy.spatial.transform import Rotation  # slow to load

        turn = Rotation.from_matrix(last.rotation @ first.rotation.T).as_rotvec()
        length, angle = float(np.linalg.norm(displacement)), float(np.linalg.norm(turn))
        time = max(length / linear_speed, angle / angular_speed)
        if time < 1e-9:
            raise ManipDynError(
                f"line end must differ from the line start {first.position.tolist()}."
            )
        timing = Timing(1.0 / time, ramp, 1.0)
        self.parameters = harmonic(
            timing, first.position, first.rotation, slope=displacement, turn=turn
        )
        self.duration = timing.duration
        self.settled = timing.ramp


class Circle(Path):
    """A circle in any plane. The tool orientation is constant or follows the radius.

    The radius of the circle is `linear_speed` / `angular_speed`. The default speeds are
    those of Sariyildiz et al. (2011). By default, the circle is endless and starts at full speed.
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
            start: Direction (3,) from the centre to the first point; its component along the
                normal is ignored.
            rotation: Orientation of the tool at the start, rotation matrix (3, 3) or quaternion.
            linear_speed: Speed of the tool, m/s.
            angular_speed: Angular speed of the radius, rad/s.
            ramp: Duration of a smooth start (and of the stop, if `rounds` is set), s.
            rounds: Number of laps. Default: endless.
            follow_tangent: Whether the tool rotates with the radius.
        """
        middle = finite_vector("circle center", center, 3)
        axis = finite_vector("circle normal", normal, 3)
        outward = finite_vector("circle start", start, 3)
        speed = positive("linear speed", linear_speed, "m/s")
        rate = positive("angular speed", angular_speed, "rad/s")
        if np.linalg.norm(np.cross(axis, outward)) < 1e-9:
            raise ManipDynError(
                "circle normal and start must be directions that span a plane, got "
                f"{axis.tolist()} and {outward.tolist()}."
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


class Lissajous(Path):
    """Harmonic motions along three axes, p_i = c_i + a_i sin(f_i s + g_i), s = 2 pi per period."""

    def __init__(
        self,
        center: ArrayLike,
        amplitudes: ArrayLike,
        frequencies: ArrayLike,
        rotation: ArrayLike,
        period: float = 20.0,
        *,
        phases: ArrayLike = (0.0, 0.0, 0.0),
        axes: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        ramp: float = 1.0,
        rounds: float | None = None,
    ):
        """Describe the figure in the base frame.

        Args:
            center: Centre c (3,), m.
            amplitudes: Amplitudes a (3,), m.
            frequencies: Whole numbers f (3,) of oscillations per period.
            rotation: Orientation of the tool, rotation matrix (3, 3) or quaternion (4,).
            period: Time of one lap, s.
            phases: Phases g (3,), rad.
            axes: Rotation matrix (3, 3) with the directions of the three motions as columns.
            ramp: Duration of the smooth start (and of the stop, if `rounds` is set), s.
            rounds: Number of laps. Default: endless.
        """
        middle = finite_vector("lissajous center", center, 3)
        sizes = finite_vector("lissajous amplitudes", amplitudes, 3)
        counts = finite_vector("lissajous frequencies", frequencies, 3)
        shifts = finite_vector("lissajous phases", phases, 3)
        columns = checked_rotation("lissajous axes", axes)
        if np.any(counts != np.round(counts)) or not np.any(counts * sizes):
            raise ManipDynError(
                "lissajous frequencies must be integers, with at least one amplitude and "
                f"frequency other than 0, got frequencies {counts.tolist()} and amplitudes "
                f"{sizes.tolist()}."
            )
        end = inf if rounds is None else 2.0 * np.pi * positive("rounds", rounds)
        self.period = positive("period", period, "s")
        timing = Timing(2.0 * np.pi / self.period, ramp, end)
        self.parameters = harmonic(
            timing,
            middle,
            checked_rotation("tool rotation", rotation),
            waves=[
                (size * column, count, shift)
                for size, column, count, shift in zip(
                    sizes, columns.T, counts, shifts, strict=True
                )
            ],
        )
        self.settled = timing.ramp
        self.duration = timing.time_at(2.0 * np.pi) if rounds is None else timing.duration
