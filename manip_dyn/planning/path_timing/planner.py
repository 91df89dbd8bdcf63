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
    """Return the fastest motion along a joint path that keeps all limits.

    These are the robot's limits of position, speed and effort, and those of acceleration that
    are given. The efforts are those of inverse dynamics with gravity, damping, springs, rotors,
    the payload, and dry friction, which changes its side where a joint turns back. They are held
    at the grid points and between them (Pham, Pham 2018, "A new approach to time-optimal path
    parameterization based on reachability analysis", with damping and friction, a trapezoidal
    rule, and margins; see `path_timing.speed_profile`). The time is that of
    the fastest motion but for errors of the order of the grid's width squared. With limits of
    jerk it is a local optimum of a problem that is not convex: no small change is faster, another
    timing may be (see `path_timing.jerk_timing`).

    Args:
        robot: The arm.
        path: Waypoints (m, n), rad or m, joined by a cubic spline with continuous q''; a spline
            of scipy with values (n,); or a path of your own, see `md.JointPath`.
            Paths of the tool: ``md.track(robot, path).q`` are waypoints.
        blend: Join waypoints by straight lines instead, rounded by parabolas that begin this far
            from each, rad or m; 0: not rounded, which only waypoints on one line can do. Where
            the next waypoint is nearer than twice that, the parabola begins in the middle:
            `path.blends` of the result has all of these distances, and `reason` tells of it.
        acceleration_limits: Of the joints, one or (n,), rad/s^2 or m/s^2 (inf: none); None: none.
        jerk_limits: Of the joints, one or (n,), rad/s^3 or m/s^3 (inf: none); None: none. Rest is
            then without acceleration, and d2q/ds2 of the path may not jump.
        payload: What the tool carries (10,), see `Kernels`; None: nothing beyond the robot.
        end_speeds: Speeds ds/dt at begin and end of the path. Of waypoints s is the length of the
            path (of the lines between them, for a spline), rad or m.
        intervals: How many intervals the grid has at least; it is refined where need be.

    Raises:
        ManipDynError: If an argument is bad, the path has a corner, stands still or leaves the
            position limits, an effort does not hold the arm somewhere, or no speed keeps the
            limits.
    """
    customize(robot)  # refuses what is no robot
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
    places = geometry(along, grid[:-1], np.diff(grid), SAMPLE_FRACTIONS)
    _check_size(robot, places.q)
    check_geometry(robot, along, grid, places)
    known = constraint_rows(robot, limits, places)
    problem = PathProblem(robot, along, limits, (begin, end))
    try:
        found = fastest_profile(problem, grid, known)
    except NoTimingError as why:
        told = overload_error(robot, along, limits, grid, known) or end_speed_error(
            problem, grid, known
        )
        raise told or infeasibility_error(robot, along, limits, (begin, end), why) from None
    grid = found.grid
    check_geometry(robot, along, grid, geometry(along, grid[:-1], np.diff(grid), SAMPLE_FRACTIONS))
    motion = PathMotion(robot, along, limits.payload, grid, found.squares)
    if np.any(np.isfinite(jerk)):
        return _jerk_limited_timing(problem, jerk, motion, breaks, count)
    reason = (
        f"the fastest of {len(grid) - 1} intervals; no limit is exceeded at {found.reads} places"
        f"{blend_note(along, blend)}"
    )
    return PathTiming(
        robot,
        along,
        limits.payload,
        (begin, end),
        motion.t_final,
        found.relaxed,
        motion,
        found.load,
        found.reads,
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
    course = JerkProblem(robot, path, limits, jerk)
    check_third_derivative(path, robot.n)
    if not isinstance(path, PiecewisePath):
        check_derivatives(path, 3)
    times = np.linspace(0.0, free.t_final, GUESS_SAMPLES + 1)
    places = np.array([free.on_path(float(t)).s for t in times])
    try:
        found = jerk_limited_profile(course, UnlimitedMotion(ends, times, places, breaks, count))
    except NoTimingError as why:
        raise infeasibility_error(robot, path, limits, ends, why) from None
    motion = JerkLimitedMotion(robot, path, limits.payload, found.pieces)
    reason = (
        f"{'no small change' if found.converged else 'not shown that no small change'} of "
        f"{len(found.pieces.times)} intervals is faster (with limits of jerk another timing may "
        f"be); no limit is exceeded at {found.reads} places"
    )
    return PathTiming(
        robot,
        path,
        limits.payload,
        ends,
        motion.t_final,
        found.relaxed,
        motion,
        found.load,
        found.reads,
        "solved" if found.converged else "uncertified",
        reason,
        jerk,
    )


def _joint_limits(robot: Robot, name: str, given: ArrayLike | None) -> Vector:
    if given is None:
        return np.full(robot.n, np.inf)
    array = np.asarray(given)
    if array.ndim == 0:
        array = np.full(robot.n, given)
    endless = np.isposinf(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    checked = finite_vector(name, np.where(endless, 1.0, array), robot.n)
    return np.where(endless, np.inf, checked)


def _end_speeds(given: Any) -> tuple[float, float]:
    begin, end = finite_vector("end_speeds", given, 2)
    return not_negative("speed at the begin", begin), not_negative("speed at the end", end)


def _checked_intervals(name: str, value: Any) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or value < LEAST_INTERVALS
    ):
        raise ManipDynError(
            f"{name} is {value!r}; expected a whole number, {LEAST_INTERVALS} or more"
        )
    return int(value)


def _check_size(robot: Robot, q: Vector) -> None:
    if q.shape[2] != robot.n:
        raise ManipDynError(
            f"path has positions of {q.shape[2]} joints; expected the {robot.n} of '{robot.name}'"
        )
