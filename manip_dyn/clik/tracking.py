"""Tracking of a whole path: `track`, its result, and the choice of a start posture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, isinf

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.follower import PathFollower, check_path, method_of
from manip_dyn.clik.law.poses import Pose
from manip_dyn.clik.law.settings import ClikSettings, checked_settings
from manip_dyn.clik.paths.path import Path
from manip_dyn.clik.postures import REACHED, posture_at, postures_at
from manip_dyn.clik.samples import ROW_ACTUAL, ROW_DESIRED, ROW_ERROR, ROW_JOINTS
from manip_dyn.core.checks import Matrix, Tensor, Vector, finite_vector, nanoseconds, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result
from manip_dyn.integration import Method, Status
from manip_dyn.robot import Robot

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


def track_result(
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


def _status_and_reason(
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
        told.append(_departure(follower, rows, errors, off, reach))
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


def _departure(
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


ENOUGH_COMPLETE = 4
"""Motions that follow the whole path, of which the one furthest from joint limits is taken."""
AVOIDANCE = 1.0
"""Null-space gain towards the middle of the joint ranges that is tried, 1/s."""

Follow = Callable[[Vector, ClikSettings], TrackResult]
"""Follows the path from joint positions (n,) by settings."""


def best_track(
    robot: Robot, starts: Iterable[Vector], ways: Sequence[ClikSettings], follow: Follow
) -> TrackResult | None:
    """Return the best motion of those that begin at postures (n,), each tried in several ways.

    The whole path counts first, then the distance from the joint limits; where no motion follows
    it to its end, how much of it is followed.
    """
    best, rank, complete = None, (-1.0, -1.0), 0
    for start in starts:
        for settings in ways:
            run = follow(start, settings)
            mine = (followed_fraction(run), limit_clearance(robot, run) if run.success else 0.0)
            if mine > rank:
                best, rank = run, mine
            complete += run.success
        if complete >= ENOUGH_COMPLETE:
            break
    return best


def candidate_settings(robot: Robot, given: ClikSettings | None) -> list[ClikSettings]:
    """Return the settings to try: those that are given, or with and without limit avoidance."""
    if given is not None:
        return [given]
    usual = ClikSettings()
    return [usual, replace(usual, limit_avoidance=AVOIDANCE)] if robot.n > 6 else [usual]


def followed_fraction(run: TrackResult) -> float:
    """Return which share of the path is followed before the tool first leaves it; 1: all."""
    if run.success:
        return 1.0
    end = float(run.path_time[-1])
    return 0.0 if end <= 0.0 else min(run.followed / end, 1.0 - 1e-9)


def limit_clearance(robot: Robot, run: TrackResult) -> float:
    """Return the least distance of a joint from its limits on the way, of half its range."""
    limited = np.isfinite(robot.q_max - robot.q_min)
    if not limited.any():
        return 1.0
    low, high, q = robot.q_min[limited], robot.q_max[limited], run.q[:, limited]
    return float((np.minimum(q - low, high - q) / (0.5 * (high - low))).min())


MAX_SLOWDOWN = 10
"""How many times longer than the path a motion may take that speed limits slow down."""


def track(
    robot: Robot,
    path: Path,
    method: str | Method = "rk4",
    step: float = 0.1,
    q0: ArrayLike | str | None = None,
    duration: float | None = None,
    settings: ClikSettings | None = None,
    tolerance: float = 1e-3,
) -> TrackResult:
    """Follow `path` with the tool of `robot` by closed-loop inverse kinematics.

    Args:
        robot: The arm.
        path: Desired pose and twist over time.
        method: Integrator: a name in `md.METHODS` other than ``taylor``, or a `Method`, with fixed
            steps.
        step: Sampling period, s.
        q0: Joint positions (n,) at the start, on or off the path. Default: a posture on the
            path's first pose, searched from the middle of the joint ranges. ``"best"``: that of
            many on the first pose from which the whole path is followed, furthest from the joint
            limits; without `settings` also with a null space that keeps away from them
            (`TrackResult.settings`, ``q[0]``).
        duration: Path time to track, s, rounded up to whole steps. Default: the path's, one
            lap of an endless one.
        settings: Gain, inverse, null space and limits.
        tolerance: Errors that count as being on the path, m and rad; what the start is off
            the path comes on top, and fades with the gain.

    Raises:
        ManipDynError: For bad arguments. What goes wrong later is in the result.
    """
    span = check_path(path).duration if duration is None else duration
    if duration is None and isinf(span):
        raise ManipDynError("the path has no end; expected a duration in s")
    steps = ceil(nanoseconds("duration", span) / nanoseconds("step", step) - 1e-6)
    positive("tolerance", tolerance)
    if isinstance(q0, str) and q0 != "best":
        raise ManipDynError(f"q0 is '{q0}'; expected joint positions or \"best\"")
    controlled = None if settings is None else checked_settings(settings).controlled
    if q0 is None or isinstance(q0, str):
        start = posture_at(robot, path.pose(0.0), controlled=controlled)
    else:
        start = finite_vector("q0", q0, robot.n)
    follower = PathFollower(robot, path, start, step, settings, method, deadlines=False)
    if not isinstance(q0, str):
        return _run_follower(follower, steps, tolerance)

    def follow(q: Vector, chosen: ClikSettings) -> TrackResult:
        follower.settings = chosen
        follower.reset(q)
        return _run_follower(follower, steps, tolerance, explained=False)

    ways = candidate_settings(robot, settings)
    best = best_track(robot, postures_at(robot, path.pose(0.0), controlled), ways, follow)
    if best is None or not best.success:
        follower.settings = ways[0] if best is None else best.settings
        follower.reset(start if best is None else best.q[0])
        run = _run_follower(follower, steps, tolerance, explained=False)
        return replace(run, reason=f"no start that was tried follows it; the best: {run.reason}")
    return best


def _run_follower(
    follower: PathFollower, steps: int, tolerance: float, explained: bool = True
) -> TrackResult:
    """Return the motion over so many steps of path time, from where the follower is."""
    step = follower.step_size
    rows = [follower.look()[None, :]]
    end, taken, most = (steps - 1e-6) * step, 0, MAX_SLOWDOWN * max(steps, 1)
    while follower.path_time < end and taken < most and not follower.status:
        behind = (end - follower.path_time) / step
        chunk = min(max(ceil(behind), 1), most - taken)
        rows.append(follower.run(chunk))
        taken += chunk
    reach = _reachability if explained else None
    return track_result(follower, np.concatenate(rows), end, tolerance, reach)


def _reachability(follower: PathFollower, path_time: float) -> str:
    """Return whether another posture reaches a pose of the path, in words."""
    pose = follower.path.pose(path_time)
    try:
        q = posture_at(follower.robot, pose, controlled=follower.settings.controlled)
    except ManipDynError:
        return "out of reach"
    place = ", ".join(f"{x:.4g}" for x in q)
    return f'out of reach from this posture, not from ({place}); q0="best" looks for a start'


def posture_for(
    robot: Robot,
    pose: Pose | Path,
    guess: ArrayLike | None = None,
    tolerance: float = REACHED,
    controlled: Sequence[bool] | None = None,
) -> Vector:
    """Return joint positions (n,), rad or m, at which the tool has a pose, or begins a path.

    Args:
        robot: The arm.
        pose: Where the tool is, or a path: then it is the start of
            ``md.track(robot, path, q0="best")``, on the path's first pose.
        guess: For a pose: joint positions (n,) that should be near; see `posture_at`.
        tolerance: For a pose: the error that counts as none, m and rad.
        controlled: Which rows of the task count (6,); default: all.

    Raises:
        ManipDynError: If the pose is not reached, or no start follows the path; the message tells
            how near the best came.
    """
    if not isinstance(pose, Path):
        return posture_at(robot, pose, guess, tolerance, controlled)
    if guess is not None:
        raise ManipDynError("guess is given with a path; expected none: many starts are tried")
    settings = None if controlled is None else ClikSettings(controlled=controlled)
    best = track(robot, pose, q0="best", settings=settings)
    if not best.success:
        raise ManipDynError(f"no posture of '{robot.name}' follows the path: {best.reason}")
    return best.q[0]
