"""What `track` returns, and the sentence about how well the path was followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from manip_dyn.clik.law.settings import ClikSettings
from manip_dyn.clik.tracking.path_follower import PathFollower
from manip_dyn.clik.tracking.program import method_of
from manip_dyn.clik.tracking.record import ROW_ACTUAL, ROW_DESIRED, ROW_ERROR, ROW_JOINTS
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.result import Result
from manip_dyn.integrate import Status

Reach = Callable[[PathFollower, float], str]
"""Says whether an arm can reach the pose of its path at a path time, s."""


@dataclass(frozen=True, eq=False, repr=False)
class TrackResult(Result):
    """A tracked path of m samples.

    Attributes:
        t: Times (m,), s.
        q: Joint positions (m, n), rad or m.
        v: Joint velocities (m, n), rad/s or m/s.
        desired: Desired poses (m, 4, 4), homogeneous, base frame.
        actual: Poses of the tool (m, 4, 4).
        error: Errors (m, 6), m and rad, base frame, see `task_error`.
        position_error: |e_p| of the controlled rows (m,), m.
        orientation_error: |e_o| of the controlled rows (m,), rad for small angles.
        smallest_singular_value: Of the controlled rows of the Jacobian (m,).
        damping: Largest damping d in the inverse (m,).
        scale: What the speed limits left of the velocities (m,), 1 or less.
        path_time: Path times of the desired poses (m,), s: behind `t` after a slow-down.
        held: Whether a joint was held at its limit (m, n).
        drift: Change of the joint positions over each full cycle at full speed (k, n); None if
            there was none, or if path time did not always go forwards.
        status: How it ended; OFF_PATH where the tool was further from the path than the tolerance,
            TOO_MANY_STEPS where speed limits took too long.
        reason: What happened, in words.
        method: Name of the integrator.
        settings: The law's constants.
        followed: Path time at which the tool first left the path, or the last one, s.
    """

    t: Vector
    q: Matrix
    v: Matrix
    desired: Tensor
    actual: Tensor
    error: Matrix
    position_error: Vector
    orientation_error: Vector
    smallest_singular_value: Vector
    damping: Vector
    scale: Vector
    path_time: Vector
    held: np.ndarray
    drift: Vector | None
    status: Status
    reason: str
    method: str
    settings: ClikSettings
    followed: float

    @property
    def success(self) -> bool:
        """Whether the whole path was followed within the tolerance."""
        return self.status is Status.SUCCESS


def tracking_of(
    follower: PathFollower, rows: Vector, end: float, tolerance: float, reach: Reach | None = None
) -> TrackResult:
    """Return the result of rows, see `record`, of a motion that was to last until `end`, s.

    Where the tool left the path near a singularity, the reason has the words of `reach`.
    """
    n = follower.robot.n
    error = rows[:, ROW_ERROR:ROW_DESIRED]
    q, v, held = (rows[:, ROW_JOINTS + k * n : ROW_JOINTS + (k + 1) * n] for k in range(3))
    controlled = np.array(follower.settings.controlled, dtype=bool)
    position, orientation = (
        np.linalg.norm((error * controlled)[:, part], axis=1)
        for part in (slice(0, 3), slice(3, 6))
    )
    allowed = _allowed(follower, rows[:, 0], position, orientation, tolerance)
    errors = np.stack([position, orientation])
    off = np.any(errors > allowed, axis=0)
    status, reason = _judged(follower, rows, errors, off, end, reach)
    return TrackResult(
        t=rows[:, 0],
        q=q,
        v=v,
        desired=_matrices(rows[:, ROW_DESIRED:ROW_ACTUAL]),
        actual=_matrices(rows[:, ROW_ACTUAL:ROW_JOINTS]),
        error=error,
        position_error=position,
        orientation_error=orientation,
        smallest_singular_value=rows[:, 4],
        damping=rows[:, 3],
        scale=rows[:, 2],
        path_time=rows[:, 1],
        held=held != 0.0,
        drift=_drift(follower, rows[:, 1], q, v / rows[:, 2:3]),
        status=status,
        reason=reason,
        method=method_of(follower.method).name,
        settings=follower.settings,
        followed=float(rows[int(np.argmax(off)) if off.any() else -1, 1]),
    )


def _matrices(poses: Vector) -> Tensor:
    """Return homogeneous matrices (m, 4, 4) of positions and rotations (m, 12)."""
    matrices = np.zeros((len(poses), 4, 4))
    matrices[:, :3, 3], matrices[:, 3, 3] = poses[:, :3], 1.0
    matrices[:, :3, :3] = poses[:, 3:].reshape(-1, 3, 3)
    return matrices


def _allowed(follower: PathFollower, t: Vector, position, orientation, tolerance: float) -> Matrix:
    """Return the largest errors (2, m) of a tool on its path: from the start they fade."""
    fading = 2.0 * np.exp(-0.5 * follower.settings.gain * t)
    return tolerance + fading * np.array([[position[0]], [orientation[0]]])


def _drift(follower: PathFollower, path_time: Vector, q: Vector, slope: Vector) -> Vector | None:
    """Return the change of q over each full cycle at full speed, by cubic interpolation."""
    path = follower.path
    if path.period is None or np.diff(path_time).min(initial=np.inf) <= 0.0:
        return None  # ab4 may turn the clock back where speed limits stop it at once
    end = path_time[-1]
    if not path.twist(end).any():  # the last lap is not one at full speed: it stops
        end -= max(path.settled, follower.step_size)
    whole = end - path.settled + 1e-6 * follower.step_size
    count = int(whole / path.period)
    if count < 1:
        return None
    times = np.minimum(path.settled + path.period * np.arange(count + 1), path_time[-1])
    return np.diff(_cubic(path_time, q, slope, times), axis=0)


def _cubic(t: Vector, values: Matrix, slopes: Matrix, times: Vector) -> Matrix:
    """Return the cubic of Hermite (k, n) through values and slopes (m, n) at t, at `times`."""
    i = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    width = (t[i + 1] - t[i])[:, None]
    s = (times - t[i])[:, None] / width
    rest = 1.0 - s
    ends = rest**2 * (1.0 + 2.0 * s) * values[i] + s**2 * (3.0 - 2.0 * s) * values[i + 1]
    return ends + width * s * rest * (rest * slopes[i] - s * slopes[i + 1])


def _judged(
    follower: PathFollower,
    rows: Vector,
    errors: Vector,
    off: np.ndarray,
    end: float,
    reach: Reach | None,
) -> tuple[Status, str]:
    """Return how it ended, and sentences about what happened."""
    t, path_time, scale = rows[:, 0], rows[:, 1], rows[:, 2]
    n, names = follower.robot.n, follower.robot.joint_names
    finished = path_time[-1] >= end
    status, told = follower.status, []
    if status is not Status.SUCCESS:
        told.append(f"{follower.status.meaning} after {t[-1]:.3f} s")
    elif not finished:
        status = Status.TOO_MANY_STEPS
        told.append(f"only {path_time[-1]:.3f} s of the path were done in {t[-1]:.3f} s")
    if off.any():
        told.append(_where(follower, rows, errors, off, reach))
    if (off.any() or follower.status) and follower.unstable:
        told.append(follower.unstable)
    if scale.min() < 1.0:
        k = int(np.argmin(scale))
        told.append(f"joint speeds were scaled by {scale[k]:.3g} at {t[k]:.3f} s")
        told.append(f"the path took {t[-1] - path_time[-1]:.3f} s longer")
    held = rows[:, ROW_JOINTS + 2 * n :]
    for k in np.flatnonzero(held.any(axis=1))[:1]:
        joints = ", ".join(names[i] for i in np.flatnonzero(held[k]))
        told.append(f"joint {joints} met its limit at {t[k]:.3f} s")
    if status is Status.SUCCESS and off.any():
        status = Status.OFF_PATH
    if status is Status.SUCCESS:
        told.insert(0, "the path was followed")
    return status, "; ".join(told)


def _where(
    follower: PathFollower, rows: Vector, errors: Vector, off: np.ndarray, reach: Reach | None
) -> str:
    """Return where the tool left the path, and by how much at most."""
    first, worst = int(np.argmax(off)), int(np.argmax(errors[0] * off))
    place = ", ".join(f"{x:.4g}" for x in rows[worst, ROW_DESIRED : ROW_DESIRED + 3])
    text = (
        f"the path was lost at {rows[first, 0]:.3f} s; the tool was {errors[0, worst]:.3g} m and "
        f"{errors[1, worst]:.3g} rad off at ({place}) m at {rows[worst, 0]:.3f} s"
    )
    if rows[worst, 3] > 0.0:
        text += f", where the arm is near a singularity ({rows[worst, 4]:.2g})"
        text += f": {reach(follower, rows[worst, 1])}" if reach else ""
    return text
