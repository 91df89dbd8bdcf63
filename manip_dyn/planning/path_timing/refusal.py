"""Why a path has no timing: one sentence, where on the path, and what could be changed."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.digits import apart
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing.joint_path import JointPath
from manip_dyn.planning.path_timing.no_timing import NoTimingError
from manip_dyn.planning.path_timing.rows import Geometry, Limits, Rows
from manip_dyn.robot import Robot

STILL = 1e-9
"""Share of its greatest dq/ds below which a path stands still."""


def check_limits(robot: Robot, limits: Limits) -> None:
    """Refuse limits that are not above 0."""
    for what, values in zip(("speed", "effort", "acceleration"), limits[:3], strict=True):
        check_above_0(robot, what, values)


def check_above_0(robot: Robot, what: str, limits: Vector) -> None:
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
    if not sizes[worst] > STILL * sizes.max():
        raise ManipDynError(
            f"path stands still {place(path, grid[worst[0]])}: dq/ds is 0; expected one that "
            "moves on everywhere, its parts before and after timed apart"
        )
    slack = 1e-9
    beyond = np.maximum(robot.q_min - along.q, along.q - robot.q_max)
    if beyond.max() > slack:
        k, p, i = np.unravel_index(np.argmax(beyond), beyond.shape)
        found, low, high = apart(along.q[k, p, i], robot.q_min[i], robot.q_max[i])
        raise ManipDynError(
            f"path leaves the position limits {place(path, grid[k])}: joint "
            f"'{robot.joint_names[i]}' is at {found} {robot.unit(int(i))}; "
            f"expected {low} to {high} (splines swing out between "
            "waypoints: more of them or a blend keep it nearer)"
        )


def refusal(
    robot: Robot, path: JointPath, limits: Limits, ends: tuple[float, float], why: NoTimingError
) -> ManipDynError:
    """Return what `why` means."""
    where = place(path, why.s)
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
        found, low, high = apart(ends[0], why.low, why.high)
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


def weak_joint(
    robot: Robot, path: JointPath, limits: Limits, grid: Vector, rows: Rows
) -> ManipDynError | None:
    """Return the refusal of a path on which a joint cannot hold the arm's weight, if so."""
    share = np.abs(rows.b)
    k, p, i = np.unravel_index(np.argmax(share), share.shape)
    if share[k, p, i] <= 1.0:
        return None
    limit = limits.effort[i]
    needed, most = apart(rows.b[k, p, i] * limit, limit, digits=4)
    return ManipDynError(
        f"{place(path, grid[k])}, joint '{robot.joint_names[i]}' needs the effort {needed} to "
        f"{'move' if robot.rubs else 'hold'} the arm; its limit is {most}: expected a "
        "lighter payload, other postures or a higher limit"
    )


def place(path: JointPath, s: float) -> str:
    """Return where on a path s is, in words."""
    begin, end = float(path.breaks[0]), float(path.breaks[-1])
    return f"at s = {s:.4g}, {100.0 * (s - begin) / (end - begin):.0f} % of the path"
