"""Errors that explain why a path has no timing: the reason, its location, and a remedy.

For an end speed that is too high, the greatest possible one is computed. Read from its end, a
path's rows have the acceleration with the opposite sign. The backward pass of `speed_profile` over
these rows, from the speed at the start, finds the reachable speeds at the end.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector, distinct_digits, rounded_down
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing.constraints import ConstraintRows, Geometry, Limits
from manip_dyn.planning.path_timing.joint_path import JointPath
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

STANDSTILL = 1e-9
"""Paths stand still where dq/ds is below this fraction of its largest value."""


def check_limits(robot: Robot, limits: Limits) -> None:
    """Raise `ManipDynError` unless all limits are positive."""
    for kind, values in zip(("speed", "effort", "acceleration"), limits[:3], strict=True):
        check_positive_limits(robot, kind, values)


def check_positive_limits(robot: Robot, kind: str, limits: Vector) -> None:
    """Raise `ManipDynError` unless all limits (n,) of a kind are positive."""
    for i in np.flatnonzero(~(limits > 0.0)):
        raise ManipDynError(
            f"{kind} limit of joint '{robot.joint_names[i]}' must be above 0, got {limits[i]:g}."
        )


def check_friction(robot: Robot) -> None:
    """Raise `ManipDynError` if friction drops from static to Coulomb in a jump.

    At rest the effort would not be unique.
    """
    drops = robot.static_friction > robot.coulomb_friction
    for i in np.flatnonzero(drops & (robot.stribeck_velocity == 0.0)):
        raise ManipDynError(
            f"stribeck_velocity of joint '{robot.joint_names[i]}' must be above 0 for a planned "
            f"motion with static friction ({robot.static_friction[i]:g}) above Coulomb friction "
            f"({robot.coulomb_friction[i]:g}), got 0."
        )


def check_geometry(robot: Robot, path: JointPath, grid: Vector, along: Geometry) -> None:
    """Raise `ManipDynError` if a path is not finite, stands still or exceeds position limits."""
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
    """Return the error message of a failed search."""
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
    """Return an error if a joint cannot hold the weight of the arm on the path, or None."""
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
    """Return the location of s on a path in words."""
    begin, end = float(path.breaks[0]), float(path.breaks[-1])
    return f"at s = {s:.4g}, {100.0 * (s - begin) / (end - begin):.0f} % of the path"


SPEED_REDUCTIONS = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1)
"""Relative reductions of a speed, as margins for violations between grid points."""


def end_speed_error(
    problem: PathProblem, grid: Vector, rows: ConstraintRows
) -> ManipDynError | None:
    """Return an error if the speed at the end is too high, or None.

    Args:
        problem: The arm on its path, without a feasible timing.
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
    """Return the greatest speed at the end, ignoring limits between grid points, or None."""
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
