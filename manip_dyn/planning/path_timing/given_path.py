"""What `time_path` takes for a path: waypoints, a spline of scipy, or a path of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PPoly

from manip_dyn.core.checks import Matrix, finite_array, shortened
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing.joint_path import (
    SAME,
    JointPath,
    PiecewisePath,
    lines_through,
    spline_through,
)
from manip_dyn.robot import Robot


def joint_path(robot: Robot, given: Any, blend: float | None) -> JointPath:
    """Return the path that is given: as it is, from scipy, or through waypoints (m, n)."""
    if callable(given):
        if blend is not None:
            raise ManipDynError("blend is for waypoints; expected none with a path")
        if isinstance(given, PPoly):
            return PiecewisePath(given)
        if not hasattr(given, "breaks"):
            raise ManipDynError(
                f"path is {type(given).__name__} without breaks; expected {_accepted(robot)}"
            )
        _check_own(robot, given)
        return given
    if hasattr(given, "pose") and hasattr(given, "twist"):
        raise ManipDynError(
            f"path is {type(given).__name__}, a path of the tool; expected one of the joints, "
            "such as md.track(robot, path).q"
        )
    if hasattr(given, "joint_names") and hasattr(given, "points"):
        raise ManipDynError(
            f"path is {type(given).__name__}, a message; expected its waypoints, "
            "manip_dyn.ros.messages.trajectories.waypoints_from(message, robot)"
        )
    points = waypoints(robot, given)
    return spline_through(points) if blend is None else lines_through(points, blend)


def cut_blends(path: JointPath, blend: float | None) -> str:
    """Return what a reason adds where neighbours leave less than `blend` to round a corner."""
    blends = getattr(path, "blends", None)
    if blend is None or blends is None or not np.any(blends < blend):
        return ""
    short = np.flatnonzero(blends < blend)
    k = short[np.argmin(blends[short])]
    return (
        f"; blend {blend:.6g} is cut short at {len(short)} of {len(blends)} corners, to "
        f"{blends[k]:.6g} at waypoint {k + 1}: half of the way to the next"
    )


def _check_own(robot: Robot, given: Any) -> None:
    """Refuse a path of one's own whose breaks, positions or derivatives have other shapes."""
    breaks = given.breaks
    fits = isinstance(breaks, np.ndarray) and breaks.ndim == 1 and breaks.dtype.kind == "f"
    if not fits or not np.isfinite(breaks).all():
        raise ManipDynError(
            f"the path's breaks are {shortened(breaks)}; expected an array (k,) of finite numbers"
        )
    for order in range(3):
        try:
            shape = np.shape(given(breaks[:1], order))
        except Exception as why:  # it is the user's
            raise ManipDynError(
                f"path(s, {order}) raises {type(why).__name__}: {why}; expected positions (m, "
                f"{robot.n}) for order 0, their derivatives for 1 and 2"
            ) from why
        if breaks.size and shape != (1, robot.n):
            raise ManipDynError(
                f"path(s, {order}) has shape {shape} for one s; expected {(1, robot.n)}, a row "
                "for each"
            )


def waypoints(robot: Robot, given: ArrayLike) -> Matrix:
    """Return waypoints (m, n), at least two, no two in a row the same."""
    try:
        shape = np.shape(given)
    except ValueError:  # rows of several lengths
        shape = ()
    if not shape:
        raise ManipDynError(f"path is {_shown(given)}; expected {_accepted(robot)}")
    if len(shape) != 2 or shape[0] < 2:
        raise ManipDynError(
            f"path has shape {shape}; expected at least two waypoints of {robot.n} joints, "
            f"(m, {robot.n})"
        )
    points = finite_array("path", given, (shape[0], robot.n))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    for k in np.flatnonzero(steps < SAME):
        raise ManipDynError(f"waypoints {k} and {k + 1} are the same; expected each of them once")
    return points


def _accepted(robot: Robot) -> str:
    return (
        f"waypoints (m, {robot.n}), a spline of scipy (CubicSpline or another PPoly), or a path "
        "of your own: path(s, order) with the attribute breaks, see md.JointPath"
    )


def _shown(given: object) -> str:
    """Return what was given: short values as they are, others by their type."""
    shown = repr(given)
    return shown if len(shown) <= 40 else type(given).__name__
