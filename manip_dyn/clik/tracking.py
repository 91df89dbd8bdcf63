"""Tracking of a whole path: `track`, its result, and the choice of a start posture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, isinf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.follower import PathFollower, check_path, method_of
from manip_dyn.clik.law.poses import Pose
from manip_dyn.clik.law.settings import ClikSettings, checked_settings
from manip_dyn.clik.paths.path import Path
from manip_dyn.clik.postures import REACHED, posture_at, postures_at
from manip_dyn.clik.samples import ROW_ACTUAL, ROW_DESIRED, ROW_ERROR, ROW_JOINTS
from manip_dyn.collision import JointCurve, Scene, clearance, sampled_curve
from manip_dyn.core.checks import Matrix, Tensor, Vector, finite_vector, nanoseconds, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result, data_frame
from manip_dyn.integration import Method, Status
from manip_dyn.robot import Robot

Reach = Callable[[PathFollower, float], str]
"""Function that returns a sentence on whether an arm can reach the pose at a path time (s)."""


@dataclass(frozen=True, eq=False, repr=False)
class TrackResult(Result):
    """A tracked path with m samples.

    Attributes:
        t: Times (m,), s.
        q: Joint positions (m, n), rad or m.
        v: Joint velocities (m, n), rad/s or m/s.
        desired: Desired poses (m, 4, 4), homogeneous, base frame.
        actual: Poses of the tool (m, 4, 4), homogeneous, base frame.
        error: Errors (m, 6), m and rad, base frame, see `task_error`.
        position_error: Norms of the position errors (m,) in the controlled rows, m.
        orientation_error: Norms of the orientation errors (m,) in the controlled rows, rad for
            small angles.
        smallest_singular_value: Smallest singular values (m,) of the controlled rows of the
            Jacobian.
        damping: Largest damping d (m,) in the inverse.
        scale: Factors (m,) by which the speed limits scaled the velocities, at most 1.
        path_time: Path times (m,) of the desired poses, s; behind `t` after speeds were scaled.
        held: Flags (m, n) of joints that were held at their limits.
        drift: Change of the joint positions (k, n) over each of k laps at full speed. None if
            there are no such laps or if path time did not always increase.
        status: SUCCESS if the path was followed within the tolerance, OFF_PATH if the error
            exceeded it, TOO_MANY_STEPS if speed limits slowed the motion down too much, NON_FINITE
            if the integration failed.
        reason: Description of the motion in one sentence.
        method: Name of the integrator.
        settings: Settings of the law.
        followed: Path time at which the tool first left the path, or the final path time, s.
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
        """Whether the path was followed to the requested end within the tolerance."""
        return self.status is Status.SUCCESS

    def to_dataframe(self, robot: Robot | None = None) -> Any:
        """Return a pandas DataFrame with a row per sample.

        The columns are ``t``, ``position_JOINT`` and ``velocity_JOINT``, with the joint names of
        `robot`, or indices without a robot, and ``position_error`` and ``orientation_error``.
        Requires the extra ``pandas``.
        """
        joints = range(self.q.shape[1]) if robot is None else robot.joint_names
        frame = data_frame(self.t, joints, position=self.q, velocity=self.v)
        frame["position_error"] = self.position_error
        frame["orientation_error"] = self.orientation_error
        return frame

    def joint_curve(self) -> JointCurve:
        """Return the curve through the samples, for collision checks; see `sampled_curve`."""
        return sampled_curve(self.t, self.q, self.v)


def track_result(
    follower: PathFollower, rows: Vector, end: float, tolerance: float, reach: Reach | None = None
) -> TrackResult:
    """Return the result of a motion from its sample rows; `end` is the requested path time, s.

    If the tool left the path near a singularity, the reason contains the sentence of `reach`.
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
    status, reason = _status_and_reason(follower, rows, errors, off, end, reach)
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
    """Convert positions and rotations by rows (m, 12) to homogeneous matrices (m, 4, 4)."""
    matrices = np.zeros((len(poses), 4, 4))
    matrices[:, :3, 3], matrices[:, 3, 3] = poses[:, :3], 1.0
    matrices[:, :3, :3] = poses[:, 3:].reshape(-1, 3, 3)
    return matrices


def _allowed(follower: PathFollower, t: Vector, position, orientation, tolerance: float) -> Matrix:
    """Return the allowed errors (2, m) on the path, including the decaying initial error."""
    fading = 2.0 * np.exp(-0.5 * follower.settings.gain * t)
    return tolerance + fading * np.array([[position[0]], [orientation[0]]])


def _drift(follower: PathFollower, path_time: Vector, q: Vector, slope: Vector) -> Vector | None:
    """Return the change of q over each full lap at full speed, by cubic interpolation, or None."""
    path = follower.path
    if path.period is None or np.diff(path_time).min(initial=np.inf) <= 0.0:
        return None  # with ab4, path time may decrease when a speed limit stops it suddenly
    end = path_time[-1]
    if not path.twist(end).any():  # the last lap ends with a stop, not at full speed
        end -= max(path.settled, follower.step_size)
    duration = end - path.settled + 1e-6 * follower.step_size
    count = int(duration / path.period)
    if count < 1:
        return None
    times = np.minimum(path.settled + path.period * np.arange(count + 1), path_time[-1])
    return np.diff(_cubic(path_time, q, slope, times), axis=0)


def _cubic(t: Vector, values: Matrix, slopes: Matrix, times: Vector) -> Matrix:
    """Return values (k, n) at `times` (k,), interpolated by cubics with the slopes at `t`."""
    i = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    width = (t[i + 1] - t[i])[:, None]
    s = (times - t[i])[:, None] / width
    rest = 1.0 - s
    ends = rest**2 * (1.0 + 2.0 * s) * values[i] + s**2 * (3.0 - 2.0 * s) * values[i + 1]
    return ends + width * s * rest * (rest * slopes[i] - s * slopes[i + 1])


def _status_and_reason(
    follower: PathFollower,
    rows: Vector,
    errors: Vector,
    off: np.ndarray,
    end: float,
    reach: Reach | None,
) -> tuple[Status, str]:
    t, path_time, scale = rows[:, 0], rows[:, 1], rows[:, 2]
    n, names = follower.robot.n, follower.robot.joint_names
    finished = path_time[-1] >= end
    status, sentences = follower.status, []
    if status is not Status.SUCCESS:
        sentences.append(f"{follower.status.meaning} after {t[-1]:.3f} s")
    elif not finished:
        status = Status.TOO_MANY_STEPS
        sentences.append(f"only {path_time[-1]:.3f} s of the path were followed in {t[-1]:.3f} s")
    if off.any():
        sentences.append(_departure(follower, rows, errors, off, reach))
    if (off.any() or follower.status) and follower.unstable:
        sentences.append(follower.unstable)
    if scale.min() < 1.0:
        k = int(np.argmin(scale))
        sentences.append(f"joint speeds were scaled by {scale[k]:.3g} at {t[k]:.3f} s")
        sentences.append(f"the path took {t[-1] - path_time[-1]:.3f} s longer")
    avoided = follower.avoided
    if avoided is not None:
        distance, pair = avoided
        sentences.append(f"{pair[0]} avoided {pair[1]} at a distance of {distance:.3g} m")
    held = rows[:, ROW_JOINTS + 2 * n :]
    for k in np.flatnonzero(held.any(axis=1))[:1]:
        joints = ", ".join(names[i] for i in np.flatnonzero(held[k]))
        sentences.append(f"joint {joints} met its limit at {t[k]:.3f} s")
    if status is Status.SUCCESS and off.any():
        status = Status.OFF_PATH
    if status is Status.SUCCESS:
        sentences.insert(0, "the path was followed")
    return status, "; ".join(sentences)


def _departure(
    follower: PathFollower, rows: Vector, errors: Vector, off: np.ndarray, reach: Reach | None
) -> str:
    """Return when the tool left the path, and its largest position error, as a sentence."""
    first, worst = int(np.argmax(off)), int(np.argmax(errors[0] * off))
    position = ", ".join(f"{x:.4g}" for x in rows[worst, ROW_DESIRED : ROW_DESIRED + 3])
    text = (
        f"the path was lost at {rows[first, 0]:.3f} s; the tool was {errors[0, worst]:.3g} m and "
        f"{errors[1, worst]:.3g} rad off at ({position}) m at {rows[worst, 0]:.3f} s"
    )
    if rows[worst, 3] > 0.0:
        text += f", where the arm is near a singularity ({rows[worst, 4]:.2g})"
        text += f": {reach(follower, rows[worst, 1])}" if reach else ""
    return text


ENOUGH_COMPLETE = 4
"""Number of complete motions after which the search for the best start ends."""
AVOIDANCE = 1.0
"""Null-space gain for trials of limit avoidance, 1/s."""

Follow = Callable[[Vector, ClikSettings], TrackResult]
"""Function that follows the path from joint positions (n,) with settings."""


def best_track(
    robot: Robot, starts: Iterable[Vector], candidates: Sequence[ClikSettings], follow: Follow
) -> TrackResult | None:
    """Return the best motion over start postures (n,) and candidate settings.

    Complete motions are ranked by their clearance from the joint limits. If none is complete, the
    motion that follows the largest fraction of the path is returned. Without starts the result is
    None.
    """
    best, rank, complete = None, (-1.0, -1.0), 0
    for start in starts:
        for settings in candidates:
            run = follow(start, settings)
            run_rank = (
                followed_fraction(run),
                limit_clearance(robot, run) if run.success else 0.0,
            )
            if run_rank > rank:
                best, rank = run, run_rank
            complete += run.success
        if complete >= ENOUGH_COMPLETE:
            break
    return best


def candidate_settings(robot: Robot, settings: ClikSettings | None) -> list[ClikSettings]:
    """Return the user's settings, or else the defaults.

    For more than six joints, the defaults are followed by the defaults with limit avoidance.
    """
    if settings is not None:
        return [settings]
    default = ClikSettings()
    return [default, replace(default, limit_avoidance=AVOIDANCE)] if robot.n > 6 else [default]


def followed_fraction(run: TrackResult) -> float:
    """Return the fraction of the path time before the tool leaves the path; below 1 on failure."""
    if run.success:
        return 1.0
    end = float(run.path_time[-1])
    return 0.0 if end <= 0.0 else min(run.followed / end, 1.0 - 1e-9)


def limit_clearance(robot: Robot, run: TrackResult) -> float:
    """Return the smallest distance of a joint from its limits, relative to half its range.

    The result is 1 if no joint has limits.
    """
    limited = np.isfinite(robot.q_max - robot.q_min)
    if not limited.any():
        return 1.0
    low, high, q = robot.q_min[limited], robot.q_max[limited], run.q[:, limited]
    return float((np.minimum(q - low, high - q) / (0.5 * (high - low))).min())


MAX_SLOWDOWN = 10
"""Maximum ratio of the duration of a motion to that of its path."""


def track(
    robot: Robot,
    path: Path,
    method: str | Method = "rk4",
    step: float = 0.1,
    q0: ArrayLike | str | None = None,
    duration: float | None = None,
    settings: ClikSettings | None = None,
    tolerance: float = 1e-3,
    scene: Scene | None = None,
) -> TrackResult:
    """Follow `path` with the tool of `robot` by closed-loop inverse kinematics.

    Args:
        robot: The arm.
        path: Desired pose and twist over time.
        method: Integrator: a name in `md.METHODS` other than ``taylor``, or a `Method`, with fixed
            steps.
        step: Sampling period, s.
        q0: Joint positions (n,) at the start, on or off the path. Default: a posture at the first
            pose of the path, searched from the middle of the joint ranges. ``"best"`` tries many
            postures at the first pose and selects the one that follows the complete path with the
            largest distance from the joint limits. Without `settings`, arms with more than six
            joints are also tried with limit avoidance in the null space (see ``settings`` and
            ``q[0]`` of the result).
        duration: Path time to track, s, rounded up to full steps. Default: the duration of the
            path, or one lap of an endless path.
        settings: Gain, inverse, null space and limits.
        tolerance: Largest errors on the path, m and rad. Twice the initial error, decaying at half
            the gain, is added.
        scene: Objects around the arm. The arm avoids them and itself: in the null space if it is
            redundant, otherwise it leaves the path. ``md.check_motion(robot, result, scene)``
            checks the result. Default: collisions are not considered.

    Returns:
        The motion with a sample at the start and after every step. Its `status` and `reason`
        report failures.

    Raises:
        ManipDynError: If an argument is invalid, if `q0` collides, or if `q0` is None or "best"
            and no clear posture with the first pose is found.
    """
    span = check_path(path).duration if duration is None else duration
    if duration is None and isinf(span):
        raise ManipDynError("duration must be a number in s for a path without an end, got None.")
    steps = ceil(nanoseconds("duration", span) / nanoseconds("step", step) - 1e-6)
    positive("tolerance", tolerance)
    if isinstance(q0, str) and q0 != "best":
        raise ManipDynError(f"q0 must be joint positions or \"best\", got '{q0}'.")
    controlled = None if settings is None else checked_settings(settings).controlled
    if q0 is None or isinstance(q0, str):
        start = posture_at(robot, path.pose(0.0), controlled=controlled)
    else:
        start = finite_vector("q0", q0, robot.n)
    if isinstance(q0, (str, type(None))) and scene is not None:
        start = clear_start(robot, path.pose(0.0), start, scene, controlled)
    follower = PathFollower(
        robot, path, start, step, settings, method, deadlines=False, scene=scene
    )
    if not isinstance(q0, str):
        return _run_follower(follower, steps, tolerance)

    def follow(q: Vector, candidate: ClikSettings) -> TrackResult:
        follower.settings = candidate
        follower.reset(q)
        return _run_follower(follower, steps, tolerance, explained=False)

    candidates = candidate_settings(robot, settings)
    starts = postures_at(robot, path.pose(0.0), controlled)
    if scene is not None:
        starts = (q for q in starts if clearance(robot, q, scene).clear)
    best = best_track(robot, starts, candidates, follow)
    if best is None or not best.success:
        follower.settings = candidates[0] if best is None else best.settings
        follower.reset(start if best is None else best.q[0])
        run = _run_follower(follower, steps, tolerance, explained=False)
        return replace(run, reason=f"no start follows the path; the best: {run.reason}")
    return best


def clear_start(
    robot: Robot, pose: Pose, q: Vector, scene: Scene, controlled: Sequence[bool] | None = None
) -> Vector:
    """Return `q` (n,) if it does not collide, or another posture (n,) with the pose.

    Raises:
        ManipDynError: If all postures that are found collide.
    """
    for start in (q, *postures_at(robot, pose, controlled)):
        result = clearance(robot, start, scene)
        if result.clear:
            return start
    raise ManipDynError(
        f"the first pose must be reachable without collision, got {result.reason} in the last "
        "posture that was tried."
    )


def _run_follower(
    follower: PathFollower, steps: int, tolerance: float, explained: bool = True
) -> TrackResult:
    """Run the follower for a number of steps of path time and return the result."""
    step = follower.step_size
    rows = [follower.look()[None, :]]
    end, count, limit = (steps - 1e-6) * step, 0, MAX_SLOWDOWN * max(steps, 1)
    while follower.path_time < end and count < limit and not follower.status:
        behind = (end - follower.path_time) / step
        chunk = min(max(ceil(behind), 1), limit - count)
        rows.append(follower.run(chunk))
        count += chunk
    reach = _reachability if explained else None
    return track_result(follower, np.concatenate(rows), end, tolerance, reach)


def _reachability(follower: PathFollower, path_time: float) -> str:
    """Return a sentence on whether any posture reaches the pose at a path time (s)."""
    pose = follower.path.pose(path_time)
    try:
        q = posture_at(follower.robot, pose, controlled=follower.settings.controlled)
    except ManipDynError:
        return "out of reach"
    posture = ", ".join(f"{x:.4g}" for x in q)
    return f'out of reach from this posture, not from ({posture}); q0="best" searches for a start'


def posture_for(
    robot: Robot,
    pose: Pose | Path,
    guess: ArrayLike | None = None,
    tolerance: float = REACHED,
    controlled: Sequence[bool] | None = None,
) -> Vector:
    """Return joint positions (n,), rad or m, at which the tool has a pose or starts a path.

    Args:
        robot: The arm.
        pose: Pose of the tool, or a path. For a path the result is the start of
            ``md.track(robot, path, q0="best")``, at the path's first pose.
        guess: For a pose: initial guess of the joint positions (n,).
        tolerance: For a pose: bound for the norm of the error (6,) in m and rad.
        controlled: Flags (6,) of the controlled task rows. Default: all.

    Raises:
        ManipDynError: If no posture reaches the pose, or no start posture follows the path. The
            message describes the best attempt. Also if an argument is invalid.
    """
    if not isinstance(pose, Path):
        return posture_at(robot, pose, guess, tolerance, controlled)
    if guess is not None:
        raise ManipDynError("guess must be None for a path: many starts are tried.")
    settings = None if controlled is None else ClikSettings(controlled=controlled)
    best = track(robot, pose, q0="best", settings=settings)
    if not best.success:
        raise ManipDynError(f"no posture of '{robot.name}' follows the path: {best.reason}.")
    return best.q[0]
