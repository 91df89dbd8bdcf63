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
"""Share of its greatest dq/ds below which a path stands still."""


def check_limits(robot: Robot, limits: Limits) -> None:
    """Refuse limits that are not above 0."""
    for what, values in zip(("speed", "effort", "acceleration"), limits[:3], strict=True):
        check_positive_limits(robot, what, values)


def check_positive_limits(robot: Robot, what: str, limits: Vector) -> None:
    """Refuse a limit (n,) of a kind that is not above 0."""
    for i in np.flatnonzero(~(limits > 0.0)):
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' has the {what} limit {limits[i]:g}; expected one "
            "above 0"
        )


def check_friction(robot: Robot) -> None:
    """Refuse friction that falls at once from its static level: at rest two efforts would do."""
    more = robot.static_friction > robot.coulomb_friction
    for i in np.flatnonzero(more & (robot.stribeck_velocity == 0.0)):
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' has the static friction {robot.static_friction[i]:g} "
            f"above Coulomb's {robot.coulomb_friction[i]:g} with stribeck_velocity 0; expected "
            "one above 0 for a motion that is planned"
        )


def check_geometry(robot: Robot, path: JointPath, grid: Vector, along: Geometry) -> None:
    """Refuse a path that stands still, is not finite or leaves the position limits."""
    if not all(np.isfinite(each).all() for each in along):
        raise ManipDynError("path has positions or derivatives that are not finite")
    sizes = np.linalg.norm(along.first, axis=2)
    worst = np.unravel_index(np.argmin(sizes), sizes.shape)
    if not sizes[worst] > STANDSTILL * sizes.max():
        raise ManipDynError(
            f"path stands still {location(path, grid[worst[0]])}: dq/ds is 0; expected one that "
            "moves on everywhere, its parts before and after timed apart"
        )
    slack = 1e-9
    beyond = np.maximum(robot.q_min - along.q, along.q - robot.q_max)
    if beyond.max() > slack:
        k, p, i = np.unravel_index(np.argmax(beyond), beyond.shape)
        found, low, high = distinct_digits(along.q[k, p, i], robot.q_min[i], robot.q_max[i])
        raise ManipDynError(
            f"path leaves the position limits {location(path, grid[k])}: joint "
            f"'{robot.joint_names[i]}' is at {found} {robot.unit(int(i))}; "
            f"expected {low} to {high} (splines swing out between "
            "waypoints: more of them or a blend keep it nearer)"
        )


def infeasibility_error(
    robot: Robot, path: JointPath, limits: Limits, ends: tuple[float, float], why: NoTimingError
) -> ManipDynError:
    """Return what `why` means."""
    where = location(path, why.s)
    if why.code == "unlimited":
        return ManipDynError(
            f"nothing limits the speed {where}; expected a speed, effort or acceleration limit of "
            "a joint that moves there"
        )
    if why.code == "rough":
        return ManipDynError(
            f"limits are not met between grid points {where}; expected more intervals or a "
            "smoother path"
        )
    if why.code == "jerk" and any(ends):
        return ManipDynError(
            f"no motion within the limits of jerk was found with the end speeds {ends[0]:.6g} and "
            f"{ends[1]:.6g} (ds/dt), the worst place is {where}; expected lower end_speeds, "
            "higher jerk_limits, more intervals or a smoother path"
        )
    if why.code == "jerk":
        return ManipDynError(
            f"no motion within the limits of jerk was found, the worst place is {where}; expected "
            "higher jerk_limits, more intervals or a smoother path"
        )
    if why.code == "begin":
        found, low, high = distinct_digits(ends[0], why.low, why.high)
        return ManipDynError(
            f"speed at the begin of the path is {found}; expected {low} to {high} (ds/dt), from "
            "which the rest of the path can be done"
        )
    if ends[1] > 0.0 and why.s >= path.breaks[-1] - 0.05 * (path.breaks[-1] - path.breaks[0]):
        return ManipDynError(
            f"speed at the end of the path is {ends[1]:.6g}; {where}, no speed leads to it within "
            "the limits; expected a lower one"
        )
    return ManipDynError(
        f"{where}, no acceleration within the limits keeps the arm on the path; expected higher "
        "limits, a lighter payload or other postures there"
    )


def overload_error(
    robot: Robot, path: JointPath, limits: Limits, grid: Vector, rows: ConstraintRows
) -> ManipDynError | None:
    """Return the refusal of a path on which a joint cannot hold the arm's weight, if so."""
    share = np.abs(rows.b)
    k, p, i = np.unravel_index(np.argmax(share), share.shape)
    if share[k, p, i] <= 1.0:
        return None
    limit = limits.effort[i]
    needed, most = distinct_digits(rows.b[k, p, i] * limit, limit, digits=4)
    return ManipDynError(
        f"{location(path, grid[k])}, joint '{robot.joint_names[i]}' needs the effort {needed} to "
        f"{'move' if robot.has_dry_friction else 'hold'} the arm; its limit is {most}: expected a "
        "lighter payload, other postures or a higher limit"
    )


def location(path: JointPath, s: float) -> str:
    """Return where on a path s is, in words."""
    begin, end = float(path.breaks[0]), float(path.breaks[-1])
    return f"at s = {s:.4g}, {100.0 * (s - begin) / (end - begin):.0f} % of the path"


SPEED_REDUCTIONS = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1)
"""Shares by which a speed is lowered until it leaves room for what happens between grid points."""


def end_speed_error(
    problem: PathProblem, grid: Vector, known: ConstraintRows
) -> ManipDynError | None:
    """Return the refusal of a speed at the end that is too high, if that is what is wrong.

    Args:
        problem: The arm on its path; no timing of it was found.
        grid: A grid (k + 1,).
        known: Its rows.
    """
    begin, end = problem.ends
    if end == 0.0:
        return None
    most = _fastest_end(known, grid, begin)
    if most is None or not most > 0.0:
        return None
    for share in SPEED_REDUCTIONS:
        lower = rounded_down(min(end, most) * (1.0 - share))
        try:
            fastest_profile(problem._replace(ends=(begin, lower)), grid, known)
        except NoTimingError:
            continue
        asked, told = distinct_digits(end, lower)
        return ManipDynError(
            f"speed at the end of the path is {asked}; expected at most {told} (ds/dt), to "
            f"which the path leads within the limits from {begin:.6g} at its begin"
        )
    return None


def _fastest_end(known: ConstraintRows, grid: Vector, begin: float) -> float | None:
    """Return the greatest speed at the end, limits between grid points apart; None: none."""
    turned = ConstraintRows(*(np.ascontiguousarray(each[::-1, ::-1]) for each in known))
    turned = turned._replace(a=-turned.a)
    widths = np.diff(grid)[::-1].copy()
    reach = np.zeros((2 * len(grid) - 1, 2))
    most = np.full((len(widths), known.a.shape[2]), 1.0 - MARGIN)
    fastest = SPEED_BOUND * (grid[-1] - grid[0]) ** 2
    stiff = stiff_intervals(turned, widths)
    lost = backward_pass(turned, most, turned.rough, stiff, widths, begin**2, fastest, reach)
    return None if lost >= 0 else float(np.sqrt(reach[0, 1]))
