"""Joint paths: waypoints, splines and user-defined paths, their checks, and grids.

A path returns positions q as a function of a parameter s. It is smooth between its breaks. At
breaks, d2q/ds2 (q'') may jump.

The derivatives of a user-defined path are checked by finite differences. The mean of a derivative
over an interval (Simpson's rule) is compared with the difference of the next lower derivative. If
they differ, the interval may be too long and is bisected. Bisection towards the better half
detects a derivative that is wrong everywhere. Bisection towards the worse half detects jumps.
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
"""Distance below which waypoints are equal, rad or m."""
CORNER_TOLERANCE = 1e-6
"""Largest difference of a component of adjacent unit tangents without a corner."""
REVERSAL_TOLERANCE = 1e-3
"""Norm of the sum of adjacent unit tangents below which the path reverses."""


class JointPath(Protocol):
    """Interface of a path for `time_path`: positions and derivatives as functions of s.

    Attributes:
        breaks: Increasing parameters s (k,) from the start to the end of the path. Between two
            breaks the path has three continuous derivatives.
    """

    @property
    def breaks(self) -> Vector:
        """Increasing parameters (k,) from the start to the end of the path."""

    def __call__(self, s: Vector, order: int) -> Matrix:
        """Return positions (m, n), rad or m, at s (m,), or their derivative of order 1 or 2.

        With jerk limits, order 3 is required, too.
        """


class PiecewisePath:
    """Piecewise polynomial path in s.

    Attributes:
        polynomial: Positions as a SciPy `PPoly`.
        blends: Distances (m - 2,) from the inner waypoints at which their parabolas start and end,
            rad or m. A distance is shorter than requested if an adjacent waypoint is closer than
            twice the blend. None for paths without parabolas.
    """

    def __init__(self, pieces: PPoly, blends: Vector | None = None):
        """Initialize from a SciPy piecewise polynomial with values (n,)."""
        self.blends = blends
        self.polynomial = pieces
        self._derivatives = [pieces, *(pieces.derivative(order) for order in (1, 2, 3))]
        self.breaks = np.asarray(pieces.x, dtype=np.float64)

    def __call__(self, s: Vector, order: int) -> Matrix:
        """Return positions (m, n), rad or m, at s (m,), or their derivative of order 1 to 3."""
        return self._derivatives[order](s)


def spline_path(points: Matrix) -> PiecewisePath:
    """Return the natural cubic spline, with continuous q'', through points (m, n).

    The parameter s is the length of the polygon through the points, starting at 0.
    """
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    if len(points) == 2:
        return _straight_path(points, s)
    return PiecewisePath(CubicSpline(s, points, bc_type="natural"))


def blended_path(points: Matrix, blend: float) -> PiecewisePath:
    """Return the polygon through points (m, n) with corners rounded by parabolas.

    A parabola starts and ends at the distance `blend` (rad or m) from its waypoint, but at most
    at half the distance to an adjacent waypoint. With 0, all waypoints must be on one line.
    """
    blend = not_negative("blend", blend)
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    tangents = np.diff(points, axis=0) / lengths[:, None]
    breaks, coefficients, blends = [0.0], [], []
    position = points[0]
    for k, tangent in enumerate(tangents):
        end = points[k + 1]
        if k + 1 == len(tangents):
            distance, tangent_change = 0.0, 0.0 * tangent
        else:
            tangent_change = tangents[k + 1] - tangent
            _check_corner(k + 1, end, tangent, tangents[k + 1], blend)
            distance = min(blend, 0.5 * lengths[k], 0.5 * lengths[k + 1])
            blends.append(distance)
        straight = float((end - position) @ tangent) - distance
        if straight > SAME_POINT:
            coefficients.append((0.0 * position, tangent, position))
            breaks.append(breaks[-1] + straight)
        position = end - distance * tangent
        if distance > 0.0:
            coefficients.append((tangent_change / (4.0 * distance), tangent, position))
            breaks.append(breaks[-1] + 2.0 * distance)
            position = end + distance * tangents[k + 1]
    polynomials = PPoly(np.array(coefficients).swapaxes(0, 1), np.array(breaks))
    return PiecewisePath(polynomials, np.array(blends))


def check_smooth(path: JointPath) -> None:
    """Check that the breaks are increasing and that the path has no corner at a break."""
    breaks = path.breaks
    widths = np.diff(breaks)
    if len(breaks) < 2 or not np.all(widths > 0.0):
        raise ManipDynError(
            f"breaks of the path must be at least two increasing numbers, got {breaks}."
        )
    before, after = (path(s, 1) for s in (breaks[1:-1] - 1e-9 * widths[:-1], breaks[1:-1] + 0.0))
    for k, (before_k, after_k) in enumerate(zip(before, after, strict=True)):
        sizes = np.linalg.norm(before_k), np.linalg.norm(after_k)
        if min(sizes) == 0.0:
            continue
        if np.abs(before_k - after_k).max() > 1e-5 * max(sizes):
            raise ManipDynError(
                f"dq/ds of the path must be continuous, got a corner at s = {breaks[k + 1]:.6g} "
                f"of {breaks[-1]:.6g}; round it with a blend, or time both sides separately."
            )


def check_third_derivative(path: JointPath, n: int) -> None:
    """Check that the path has third derivatives and a continuous second one at its breaks."""
    breaks = path.breaks
    midpoints = 0.5 * (breaks[1:] + breaks[:-1])
    try:
        third = np.asarray(path(midpoints, 3), dtype=np.float64)
    except Exception as error:  # user code may raise any exception
        raise ManipDynError(
            f"path(s, 3) must return third derivatives if jerk_limits are set, got "
            f"{type(error).__name__}: {error}."
        ) from error
    if third.shape != (len(midpoints), n) or not np.isfinite(third).all():
        raise ManipDynError(
            f"path(s, 3) must return finite third derivatives (m, {n}) if jerk_limits are set, "
            f"got shape {third.shape}."
        )
    width = np.diff(breaks)
    before = path(breaks[1:-1] - 1e-9 * width[:-1], 2)
    after = path(breaks[1:-1] + 1e-9 * width[1:], 2)
    greatest = max(np.abs(path(np.concatenate([midpoints, breaks]), 2)).max(), 1e-9)
    for k in np.flatnonzero(np.any(np.abs(after - before) > 1e-5 * greatest, axis=1)):
        raise ManipDynError(
            "d2q/ds2 of the path must be continuous if jerk_limits are set, got a jump at s = "
            f"{breaks[k + 1]:.6g} of {breaks[-1]:.6g}; use a spline through the waypoints, "
            "without blend."
        )


def _check_corner(
    k: int, point: Vector, tangent_before: Vector, tangent_after: Vector, blend: float
) -> None:
    if np.abs(tangent_after - tangent_before).max() > CORNER_TOLERANCE and blend == 0.0:
        position = ", ".join(f"{x:.4g}" for x in point)
        raise ManipDynError(
            f"path has a corner at waypoint {k} ({position}); set blend above 0 to round it, "
            "omit blend for a spline, or time both sides separately."
        )
    if np.linalg.norm(tangent_before + tangent_after) < REVERSAL_TOLERANCE:
        raise ManipDynError(
            f"path must not reverse, got a reversal at waypoint {k}. Time both sides separately."
        )


def _straight_path(points: Matrix, s: Vector) -> PiecewisePath:
    slope = (points[1] - points[0]) / s[1]
    return PiecewisePath(PPoly(np.array([[0.0 * slope], [slope], [points[0]]]), s))


REVERSAL_SAMPLES = 8
"""Number of samples per interval in the search for joint reversals."""
ENDPOINT_OFFSET = 1e-9
"""Distance from the ends of an interval, relative to its width, at which the ends are evaluated,
because q'' may jump at breaks."""


def first_grid(breaks: Vector, intervals: int) -> Vector:
    """Return a grid with all breaks and at least `intervals` intervals of similar length."""
    widths = np.diff(breaks)
    counts = np.maximum(np.ceil(intervals * widths / widths.sum() - 1e-9), 1).astype(int)
    return split_intervals(breaks, counts)


def with_reversals(
    path: Callable[[Vector, int], Matrix], breaks: Vector, intervals: int
) -> Vector:
    """Return the breaks together with the parameters at which a joint reverses, sorted."""
    grid = first_grid(breaks, REVERSAL_SAMPLES * intervals)
    inside = (1.0 - ENDPOINT_OFFSET) * grid[1:] + ENDPOINT_OFFSET * grid[:-1]
    low, high = np.concatenate([grid[:1], inside[:-1]]), inside
    reverses = path(low, 1) * path(high, 1) < 0.0
    k, joint = np.nonzero(reverses)
    low, high = low[k], high[k]
    rising = path(high, 1)[np.arange(len(k)), joint] > 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        after = (path(middle, 1)[np.arange(len(k)), joint] > 0.0) == rising
        low, high = np.where(after, low, middle), np.where(after, middle, high)
    apart = np.abs(high[:, None] - breaks).min(axis=1) > 1e-7 * (breaks[-1] - breaks[0])
    reversals = np.unique(high[apart])
    reversals = reversals[np.diff(reversals, prepend=-np.inf) > 1e-7 * (breaks[-1] - breaks[0])]
    return np.sort(np.concatenate([breaks, reversals]))


def split_intervals(grid: Vector, counts: Counts) -> Vector:
    """Return the grid (k + 1,) with its intervals divided into `counts` (k,) equal parts."""
    begins, widths = np.repeat(grid[:-1], counts), np.repeat(np.diff(grid) / counts, counts)
    index = np.arange(len(begins)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.append(begins + index * widths, grid[-1])


def interval_durations(widths: Vector, squares: Vector) -> Vector:
    """Return the durations (k,) of intervals, s.

    With the acceleration u + w^2 (s - s_k) along the path, the speeds v0 and v1 at the ends of an
    interval of width h and duration t satisfy (v0 + v1) tanh(w t / 2) = w h.

    Args:
        widths: Widths of the intervals (k,).
        squares: Control points (2 k + 1,) of the squared speed; see `speed_profile`.
    """
    speed = np.sqrt(squares[::2])
    mean = widths / (speed[:-1] + speed[1:])
    z = np.diff(squares, 2)[::2] / widths**2 * mean**2
    root = np.sqrt(np.abs(z))
    small = root < 1e-3
    safe = np.where(small, 0.5, root)
    exact = np.where(z > 0.0, np.arctanh(np.minimum(safe, 1.0 - 1e-16)), np.arctan(safe)) / safe
    return 2.0 * mean * np.where(small, 1.0 + z / 3.0 + z * z / 5.0, exact)


def path_from(robot: Robot, source: Any, blend: float | None) -> JointPath:
    """Convert the argument `path`: a path, a SciPy spline, or waypoints (m, n)."""
    if callable(source):
        if blend is not None:
            raise ManipDynError("blend must be None with a path; it rounds waypoints only.")
        if isinstance(source, PPoly):
            return PiecewisePath(source)
        if not hasattr(source, "breaks"):
            raise ManipDynError(
                f"path must be {_accepted_paths(robot)}, got {type(source).__name__} without "
                "breaks."
            )
        _check_user_path(robot, source)
        return source
    if hasattr(source, "pose") and hasattr(source, "twist"):
        raise ManipDynError(
            f"path must be a path of the joints, got the tool path {type(source).__name__}; use "
            "md.track(robot, path).q."
        )
    if hasattr(source, "joint_names") and hasattr(source, "points"):
        raise ManipDynError(
            f"path must be waypoints, got the message {type(source).__name__}; use "
            "manip_dyn.ros.messages.trajectories.waypoints_from(message, robot)."
        )
    points = checked_waypoints(robot, source)
    return spline_path(points) if blend is None else blended_path(points, blend)


def blend_note(path: JointPath, blend: float | None) -> str:
    """Return a note on blends that are shorter than requested, or ""."""
    blends = getattr(path, "blends", None)
    if blend is None or blends is None or not np.any(blends < blend):
        return ""
    short = np.flatnonzero(blends < blend)
    k = short[np.argmin(blends[short])]
    return (
        f"; blend {blend:.6g} is reduced at {len(short)} of {len(blends)} corners, to "
        f"{blends[k]:.6g} at waypoint {k + 1}: half the distance to the next waypoint"
    )


def _check_user_path(robot: Robot, path: Any) -> None:
    """Check the breaks of a user-defined path and the shapes of its positions and derivatives."""
    breaks = path.breaks
    valid = isinstance(breaks, np.ndarray) and breaks.ndim == 1 and breaks.dtype.kind == "f"
    if not valid or not np.isfinite(breaks).all():
        raise ManipDynError(
            f"breaks of the path must be an array (k,) of finite numbers, got {shortened(breaks)}."
        )
    for order in range(3):
        try:
            shape = np.shape(path(breaks[:1], order))
        except Exception as error:  # user code may raise any exception
            raise ManipDynError(
                f"path(s, {order}) must return positions (m, {robot.n}) or their derivatives of "
                f"order 1 and 2, got {type(error).__name__}: {error}."
            ) from error
        if breaks.size and shape != (1, robot.n):
            raise ManipDynError(
                f"path(s, {order}) must return one row per s, {(1, robot.n)} for one s, got shape "
                f"{shape}."
            )


def checked_waypoints(robot: Robot, waypoints: ArrayLike) -> Matrix:
    """Return the waypoints (m, n) after checking that consecutive ones differ."""
    try:
        shape = np.shape(waypoints)
    except ValueError:  # rows of different lengths
        shape = ()
    if not shape:
        raise ManipDynError(
            f"path must be {_accepted_paths(robot)}, got {_representation(waypoints)}."
        )
    if len(shape) != 2 or shape[0] < 2:
        raise ManipDynError(
            f"path must have at least two waypoints of {robot.n} joints, (m, {robot.n}), got "
            f"shape {shape}."
        )
    points = finite_array("path", waypoints, (shape[0], robot.n))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    for k in np.flatnonzero(steps < SAME_POINT):
        raise ManipDynError(
            f"consecutive waypoints must differ, got equal waypoints {k} and {k + 1}."
        )
    return points


def _accepted_paths(robot: Robot) -> str:
    return (
        f"waypoints (m, {robot.n}), a SciPy spline (CubicSpline or another PPoly), or a path "
        "function path(s, order) with the attribute breaks, see md.JointPath"
    )


def _representation(value: object) -> str:
    """Return the representation of a value, or its type's name instead of a long one."""
    text = repr(value)
    return text if len(text) <= 40 else type(value).__name__


CHECK_INTERVALS = 60
DERIVATIVE_TOLERANCE = 1e-2
"""Tolerance of derivatives as a fraction of the largest derivative."""
JUMP_TOLERANCE = 1e-3
"""Tolerance of jumps of dq/ds and positions as a fraction of the largest dq/ds."""
BISECTIONS = {"better": 8, "worse": 24}
DERIVATIVES = {1: "dq/ds", 2: "d2q/ds2", 3: "d3q/ds3"}


def check_derivatives(path: JointPath, *orders: int) -> None:
    """Check that path(s, k) is the derivative of path(s, k - 1) for all `orders` k."""
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
            value, difference = (
                path(s, order)[0],
                _mean_difference(path, order, low[:1], high[:1])[0],
            )
            i = int(np.argmax(np.abs(value - difference)))
            raise ManipDynError(
                f"path(s, {order}) must be {DERIVATIVES[order]}, got {value[i]:.6g} for joint "
                f"{i} at s = {s[0]:.6g}; differences of path(s, {order - 1}) result in "
                f"{difference[i]:.6g}."
            )


def _check_jumps(path: JointPath, order: int, begins: Vector, ends: Vector) -> None:
    """Check that the path has no jump (order 1) or corner (order 2) between breaks."""
    if order > 2:
        return
    most = (
        JUMP_TOLERANCE
        * np.abs(path(begins, 1)).max()
        * (np.mean(ends - begins) if order == 1 else 1.0)
    )
    low, high = _bisected(path, order, begins, ends, most, "worse")
    if len(low):
        defect, s = ("jumps", "has a corner")[order - 1], 0.5 * (low[0] + high[0])
        raise ManipDynError(
            f"positions and dq/ds of the path must be continuous; it {defect} between its "
            f"breaks, at s = {s:.6g} of {path.breaks[-1]:.6g}. Round it, or time both sides "
            "separately."
        )


def _derivative_scale(
    path: JointPath, order: int, grid: Vector, begins: Vector, ends: Vector
) -> float:
    """Return the largest derivative by values or differences, or 0 if it is negligible."""
    value = np.abs(path(np.concatenate([begins, ends]), order)).max()
    difference = np.abs(_mean_difference(path, order, begins, ends)).max()
    below = np.abs(path(begins, order - 1)).max()
    least = 1e-9 * below / (grid[-1] - grid[0])
    return float(max(value, difference)) if max(value, difference) > least else 0.0


def _mean_difference(path: JointPath, order: int, low: Vector, high: Vector) -> Matrix:
    """Return mean derivatives (k, n) in intervals (k,) from differences of the lower order."""
    return (path(high, order - 1) - path(low, order - 1)) / (high - low)[:, None]


def _derivative_error(path: JointPath, order: int, low: Vector, high: Vector) -> Vector:
    """Return the largest difference (k,) between the two mean derivatives of each interval."""
    middle = 0.5 * (low + high)
    mean = (path(low, order) + 4.0 * path(middle, order) + path(high, order)) / 6.0
    return np.asarray(np.abs(mean - _mean_difference(path, order, low, high)).max(axis=1))


def _bisected(
    path: JointPath, order: int, low: Vector, high: Vector, most: float, half: str
) -> tuple[Vector, Vector]:
    """Bisect intervals (k,), dropping those with errors up to `most`; return the remaining ones.

    Each bisection continues with the "better" or the "worse" half. For `half` "better", `most`
    limits the error of the derivative. For "worse", it limits the error of the integral over the
    interval.
    """
    worse = half == "worse"
    for _ in range(BISECTIONS[half]):
        error = _derivative_error(path, order, low, high)
        remaining = (error * (high - low) if worse else error) > most
        low, high = low[remaining], high[remaining]
        if not len(low):
            break
        middle = 0.5 * (low + high)
        second = _derivative_error(path, order, middle, high) > _derivative_error(
            path, order, low, middle
        )
        second = second == worse
        low, high = np.where(second, middle, low), np.where(second, high, middle)
    return low, high
