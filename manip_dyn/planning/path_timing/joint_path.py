"""Joint paths: waypoints, splines and user-defined paths, their checks, and grids over them.

A path gives positions as a function of a parameter s. It is smooth between its breaks, where
q'' may jump.

The derivatives of a user-defined path are checked against finite differences. The mean of a
derivative over an interval, by Simpson's rule, is compared with the difference of the order below.
Where they differ, the interval is bisected, since the path may only be under-resolved: towards the
better half to detect a derivative that is wrong everywhere, towards the worse half to detect
jumps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline, PPoly

from manip_dyn.core.checks import Counts, Matrix, Vector, finite_array, not_negative, shortened
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot

SAME_POINT = 1e-9
"""Waypoints that are nearer to each other are the same, rad or m."""
CORNER_TOLERANCE = 1e-6
"""Unit tangents that differ by more make a corner."""
REVERSAL_TOLERANCE = 1e-3
"""Sums of unit tangents below this turn back."""


class JointPath(Protocol):
    """What `time_path` asks of a path; one of your own has these two.

    Attributes:
        breaks: Parameters s (k,), from the path's begin to its end, between which it has three
            continuous derivatives.
    """

    @property
    def breaks(self) -> Vector:
        """Parameters (k,) that rise."""

    def __call__(self, s: Vector, order: int) -> Matrix:
        """Return positions (m, n) at s (m,), rad or m, or their derivative of order 1 or 2.

        With limits of jerk that of order 3, too.
        """


class PiecewisePath:
    """A path of polynomials of s between breaks.

    Attributes:
        blends: How far from each inner waypoint (m - 2,) its parabola begins and ends, rad or m:
            less than what was asked for where neighbours are nearer than twice that; None for
            paths without parabolas.
    """

    def __init__(self, pieces: PPoly, blends: Vector | None = None):
        """Take what scipy calls a piecewise polynomial, with values (n,)."""
        self.blends = blends
        self._derivatives = [pieces, *(pieces.derivative(order) for order in (1, 2, 3))]
        self.breaks = np.asarray(pieces.x, dtype=np.float64)

    def __call__(self, s: Vector, order: int) -> Matrix:
        """Return positions (m, n) at s (m,), rad or m, or their derivative of order 1 to 3."""
        return self._derivatives[order](s)


def spline_path(points: Matrix) -> PiecewisePath:
    """Return the cubic spline with continuous q'' through points (m, n).

    s is the length of the straight lines between them, from 0.
    """
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    if len(points) == 2:
        return _straight_path(points, s)
    return PiecewisePath(CubicSpline(s, points, bc_type="natural"))


def blended_path(points: Matrix, blend: float) -> PiecewisePath:
    """Return the straight lines through points (m, n), rounded by parabolas.

    A parabola begins and ends `blend`, rad or m, from its waypoint, at most in the middle
    between two. With 0 only waypoints on one line will do.
    """
    blend = not_negative("blend", blend)
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    tangents = np.diff(points, axis=0) / lengths[:, None]
    breaks, pieces, blends = [0.0], [], []
    at = points[0]
    for k, tangent in enumerate(tangents):
        end = points[k + 1]
        if k + 1 == len(tangents):
            reach, turn = 0.0, 0.0 * tangent
        else:
            turn = tangents[k + 1] - tangent
            _check_corner(k + 1, end, tangent, tangents[k + 1], blend)
            reach = min(blend, 0.5 * lengths[k], 0.5 * lengths[k + 1])
            blends.append(reach)
        straight = float((end - at) @ tangent) - reach
        if straight > SAME_POINT:
            pieces.append((0.0 * at, tangent, at))
            breaks.append(breaks[-1] + straight)
        at = end - reach * tangent
        if reach > 0.0:
            pieces.append((turn / (4.0 * reach), tangent, at))
            breaks.append(breaks[-1] + 2.0 * reach)
            at = end + reach * tangents[k + 1]
    made = PPoly(np.array(pieces).swapaxes(0, 1), np.array(breaks))
    return PiecewisePath(made, np.array(blends))


def check_smooth(path: JointPath) -> None:
    """Refuse a path that has a corner or stands still at a break."""
    breaks = path.breaks
    widths = np.diff(breaks)
    if len(breaks) < 2 or not np.all(widths > 0.0):
        raise ManipDynError(f"path has the breaks {breaks}; expected at least two that rise")
    before, after = (
        path(each, 1) for each in (breaks[1:-1] - 1e-9 * widths[:-1], breaks[1:-1] + 0.0)
    )
    for k, (one, other) in enumerate(zip(before, after, strict=True)):
        sizes = np.linalg.norm(one), np.linalg.norm(other)
        if min(sizes) == 0.0:
            continue
        if np.abs(one - other).max() > 1e-5 * max(sizes):
            raise ManipDynError(
                f"path has a corner at s = {breaks[k + 1]:.6g} of {breaks[-1]:.6g}; expected a "
                "continuous dq/ds: round it by a blend, or time the parts before and after apart"
            )


def check_third_derivative(path: JointPath, n: int) -> None:
    """Refuse a path without a third derivative, or whose second one jumps."""
    breaks = path.breaks
    places = 0.5 * (breaks[1:] + breaks[:-1])
    try:
        third = np.asarray(path(places, 3), dtype=np.float64)
    except Exception as why:  # it is the user's
        raise ManipDynError(
            f"path has no third derivative ({type(why).__name__}: {why}); expected path(s, 3) "
            "beside the first two where jerk_limits are given"
        ) from why
    if third.shape != (len(places), n) or not np.isfinite(third).all():
        raise ManipDynError(
            f"path(s, 3) has shape {third.shape}; expected finite third derivatives (m, {n}) "
            "where jerk_limits are given"
        )
    width = np.diff(breaks)
    before = path(breaks[1:-1] - 1e-9 * width[:-1], 2)
    after = path(breaks[1:-1] + 1e-9 * width[1:], 2)
    greatest = max(np.abs(path(np.concatenate([places, breaks]), 2)).max(), 1e-9)
    for k in np.flatnonzero(np.any(np.abs(after - before) > 1e-5 * greatest, axis=1)):
        raise ManipDynError(
            f"d2q/ds2 of the path jumps at s = {breaks[k + 1]:.6g} of {breaks[-1]:.6g}, which no "
            "limit of jerk allows; expected a path with a continuous one: a spline through the "
            "waypoints, without blend"
        )


def _check_corner(k: int, point: Vector, one: Vector, other: Vector, blend: float) -> None:
    if np.abs(other - one).max() > CORNER_TOLERANCE and blend == 0.0:
        shown = ", ".join(f"{each:.4g}" for each in point)
        raise ManipDynError(
            f"path has a corner at waypoint {k} ({shown}); expected blend above 0 to round it, or "
            "none for a spline, or the parts before and after timed apart"
        )
    if np.linalg.norm(one + other) < REVERSAL_TOLERANCE:
        raise ManipDynError(
            f"path turns back at waypoint {k}; expected the parts before and after timed apart"
        )


def _straight_path(points: Matrix, s: Vector) -> PiecewisePath:
    slope = (points[1] - points[0]) / s[1]
    return PiecewisePath(PPoly(np.array([[0.0 * slope], [slope], [points[0]]]), s))


REVERSAL_SAMPLES = 8
"""How often in an interval one looks whether a joint has turned back."""
ENDPOINT_OFFSET = 1e-9
"""Ends of an interval are read this share of it inside: q'' may jump there."""


def first_grid(breaks: Vector, intervals: int) -> Vector:
    """Return a grid with every break, its intervals of nearly the same length."""
    widths = np.diff(breaks)
    counts = np.maximum(np.ceil(intervals * widths / widths.sum() - 1e-9), 1).astype(int)
    return split_intervals(breaks, counts)


def with_reversals(
    path: Callable[[Vector, int], Matrix], breaks: Vector, intervals: int
) -> Vector:
    """Return the breaks and where a joint turns back: friction changes its side there."""
    grid = first_grid(breaks, REVERSAL_SAMPLES * intervals)
    inside = (1.0 - ENDPOINT_OFFSET) * grid[1:] + ENDPOINT_OFFSET * grid[:-1]
    low, high = np.concatenate([grid[:1], inside[:-1]]), inside
    turned = path(low, 1) * path(high, 1) < 0.0
    k, joint = np.nonzero(turned)
    low, high = low[k], high[k]
    rising = path(high, 1)[np.arange(len(k)), joint] > 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        after = (path(middle, 1)[np.arange(len(k)), joint] > 0.0) == rising
        low, high = np.where(after, low, middle), np.where(after, middle, high)
    apart = np.abs(high[:, None] - breaks).min(axis=1) > 1e-7 * (breaks[-1] - breaks[0])
    found = np.unique(high[apart])
    found = found[np.diff(found, prepend=-np.inf) > 1e-7 * (breaks[-1] - breaks[0])]
    return np.sort(np.concatenate([breaks, found]))


def split_intervals(grid: Vector, parts: Counts) -> Vector:
    """Return a grid (k + 1,) with its intervals divided into parts (k,)."""
    begins, widths = np.repeat(grid[:-1], parts), np.repeat(np.diff(grid) / parts, parts)
    count = np.arange(len(begins)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(begins + count * widths, grid[-1])


def interval_durations(widths: Vector, squares: Vector) -> Vector:
    """Return the times (k,) of intervals, s.

    Args:
        widths: Of the intervals (k,).
        squares: Control points (2 k + 1,) of the squared speed, see `speed_profile`.

    With s'' = u + w^2 (s - s_k) the speeds at the ends obey (v0 + v1) tanh(w t / 2) = w h.
    """
    speed = np.sqrt(squares[::2])
    share = widths / (speed[:-1] + speed[1:])
    z = np.diff(squares, 2)[::2] / widths**2 * share**2
    root = np.sqrt(np.abs(z))
    small = root < 1e-3
    safe = np.where(small, 0.5, root)
    exact = np.where(z > 0.0, np.arctanh(np.minimum(safe, 1.0 - 1e-16)), np.arctan(safe)) / safe
    return 2.0 * share * np.where(small, 1.0 + z / 3.0 + z * z / 5.0, exact)


def path_from(robot: Robot, given: Any, blend: float | None) -> JointPath:
    """Return the path that is given: as it is, from scipy, or through waypoints (m, n)."""
    if callable(given):
        if blend is not None:
            raise ManipDynError("blend is for waypoints; expected none with a path")
        if isinstance(given, PPoly):
            return PiecewisePath(given)
        if not hasattr(given, "breaks"):
            raise ManipDynError(
                f"path is {type(given).__name__} without breaks; expected {_accepted_paths(robot)}"
            )
        _check_user_path(robot, given)
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
    points = checked_waypoints(robot, given)
    return spline_path(points) if blend is None else blended_path(points, blend)


def blend_note(path: JointPath, blend: float | None) -> str:
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


def _check_user_path(robot: Robot, given: Any) -> None:
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


def checked_waypoints(robot: Robot, given: ArrayLike) -> Matrix:
    """Return waypoints (m, n), at least two, no two in a row the same."""
    try:
        shape = np.shape(given)
    except ValueError:  # rows of several lengths
        shape = ()
    if not shape:
        raise ManipDynError(f"path is {_representation(given)}; expected {_accepted_paths(robot)}")
    if len(shape) != 2 or shape[0] < 2:
        raise ManipDynError(
            f"path has shape {shape}; expected at least two waypoints of {robot.n} joints, "
            f"(m, {robot.n})"
        )
    points = finite_array("path", given, (shape[0], robot.n))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    for k in np.flatnonzero(steps < SAME_POINT):
        raise ManipDynError(f"waypoints {k} and {k + 1} are the same; expected each of them once")
    return points


def _accepted_paths(robot: Robot) -> str:
    return (
        f"waypoints (m, {robot.n}), a spline of scipy (CubicSpline or another PPoly), or a path "
        "of your own: path(s, order) with the attribute breaks, see md.JointPath"
    )


def _representation(given: object) -> str:
    """Return what was given: short values as they are, others by their type."""
    shown = repr(given)
    return shown if len(shown) <= 40 else type(given).__name__


CHECK_INTERVALS = 60
DERIVATIVE_TOLERANCE = 1e-2
"""Share of the greatest derivative by which one may differ from differences."""
JUMP_TOLERANCE = 1e-3
"""Share of the greatest dq/ds by which it may change at once, and positions over an interval."""
BISECTIONS = {"better": 8, "worse": 24}
DERIVATIVES = {1: "dq/ds", 2: "d2q/ds2", 3: "d3q/ds3"}


def check_derivatives(path: JointPath, *orders: int) -> None:
    """Refuse a path whose derivatives of some orders are not those of the orders below."""
    grid = first_grid(path.breaks, CHECK_INTERVALS)
    width = np.diff(grid)
    begins, ends = grid[:-1] + ENDPOINT_OFFSET * width, grid[1:] - ENDPOINT_OFFSET * width
    for order in orders:
        scale = _derivative_scale(path, order, grid, begins, ends)
        if scale == 0.0:
            continue
        _check_jumps(path, order, begins, ends)
        low, high = _bisected(path, order, begins, ends, DERIVATIVE_TOLERANCE * scale, "better")
        if len(low):
            s = 0.5 * (low[:1] + high[:1])
            read, difference = (
                path(s, order)[0],
                _mean_difference(path, order, low[:1], high[:1])[0],
            )
            i = int(np.argmax(np.abs(read - difference)))
            raise ManipDynError(
                f"path(s, {order}) is not the derivative of path(s, {order - 1}): at s = "
                f"{s[0]:.6g} it is {read[i]:.6g} for joint {i}, differences give "
                f"{difference[i]:.6g}; expected {DERIVATIVES[order]}"
            )


def _check_jumps(path: JointPath, order: int, begins: Vector, ends: Vector) -> None:
    """Refuse a path with a jump (order 1) or a corner (order 2) between its breaks."""
    if order > 2:
        return
    most = (
        JUMP_TOLERANCE
        * np.abs(path(begins, 1)).max()
        * (np.mean(ends - begins) if order == 1 else 1.0)
    )
    low, high = _bisected(path, order, begins, ends, most, "worse")
    if len(low):
        what, s = ("jumps", "has a corner")[order - 1], 0.5 * (low[0] + high[0])
        raise ManipDynError(
            f"path {what} at s = {s:.6g} of "
            f"{path.breaks[-1]:.6g}, between its breaks; expected continuous positions and dq/ds: "
            "round it, or time the parts before and after apart"
        )


def _derivative_scale(
    path: JointPath, order: int, grid: Vector, begins: Vector, ends: Vector
) -> float:
    """Return the greatest derivative, read or by differences (rounding apart)."""
    read = np.abs(path(np.concatenate([begins, ends]), order)).max()
    difference = np.abs(_mean_difference(path, order, begins, ends)).max()
    below = np.abs(path(begins, order - 1)).max()
    least = 1e-9 * below / (grid[-1] - grid[0])
    return float(max(read, difference)) if max(read, difference) > least else 0.0


def _mean_difference(path: JointPath, order: int, low: Vector, high: Vector) -> Matrix:
    """Return the mean derivative (k, n) in intervals (k,) by differences of the order below."""
    return (path(high, order - 1) - path(low, order - 1)) / (high - low)[:, None]


def _derivative_error(path: JointPath, order: int, low: Vector, high: Vector) -> Vector:
    """Return by how much the mean derivative (k,) in intervals differs from that."""
    middle = 0.5 * (low + high)
    mean = (path(low, order) + 4.0 * path(middle, order) + path(high, order)) / 6.0
    return np.asarray(np.abs(mean - _mean_difference(path, order, low, high)).max(axis=1))


def _bisected(
    path: JointPath, order: int, low: Vector, high: Vector, most: float, half: str
) -> tuple[Vector, Vector]:
    """Return what is left of intervals (k,) in which a derivative differs by more than `most`.

    Towards their better halves it is that of the derivative, towards the worse ones that of what
    it comes to over the interval.
    """
    worse = half == "worse"
    for _ in range(BISECTIONS[half]):
        off = _derivative_error(path, order, low, high)
        left = (off * (high - low) if worse else off) > most
        low, high = low[left], high[left]
        if not len(low):
            break
        middle = 0.5 * (low + high)
        second = _derivative_error(path, order, middle, high) > _derivative_error(
            path, order, low, middle
        )
        second = second == worse
        low, high = np.where(second, middle, low), np.where(second, high, middle)
    return low, high
