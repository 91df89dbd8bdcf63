"""`time_path`, which computes the fastest timing of a joint path, and its error messages.

An error message contains the reason, its location and a remedy. If the end speed is too high, the
message contains the highest feasible one that was found. It is computed by the backward pass of
`speed_profile` on the reversed path: reversal changes the sign of the acceleration in the rows,
and the pass starts with the speed at the start of the path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import checked_payload, customize
from manip_dyn.core.checks import (
    Vector,
    distinct_digits,
    finite_vector,
    not_negative,
    rounded_down,
)
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing.constraints import (
    SAMPLE_FRACTIONS,
    ConstraintRows,
    Geometry,
    Limits,
    constraint_rows,
    geometry,
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
    MARGIN,
    SPEED_BOUND,
    NoTimingError,
    PathProblem,
    backward_pass,
    fastest_profile,
    stiff_intervals,
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
    """Return the fastest timing of a motion along a joint path within all limits.

    The limits are the position, speed and effort limits of the robot, `acceleration_limits` and
    `jerk_limits`. They are satisfied at and between the grid points. Efforts are computed by
    inverse dynamics with gravity, damping, springs, rotors and payload. They include dry friction,
    which changes sign where a joint reverses.

    The method is that of Pham, Pham 2018, "A new approach to time-optimal path parameterization
    based on reachability analysis", extended by damping, friction, a trapezoidal rule and margins
    (see `path_timing.speed_profile`). The duration exceeds the minimum by a discretization error
    of second order in the grid width. With jerk limits, the problem is nonconvex and the result is
    a local optimum: no small change is faster, but another timing may be (see
    `path_timing.jerk_timing`).

    Args:
        robot: The arm.
        path: Waypoints (m, n), rad or m, joined by a cubic spline with continuous q''; a SciPy
            spline with values (n,); or a path function, see `md.JointPath`. For a tool path, use
            the waypoints ``md.track(robot, path).q``.
        blend: Distance from each waypoint at which a rounding parabola starts, rad or m. With a
            blend, the waypoints are joined by straight lines instead of a spline. With 0, all
            waypoints must be on one line. If an adjacent waypoint is closer than twice the blend,
            the distance is half of that to the waypoint. `path.blends` of the result contains the
            distances, and `reason` reports reductions.
        acceleration_limits: One limit for all joints or limits (n,), rad/s^2 or m/s^2 (inf for no
            limit). Default: no limits.
        jerk_limits: One limit for all joints or limits (n,), rad/s^3 or m/s^3 (inf for no limit).
            The acceleration is then zero at rest, and d2q/ds2 of the path must be continuous.
            Default: no limits.
        payload: Payload at the tool (10,), see `Kernels`. Default: none.
        end_speeds: Speeds ds/dt at the start and the end of the path. For waypoints, s is the
            length of the path (of the polygon for a spline), rad or m.
        intervals: Smallest number of intervals of the grid, which is refined where necessary.

    Returns:
        The motion as a function of time, with the status ``solved`` or ``uncertified``, see
        `PathTiming`.

    Raises:
        ManipDynError: If an argument is invalid; if the path has a corner, stands still or exceeds
            the position limits; if an effort limit is too low to hold the arm; or if no timing is
            feasible.
    """
    customize(robot)  # raises if `robot` is not a Robot
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
    # Imported here because most timings have no jerk limits.
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


STANDSTILL = 1e-9
"""Fraction of the largest dq/ds below which dq/ds counts as 0."""


def check_limits(robot: Robot, limits: Limits) -> None:
    """Check that the limits of speed, effort and acceleration are positive."""
    for kind, values in zip(("speed", "effort", "acceleration"), limits[:3], strict=True):
        check_positive_limits(robot, kind, values)


def check_positive_limits(robot: Robot, kind: str, limits: Vector) -> None:
    """Check that all limits (n,) of one kind are positive."""
    for i in np.flatnonzero(~(limits > 0.0)):
        raise ManipDynError(
            f"{kind} limit of joint '{robot.joint_names[i]}' must be above 0, got {limits[i]:g}."
        )


def check_friction(robot: Robot) -> None:
    """Check that friction does not drop from static to Coulomb friction in a jump.

    In that case the effort at rest would not be unique.
    """
    drops = robot.static_friction > robot.coulomb_friction
    for i in np.flatnonzero(drops & (robot.stribeck_velocity == 0.0)):
        raise ManipDynError(
            f"stribeck_velocity of joint '{robot.joint_names[i]}' must be above 0 for a planned "
            f"motion with static friction ({robot.static_friction[i]:g}) above Coulomb friction "
            f"({robot.coulomb_friction[i]:g}), got 0."
        )


def check_geometry(robot: Robot, path: JointPath, grid: Vector, along: Geometry) -> None:
    """Check the sample points of a path: finite values, nonzero dq/ds and position limits.

    Args:
        robot: The arm.
        path: The path.
        grid: Grid (k + 1,) of the parameter s, for messages.
        along: Sample points of the intervals of the grid.
    """
    if not all(np.isfinite(values).all() for values in along):
        raise ManipDynError("positions and derivatives of the path must be finite.")
    sizes = np.linalg.norm(along.first, axis=2)
    worst = np.unravel_index(np.argmin(sizes), sizes.shape)
    if not sizes[worst] > STANDSTILL * sizes.max():
        raise ManipDynError(
            f"dq/ds of the path must not be 0; it is 0 {location(path, grid[worst[0]])}. Time "
            "both sides separately."
        )
    slack = 1e-9
    beyond = np.maximum(robot.q_min - along.q, along.q - robot.q_max)
    if beyond.max() > slack:
        k, p, i = np.unravel_index(np.argmax(beyond), beyond.shape)
        position, low, high = distinct_digits(along.q[k, p, i], robot.q_min[i], robot.q_max[i])
        raise ManipDynError(
            f"path exceeds the position limits {location(path, grid[k])}: joint "
            f"'{robot.joint_names[i]}' must be at {low} to {high}, got {position} "
            f"{robot.unit(int(i))}; more waypoints or a blend reduce the overshoot of splines."
        )


def infeasibility_error(
    robot: Robot,
    path: JointPath,
    limits: Limits,
    ends: tuple[float, float],
    failure: NoTimingError,
) -> ManipDynError:
    """Return the error with reason, location and remedy for a failed search."""
    where = location(path, failure.s)
    if failure.code == "unlimited":
        return ManipDynError(
            f"the speed has no limit {where}; set a speed, effort or acceleration limit of a "
            "joint that moves there."
        )
    if failure.code == "rough":
        return ManipDynError(
            f"limits are exceeded between grid points {where}; increase intervals, or use a "
            "smoother path."
        )
    if failure.code == "jerk" and any(ends):
        return ManipDynError(
            f"no motion within jerk_limits was found with end_speeds {ends[0]:.6g} and "
            f"{ends[1]:.6g} (ds/dt); the largest violation is {where}. Reduce end_speeds, "
            "increase jerk_limits or intervals, or use a smoother path."
        )
    if failure.code == "jerk":
        return ManipDynError(
            f"no motion within jerk_limits was found; the largest violation is {where}. Increase "
            "jerk_limits or intervals, or use a smoother path."
        )
    if failure.code == "begin":
        speed, low, high = distinct_digits(ends[0], failure.low, failure.high)
        return ManipDynError(
            f"speed at the start of the path must be {low} to {high} (ds/dt) for a feasible "
            f"motion, got {speed}."
        )
    if ends[1] > 0.0 and failure.s >= path.breaks[-1] - 0.05 * (path.breaks[-1] - path.breaks[0]):
        return ManipDynError(
            f"speed {ends[1]:.6g} at the end of the path is not reachable within the limits, "
            f"{where}; reduce it."
        )
    return ManipDynError(
        f"no acceleration within the limits follows the path {where}; increase the limits, reduce "
        "the payload, or use other postures there."
    )


def overload_error(
    robot: Robot, path: JointPath, limits: Limits, grid: Vector, rows: ConstraintRows
) -> ManipDynError | None:
    """Return an error if a joint cannot hold the arm, or move it against friction, else None."""
    load = np.abs(rows.b)
    k, p, i = np.unravel_index(np.argmax(load), load.shape)
    if load[k, p, i] <= 1.0:
        return None
    limit = limits.effort[i]
    required, most = distinct_digits(rows.b[k, p, i] * limit, limit, digits=4)
    return ManipDynError(
        f"{location(path, grid[k])}, joint '{robot.joint_names[i]}' needs the effort {required} "
        f"to {'move' if robot.has_dry_friction else 'hold'} the arm; its limit is {most}. "
        "Reduce the payload, use other postures, or increase the limit."
    )


def location(path: JointPath, s: float) -> str:
    """Describe the location of the parameter s on a path in words."""
    begin, end = float(path.breaks[0]), float(path.breaks[-1])
    return f"at s = {s:.4g}, {100.0 * (s - begin) / (end - begin):.0f} % of the path"


SPEED_REDUCTIONS = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1)
"""Relative speed reductions that are tried to avoid violations between grid points."""


def end_speed_error(
    problem: PathProblem, grid: Vector, rows: ConstraintRows
) -> ManipDynError | None:
    """Return an error that contains a feasible lower speed at the end, or None without one.

    Args:
        problem: The arm on its path, for which no timing is feasible.
        grid: A grid (k + 1,).
        rows: Rows of the grid.
    """
    begin, end = problem.ends
    if end == 0.0:
        return None
    most = _fastest_end(rows, grid, begin)
    if most is None or not most > 0.0:
        return None
    for reduction in SPEED_REDUCTIONS:
        lower = rounded_down(min(end, most) * (1.0 - reduction))
        try:
            fastest_profile(problem._replace(ends=(begin, lower)), grid, rows)
        except NoTimingError:
            continue
        requested, feasible = distinct_digits(end, lower)
        return ManipDynError(
            f"speed at the end of the path must be at most {feasible} (ds/dt) within the limits "
            f"from {begin:.6g} at its start, got {requested}."
        )
    return None


def _fastest_end(rows: ConstraintRows, grid: Vector, begin: float) -> float | None:
    """Return the largest end speed within the limits at grid points; None without a motion."""
    reversed_rows = ConstraintRows(*(np.ascontiguousarray(x[::-1, ::-1]) for x in rows))
    reversed_rows = reversed_rows._replace(a=-reversed_rows.a)
    widths = np.diff(grid)[::-1].copy()
    reach = np.zeros((2 * len(grid) - 1, 2))
    most = np.full((len(widths), rows.a.shape[2]), 1.0 - MARGIN)
    fastest = SPEED_BOUND * (grid[-1] - grid[0]) ** 2
    stiff = stiff_intervals(reversed_rows, widths)
    lost = backward_pass(
        reversed_rows, most, reversed_rows.rough, stiff, widths, begin**2, fastest, reach
    )
    return None if lost >= 0 else float(np.sqrt(reach[0, 1]))
