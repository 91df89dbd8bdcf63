"""Joint paths: positions by a parameter s, smooth but for the breaks, where q'' may jump."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.interpolate import CubicSpline, PPoly

from manip_dyn.core.checks import Matrix, Vector, not_negative
from manip_dyn.core.errors import ManipDynError

SAME = 1e-9
"""Waypoints that are nearer to each other are the same, rad or m."""
CORNER = 1e-6
"""Unit tangents that differ by more make a corner."""
BACK = 1e-3
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


def spline_through(points: Matrix) -> PiecewisePath:
    """Return the cubic spline with continuous q'' through points (m, n).

    s is the length of the straight lines between them, from 0.
    """
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    if len(points) == 2:
        return _straight(points, s)
    return PiecewisePath(CubicSpline(s, points, bc_type="natural"))


def lines_through(points: Matrix, blend: float) -> PiecewisePath:
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
        if straight > SAME:
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


def check_third(path: JointPath, n: int) -> None:
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
    if np.abs(other - one).max() > CORNER and blend == 0.0:
        shown = ", ".join(f"{each:.4g}" for each in point)
        raise ManipDynError(
            f"path has a corner at waypoint {k} ({shown}); expected blend above 0 to round it, or "
            "none for a spline, or the parts before and after timed apart"
        )
    if np.linalg.norm(one + other) < BACK:
        raise ManipDynError(
            f"path turns back at waypoint {k}; expected the parts before and after timed apart"
        )


def _straight(points: Matrix, s: Vector) -> PiecewisePath:
    slope = (points[1] - points[0]) / s[1]
    return PiecewisePath(PPoly(np.array([[0.0 * slope], [slope], [points[0]]]), s))
