"""Splines through waypoints: twice continuously differentiable in position and orientation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.paths.evaluate import SPLINE
from manip_dyn.clik.paths.path import Path
from manip_dyn.clik.paths.timing import Timing
from manip_dyn.clik.task.pose import checked_pose
from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.errors import ManipDynError

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

FASTEST = (100.0, 1000.0)
"""What is faster from one waypoint to the next is a jump, m/s and rad/s."""


class Waypoints(Path):
    """A smooth curve through poses: cubic splines for position and rotation (scipy's)."""

    def __init__(
        self,
        poses: Sequence[tuple[ArrayLike, ArrayLike]],
        times: ArrayLike | None = None,
        *,
        linear_speed: float = 0.1,
        angular_speed: float = 0.5,
        ramp: float = 1.0,
        rounds: int = 1,
    ):
        """Describe the curve in the base frame.

        Args:
            poses: Two or more of position (3,), m, and orientation: rotation matrix (3, 3) or
                quaternion (4,).
            times: When they are passed (k,), s, rising; a ramp delays them. Default: from the
                speeds along the straight lines between them.
            linear_speed: For the default times, m/s.
            angular_speed: For the default times, rad/s.
            ramp: Duration of the smooth start and of the stop, s; 0 for the bare times.
            rounds: How often a closed curve is run through.
        """
        checked = [checked_pose(f"waypoint {i}", pose) for i, pose in enumerate(poses, start=1)]
        if len(checked) < 2:
            raise ManipDynError(f"there are {len(checked)} waypoints; expected two or more")
        places = np.array([pose.position for pose in checked])
        from scipy.spatial.transform import Rotation  # slow to load

        rotations = Rotation.from_matrix(np.array([pose.rotation for pose in checked]))
        self.length, self.angle = ways_between(places, rotations)
        if times is None:
            speeds = (
                positive("linear speed", linear_speed, "m/s"),
                positive("angular speed", angular_speed, "rad/s"),
            )
            passed = _default_times(self.length, self.angle, speeds)
        else:
            passed = _rising(finite_vector("times", times, len(checked)))
            _check_jumps(passed, self.length, self.angle)
        closed = _same(places, rotations)
        if not isinstance(rounds, int) or rounds < 1 or (rounds > 1 and not closed):
            raise ManipDynError(
                f"rounds is {rounds!r}; expected 1, or more where the last waypoint is the first"
            )
        self._set(passed - passed[0], places, rotations, closed, rounds, ramp)

    def _set(
        self,
        times: Vector,
        places: Vector,
        rotations: Rotation,
        closed: bool,
        rounds: int,
        ramp: float,
    ) -> None:
        one_round = float(times[-1])
        again = [times[1:] + lap * one_round for lap in range(1, rounds)]
        knots = np.concatenate([times, *again])
        order = [*range(len(times)), *(list(range(1, len(times))) * (rounds - 1))]
        along, turns = places[order], rotations[order]
        if closed:
            along[-1] = along[0]
        periodic = closed and len(along) > 3
        from scipy.interpolate import CubicSpline  # slow to load, and other paths need none
        from scipy.spatial.transform import RotationSpline

        position = CubicSpline(knots, along, bc_type="periodic" if periodic else "natural")
        rotation = RotationSpline(knots, turns)
        timing = Timing(1.0, ramp, float(knots[-1]))
        self.parameters = np.concatenate(
            [
                [SPLINE, *timing.numbers(), len(knots) - 1],
                knots,
                position.c.ravel(),
                rotation.interpolator.c.ravel(),
                turns.as_matrix()[:-1].ravel(),
            ]
        )
        self.duration = timing.duration
        self.period = one_round if closed else None
        self.settled = timing.ramp


def ways_between(places: Vector, rotations: Rotation) -> tuple[Vector, Vector]:
    """Return distances, m, and angles, rad, from each waypoint to the next (k - 1,)."""
    lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
    return lengths, (rotations[:-1].inv() * rotations[1:]).magnitude()


def _default_times(lengths: Vector, angles: Vector, speeds: tuple[float, float]) -> Vector:
    spans = np.maximum(lengths / speeds[0], angles / speeds[1])
    if spans.min() < 1e-9:
        i = int(np.argmin(spans)) + 1
        raise ManipDynError(
            f"waypoints {i} and {i + 1} are the same pose; expected different ones"
        )
    return np.concatenate([[0.0], np.cumsum(spans)])


def _check_jumps(times: Vector, *steps: Vector) -> None:
    for step, limit, unit in zip(steps, FASTEST, ("m", "rad"), strict=True):
        for i in np.flatnonzero(step / np.diff(times) > limit)[:1]:
            raise ManipDynError(
                f"waypoints {i + 1} and {i + 2} are {step[i]:.4g} {unit} apart in "
                f"{times[i + 1] - times[i]:.4g} s; expected a continuous path of at most "
                f"{limit:g} {unit}/s"
            )


def _rising(times: Vector) -> Vector:
    falls = np.flatnonzero(np.diff(times) <= 0.0)
    if falls.size:
        i = int(falls[0])
        raise ManipDynError(
            f"time {i + 2} is {times[i + 1]:g} s after {times[i]:g} s; expected rising times"
        )
    return times


def _same(places: Vector, rotations: Rotation) -> bool:
    """Return whether the last waypoint is the first."""
    gap = float(np.linalg.norm(places[-1] - places[0]))
    return gap < 1e-9 and float((rotations[0].inv() * rotations[-1]).magnitude()) < 1e-7
