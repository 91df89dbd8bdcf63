"""`track`: one call from a path to the joint motion that follows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.paths import Path
from manip_dyn.clik.tracker import ClikSettings, Tracker, posture_for
from manip_dyn.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, nanoseconds


@dataclass(frozen=True)
class Tracking:
    """A tracked path of m samples.

    Attributes:
        t: Times (m,), s.
        q: Joint positions (m, n), rad or m.
        v: Joint velocities (m, n), rad/s or m/s.
        position_error: |e_p| (m,), m.
        orientation_error: |e_o| (m,), sine of the error angle.
        smallest_singular_value: Of the Jacobian (m,).
        success: Whether no limit of the joints was touched.
        reason: One sentence.
    """

    t: Vector
    q: Vector
    v: Vector
    position_error: Vector
    orientation_error: Vector
    smallest_singular_value: Vector
    success: bool
    reason: str


def track(
    robot: Robot,
    path: Path,
    method: str = "rk4",
    step: float = 0.1,
    q0: ArrayLike | None = None,
    duration: float | None = None,
    settings: ClikSettings | None = None,
) -> Tracking:
    """Follow `path` with the tool of `robot` by closed-loop inverse kinematics.

    Args:
        robot: The arm.
        path: Desired pose and twist over time.
        method: Integrator; ``rk4``.
        step: Sampling period, s.
        q0: Joint positions (n,) at the start, on or off the path. Default: a posture on the
            path's first pose, searched from the middle of the joint ranges.
        duration: s. Default: one round of the path.
        settings: Gain and damping.
    """
    if method != "rk4":
        raise ManipDynError(f"method is '{method}'; expected 'rk4'")
    if q0 is None:
        q0 = posture_for(robot, path.pose(0.0), middle_posture(robot))
    tracker = Tracker(robot, path, q0, step, settings)
    count = nanoseconds("duration", path.period if duration is None else duration)
    samples = [tracker.sample()]
    samples += [tracker.step() for _ in range(round(count / nanoseconds("step", step)))]
    return _tracking(samples)


def middle_posture(robot: Robot) -> Vector:
    """Return a posture away from limits and from the stretched arm, (n,)."""
    low = np.maximum(robot.q_min, -np.pi)
    high = np.minimum(robot.q_max, np.pi)
    return np.clip(0.5 * (low + high) + 0.3, robot.q_min, robot.q_max)


def _tracking(samples: list) -> Tracking:
    error = np.array([s.error for s in samples])
    limited = next((s for s in samples if s.at_limit), None)
    slowed = next((s for s in samples if s.speed_scale < 1.0), None)
    reason = "the path was followed"
    if slowed is not None:
        reason = f"joint speeds were scaled by {slowed.speed_scale:.3g} at {slowed.t:.3f} s"
    if limited is not None:
        reason = f"joint {', '.join(limited.at_limit)} met its limit at {limited.t:.3f} s"
    return Tracking(
        t=np.array([s.t for s in samples]),
        q=np.array([s.q for s in samples]),
        v=np.array([s.v for s in samples]),
        position_error=np.linalg.norm(error[:, :3], axis=1),
        orientation_error=np.linalg.norm(error[:, 3:], axis=1),
        smallest_singular_value=np.array([s.smallest_singular_value for s in samples]),
        success=limited is None and slowed is None,
        reason=reason,
    )
