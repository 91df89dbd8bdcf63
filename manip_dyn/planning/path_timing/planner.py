"""`time_path`: the fastest timing of a joint path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import checked_payload, customize
from manip_dyn.core.checks import Vector, finite_vector, not_negative
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing.constraints import (
    SAMPLE_FRACTIONS,
    Limits,
    constraint_rows,
    geometry,
)
from manip_dyn.planning.path_timing.infeasibility import (
    check_friction,
    check_geometry,
    check_limits,
    check_positive_limits,
    end_speed_error,
    infeasibility_error,
    overload_error,
)
from manip_dyn.planning.path_timing.joint_path import (
    JointPath,
    PiecewisePath,
    blend_note,
    check_derivatives,
    check_smooth,
    check_third_derivative,
    first_grid,
    path_from,
    with_reversals,
)
from manip_dyn.planning.path_timing.motion import JerkLimitedMotion, PathMotion, PathTiming
from manip_dyn.planning.path_timing.speed_profile import (
    NoTimingError,
    PathProblem,
    fastest_profile,
)
from manip_dyn.robot import Robot

LEAST_INTERVALS = 10
DEFAULT_INTERVALS = 60


def time_path(
    robot: Robot,
    path: ArrayLike | JointPath | Callable[..., Any],
    *,
    blend: float | None = None,
    acceleration_limits: ArrayLike | None = None,
    jerk_limits: ArrayLike | None = None,
    payload: ArrayLike | None = None,
    end_speeds: tuple[float, float] = (0.0, 0.0),
    intervals: int = DEFAULT_INTERVALS,
) -> PathTiming:
    """Return the fastest motion along a joint path within all limits.

    The limits are those of the robot on position, speed and effort, and `acceleration_limits` and
    `jerk_limits`. Efforts follow from inverse dynamics with gravity, damping, springs, rotors, the
    payload, and dry friction, which changes its sign where a joint reverses. Limits hold at the
    grid points and between them (Pham, Pham 2018, "A new approach to time-optimal path
    parameterization based on reachability analysis", with damping and friction, a trapezoidal
    rule, and margins; see `path_timing.speed_profile`). The duration differs from the minimum by
    errors of the order of the grid's width squared. With jerk limits the result is a local optimum
    of a nonconvex problem: no small change is faster, but another timing may be (see
    `path_timing.jerk_timing`).

    Args:
        robot: The arm.
        path: Waypoints (m, n), rad or m, joined by a cubic spline with continuous q''; a SciPy
            spline with values (n,); or a path function, see `md.JointPath`. For tool paths, use
            the waypoints ``md.track(robot, path).q``.
        blend: Join waypoints by straight lines instead, rounded by parabolas that start this far
            from each waypoint, rad or m. With 0 all waypoints must lie on one line. If the next
            waypoint is closer than twice the blend, the parabola starts halfway. `path.blends` of
            the result contains all of these distances, and `reason` reports reductions.
        acceleration_limits: Limits of the joints, one or (n,), rad/s^2 or m/s^2 (inf: none).
            Default: none.
        jerk_limits: Limits of the joints, one or (n,), rad/s^3 or m/s^3 (inf: none). The
            acceleration is then zero at rest, and d2q/ds2 of the path must be continuous.
            Default: none.
        payload: Payload of the tool (10,), see `Kernels`. Default: none.
        end_speeds: Speeds ds/dt at start and end of the path. For waypoints s is the length of
            the path (for a spline, of the polygon), rad or m.
        intervals: Least number of intervals of the grid, which is refined where necessary.

    Raises:
        ManipDynError: If an argument is invalid, the path has a corner, stands still or exceeds
            the position limits, an effort limit is too low to hold the arm, or no timing is
            feasible.
    """
    customize(robot)  # raises for anything but a robot
    count = _checked_intervals("intervals", intervals)
    along = path_from(robot, path, blend)
    limits = Limits(
        robot.v_max,
        robot.tau_max,
        _joint_limits(robot, "acceleration_limits", acceleration_limits),
        None if payload is None else checked_payload(payload),
    )
    check_limits(robot, limits)
    jerk = _joint_limits(robot, "jerk_limits", jerk_limits)
    check_positive_limits(robot, "jerk", jerk)
    begin, end = _end_speeds(end_speeds)
    check_smooth(along)
    if not isinstance(along, PiecewisePath):
        check_derivatives(along, 1, 2)
    check_friction(robot)
    breaks = with_reversals(along, along.breaks, count) if robot.has_dry_friction else along.breaks
    grid = first_grid(breaks, count)
    samples = geometry(along, grid[:-1], np.diff(grid), SAMPLE_FRACTIONS)
    _check_size(robot, samples.q)
    check_geometry(robot, along, grid, samples)
    sample_rows = constraint_rows(robot, limits, samples)
    problem = PathProblem(robot, along, limits, (begin, end))
    try:
        profile = fastest_profile(problem, grid, sample_rows)
    except NoTimingError as failure:
        error = overload_error(robot, along, limits, grid, sample_rows) or end_speed_error(
            problem, grid, sample_rows
        )
        raise error or infeasibility_error(robot, along, limits, (begin, end), failure) from None
    grid = profile.grid
    check_geometry(robot, along, grid, geometry(along, grid[:-1], np.diff(grid), SAMPLE_FRACTIONS))
    motion = PathMotion(robot, along, limits.payload, grid, profile.squares)
    if np.any(np.isfinite(jerk)):
        return _jerk_limited_timing(problem, jerk, motion, breaks, count)
    reason = (
        f"the fastest of {len(grid) - 1} intervals; no limit is exceeded at {profile.reads} points"
        f"{blend_note(along, blend)}"
    )
    return PathTiming(
        robot,
        along,
        limits.payload,
        (begin, end),
        motion.t_final,
        profile.relaxed,
        motion,
        profile.load,
        profile.reads,
        "solved",
        reason,
    )


def _jerk_limited_timing(
    problem: PathProblem, jerk: Vector, free: PathMotion, breaks: Vector, count: int
) -> PathTiming:
    # Most timings have no jerk limits and need none of this.
    from manip_dyn.planning.path_timing.jerk_motion import (
        GUESS_SAMPLES,
        JerkProblem,
        UnlimitedMotion,
    )
    from manip_dyn.planning.path_timing.jerk_timing import jerk_limited_profile

    robot, path, limits, ends = problem
    jerk_problem = JerkProblem(robot, path, limits, jerk)
    check_third_derivative(path, robot.n)
    if not isinstance(path, PiecewisePath):
        check_derivatives(path, 3)
    times = np.linspace(0.0, free.t_final, GUESS_SAMPLES + 1)
    positions = np.array([free.on_path(float(t)).s for t in times])
    try:
        result = jerk_limited_profile(
            jerk_problem, UnlimitedMotion(ends, times, positions, breaks, count)
        )
    except NoTimingError as failure:
        raise infeasibility_error(robot, path, limits, ends, failure) from None
    motion = JerkLimitedMotion(robot, path, limits.payload, result.pieces)
    reason = (
        f"{'no small change' if result.converged else 'not shown that no small change'} of "
        f"{len(result.pieces.times)} intervals is faster (with jerk limits another timing may "
        f"be); no limit is exceeded at {result.reads} points"
    )
    return PathTiming(
        robot,
        path,
        limits.payload,
        ends,
        motion.t_final,
        result.relaxed,
        motion,
        result.load,
        result.reads,
        "solved" if result.converged else "uncertified",
        reason,
        jerk,
    )


def _joint_limits(robot: Robot, name: str, limits: ArrayLike | None) -> Vector:
    if limits is None:
        return np.full(robot.n, np.inf)
    array = np.asarray(limits)
    if array.ndim == 0:
        array = np.full(robot.n, limits)
    unlimited = np.isposinf(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    checked = finite_vector(name, np.where(unlimited, 1.0, array), robot.n)
    return np.where(unlimited, np.inf, checked)


def _end_speeds(speeds: Any) -> tuple[float, float]:
    begin, end = finite_vector("end_speeds", speeds, 2)
    return not_negative("speed at the start", begin), not_negative("speed at the end", end)


def _checked_intervals(name: str, value: Any) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or value < LEAST_INTERVALS
    ):
        raise ManipDynError(
            f"{name} must be a whole number of at least {LEAST_INTERVALS}, got {value!r}."
        )
    return int(value)


def _check_size(robot: Robot, q: Vector) -> None:
    if q.shape[2] != robot.n:
        raise ManipDynError(
            f"path must have positions of the {robot.n} joints of '{robot.name}', got "
            f"{q.shape[2]}."
        )
