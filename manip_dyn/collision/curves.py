"""`JointCurve`: motions as piecewise polynomials, with bounds between samples.

Each segment is stored by its Bernstein coefficients. A polynomial lies between the smallest and
the largest of them, and the coefficients of its derivatives are their scaled differences (Farouki
2012, The Bernstein polynomial basis, sections 3 and 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb, factorial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from manip_dyn.core.checks import Matrix, Tensor, Vector, finite_array
from manip_dyn.core.errors import ManipDynError, shortened

LARGEST_JUMP = 1e-6
"""Largest jump of a joint position at a break that is attributed to rounding, rad or m."""
SAFETY = 4.0
"""Factor of the largest residual of an interpolant at the checked points in its deviation."""
SHORTEST = 1e-12
"""Shortest interval between knots, relative to the duration."""
CHECKED = np.array([0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875])
"""Fractions of an interval at which an interpolant is compared with the motion."""


@dataclass(frozen=True, eq=False)
class JointCurve:
    """Joint positions as a piecewise polynomial of a parameter, usually the time.

    Attributes:
        breaks: Increasing parameters (k + 1,).
        coefficients: Bernstein coefficients (k, d + 1, n) of the segments, rad or m.
        deviation: Bounds (n,) of the differences between motion and polynomial, rad or m.
        time_of: Function that returns the time, s, of a parameter.
    """

    breaks: Vector
    coefficients: Tensor
    deviation: Vector
    time_of: Callable[[float], float] = float

    def __post_init__(self) -> None:
        """Check the breaks, and add jumps at breaks to the deviation."""
        if len(self.breaks) < 2 or not np.all(np.diff(self.breaks) > 0.0):
            raise ManipDynError(
                f"breaks of a curve must be at least two increasing numbers, got {self.breaks}."
            )
        if not np.isfinite(self.coefficients).all():
            raise ManipDynError("positions of a motion must be finite, got NaN or infinity.")
        jumps = np.abs(self.coefficients[1:, 0] - self.coefficients[:-1, -1])
        largest = jumps.max(axis=0, initial=0.0)
        if largest.max(initial=0.0) > LARGEST_JUMP:
            k = int(jumps.max(axis=1).argmax())
            raise ManipDynError(
                f"motion must be continuous, got a jump of {largest.max():g} at "
                f"{self.breaks[k + 1]:g}."
            )
        object.__setattr__(self, "deviation", self.deviation + largest)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.coefficients.shape[2]

    def __call__(self, parameter: float) -> Vector:
        """Return the joint positions (n,) at a parameter."""
        k = int(np.searchsorted(self.breaks, parameter, side="right")) - 1
        k = min(max(k, 0), len(self.coefficients) - 1)
        z = (parameter - self.breaks[k]) / (self.breaks[k + 1] - self.breaks[k])
        d = self.coefficients.shape[1] - 1
        weights = [comb(d, i) * z**i * (1.0 - z) ** (d - i) for i in range(d + 1)]
        return np.asarray(weights @ self.coefficients[k])


@runtime_checkable
class HasJointCurve(Protocol):
    """Interface of motions that `check_motion` accepts."""

    def joint_curve(self) -> JointCurve:
        """Return the joint positions as a piecewise polynomial."""


def spline_curve(spline: Any) -> JointCurve:
    """Return the curve of a SciPy `PPoly`, such as `CubicSpline`, or `BSpline` with values (n,).

    Raises:
        ManipDynError: If the spline is of another type or not continuous.
    """
    from scipy.interpolate import BSpline, PPoly  # slow to load, not used by other motions

    if isinstance(spline, BSpline):
        at, knots = BSpline(*spline.tck), np.unique(spline.t[spline.k : len(spline.c) + 1])
        rows = [at(knots[:-1], m) / factorial(m) for m in range(spline.k, -1, -1)]
        spline = PPoly(np.array(rows), knots)
    if not isinstance(spline, PPoly):
        raise ManipDynError(
            "a spline must be a PPoly of SciPy, such as CubicSpline, or a BSpline, got "
            f"{shortened(spline)}."
        )
    return polynomial_curve(spline)


def polynomial_curve(pieces: Any, time_of: Callable[[float], float] = float) -> JointCurve:
    """Return the curve of a SciPy `PPoly` with values (n,)."""
    power = np.asarray(pieces.c, dtype=np.float64)[::-1]  # (d + 1, k, n), lowest power first
    if power.ndim != 3:
        raise ManipDynError(
            f"a spline must have values (n,), got values of shape {power.shape[2:]}."
        )
    d, widths = len(power) - 1, np.diff(pieces.x)
    scaled = power * widths[None, :, None] ** np.arange(d + 1)[:, None, None]
    coefficients = np.zeros((len(widths), d + 1, power.shape[2]))
    for j in range(d + 1):
        for i in range(j + 1):
            coefficients[:, j] += comb(j, i) / comb(d, i) * scaled[i]
    rounding = 1e-15 * (d + 1) ** 2 * np.abs(scaled).sum(axis=0).max(axis=0)
    return JointCurve(np.asarray(pieces.x, float), coefficients, rounding, time_of)


def polygon_curve(points: Matrix) -> JointCurve:
    """Return the curve of straight lines between waypoints (m, n), one unit of time each."""
    breaks = np.arange(len(points), dtype=np.float64)
    n = points.shape[1]
    return JointCurve(breaks, np.stack([points[:-1], points[1:]], axis=1), np.zeros(n))


def hermite_curve(t: Vector, q: Matrix, v: Matrix, deviation: Vector) -> JointCurve:
    """Return the cubic Hermite interpolant of a motion.

    Args:
        t: Increasing times (k,), s.
        q: Positions (k, n), rad or m.
        v: Velocities (k, n), rad/s or m/s.
        deviation: Bounds (n,) of the differences between motion and interpolant, rad or m.
    """
    third = np.diff(t)[:, None] / 3.0
    begin, end = q[:-1], q[1:]
    rows = [begin, begin + third * v[:-1], end - third * v[1:], end]
    return JointCurve(np.asarray(t, float), np.stack(rows, axis=1), deviation)


def sampled_curve(t: Vector, q: Matrix, v: Matrix) -> JointCurve:
    """Return the curve through samples of a motion, with an estimate of its deviation.

    The cubic Hermite interpolant of every second sample is compared with the samples between. Its
    largest error is the deviation of the interpolant of all samples. For smooth motions it is
    about 16 times the actual deviation.
    """
    apart = np.concatenate([[True], np.diff(t) > 0.0])
    t, q, v = t[apart], q[apart], v[apart]
    if len(t) < 3:
        raise ManipDynError(f"motion must have at least 3 samples, got {len(t)}.")
    deviation = np.zeros(q.shape[1])
    for begin in (0, 1):
        a = slice(begin, len(t) - 2, 2)
        if len(t[a]):
            middle, end = (slice(begin + k, len(t) - 2 + k, 2) for k in (1, 2))
            between = _hermite(t[a], t[end], q[a], q[end], v[a], v[end], t[middle])
            deviation = np.maximum(deviation, np.abs(between - q[middle]).max(axis=0))
    return hermite_curve(t, q, v, deviation)


def message_curve(message: Any, joint_names: Sequence[str]) -> JointCurve:
    """Return the curve of a ``trajectory_msgs/JointTrajectory`` from its first point to its last.

    Points are joined as by the joint_trajectory_controller of ros2_control: by straight lines if
    they have only positions, by cubic polynomials with velocities, and by quintic polynomials with
    accelerations.

    Args:
        message: The message, or an object with the same fields.
        joint_names: Names of the n joints, in the order of the result.

    Raises:
        ManipDynError: If the joints differ, a point is incomplete, or times do not increase.
    """
    names, points = list(message.joint_names), list(message.points)
    if sorted(names) != sorted(joint_names):
        raise ManipDynError(
            f"joint_names of the trajectory must be {', '.join(joint_names)} in any order, got "
            f"{', '.join(names) or 'none'}."
        )
    if len(points) < 2:
        raise ManipDynError(f"trajectory must have at least two points, got {len(points)}.")
    order = [names.index(name) for name in joint_names]
    durations = [point.time_from_start for point in points]
    breaks = np.array([duration.sec + 1e-9 * duration.nanosec for duration in durations])
    rows = list[Matrix]()
    for field in ("positions", "velocities", "accelerations"):
        values = [list(getattr(point, field)) for point in points]
        if field != "positions" and not all(values):
            break  # the controller derives the missing values of single points differently
        shape = (len(points), len(names))
        rows.append(finite_array(f"{field} of the trajectory", values, shape)[:, order])
    missing = [f for f in ("velocities", "accelerations") if any(getattr(p, f) for p in points)]
    if len(missing) > len(rows) - 1:
        raise ManipDynError(
            f"all points of the trajectory must have {missing[len(rows) - 1]} if one has them."
        )
    width = np.diff(breaks)[:, None]
    begin, end = rows[0][:-1], rows[0][1:]
    coefficients = [begin, end]
    if len(rows) > 1:
        d = 2 * len(rows) - 1
        first, last = width * rows[1][:-1] / d, width * rows[1][1:] / d
        coefficients = [begin, begin + first, end - last, end]
        if len(rows) > 2:
            bend, unbend = (width**2 * row / 20.0 for row in (rows[2][:-1], rows[2][1:]))
            coefficients[2:2] = [begin + 2.0 * first + bend, end - 2.0 * last + unbend]
    rounding = 1e-15 * np.abs(coefficients).max(axis=(0, 1))
    return JointCurve(breaks, np.stack(coefficients, axis=1), rounding)


def constant_curve(q: Vector) -> JointCurve:
    """Return the curve of an arm that stands at q (n,) for a second."""
    return JointCurve(np.array([0.0, 1.0]), q[None, None], np.zeros(len(q)))


def interpolated_curve(
    at: Callable[[Vector], tuple[Matrix, Matrix]], knots: Vector, tolerance: float = 1e-7
) -> JointCurve:
    """Return a curve that interpolates a motion that is smooth between knots.

    Intervals are bisected until the residuals of the cubic Hermite interpolant at checked points
    are at most `tolerance` divided by a safety factor. `tolerance` is therefore not a guaranteed
    bound of the deviation.

    Args:
        at: Function that returns positions and velocities (k, n) at times (k,), s.
        knots: Sorted times, s. Equal times count once.
        tolerance: Deviation of the curve, rad or m.
    """
    knots = np.unique(knots)
    knots = knots[np.diff(knots, prepend=-np.inf) > SHORTEST * (knots[-1] - knots[0])]
    begins, ends = knots[:-1], knots[1:]
    accepted = []
    for _ in range(40):
        inside = begins[:, None] + np.outer(ends - begins, CHECKED)
        times = np.concatenate([begins, ends, inside.ravel()])
        q, v = at(times)
        m = len(begins)
        shape = (m, len(CHECKED), q.shape[1])
        rows = (begins, ends, q[:m], q[m : 2 * m], v[:m], v[m : 2 * m])
        t0, t1, q0, q1, v0, v1 = (np.repeat(values, len(CHECKED), axis=0) for values in rows)
        between = _hermite(t0, t1, q0, q1, v0, v1, inside.ravel())
        residual = np.abs(between - q[2 * m :]).reshape(shape)
        good = SAFETY * residual.max(axis=(1, 2)) <= tolerance
        accepted += list(zip(*(values[good] for values in rows), strict=True))
        middle = 0.5 * (begins + ends)[~good]
        begins, ends = (
            np.sort(np.concatenate([begins[~good], middle])),
            np.sort(np.concatenate([middle, ends[~good]])),
        )
        if not len(begins):
            break
    else:
        raise ManipDynError(
            f"motion must be smooth between its knots, got a residual above {tolerance:g} at "
            f"{begins[0]:g} s."
        )
    accepted.sort(key=lambda row: row[0])
    begin, end, q0, q1, v0, v1 = (np.array(column) for column in zip(*accepted, strict=True))
    third = (end - begin)[:, None] / 3.0
    coefficients = np.stack([q0, q0 + third * v0, q1 - third * v1, q1], axis=1)
    breaks = np.append(begin, end[-1])
    return JointCurve(breaks, coefficients, np.full(q0.shape[1], tolerance))


def _hermite(
    t0: Vector, t1: Vector, q0: Matrix, q1: Matrix, v0: Matrix, v1: Matrix, t: Vector
) -> Matrix:
    """Return the cubics with positions and velocities (k, n) at t0 and t1, at times t (k,)."""
    h = (t1 - t0)[:, None]
    z = (t - t0)[:, None] / h
    y = 1.0 - z
    ends = y * y * (1.0 + 2.0 * z) * q0 + z * z * (3.0 - 2.0 * z) * q1
    return ends + h * z * y * (y * v0 - z * v1)
