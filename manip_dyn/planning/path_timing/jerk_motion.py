"""Path motions with continuous acceleration: s(t) is cubic in t between grid points.

With the speed v = ds/dt, the acceleration u = dv/dt and the jerk j = du/dt along the path, the
jerk of a joint is q' j + 3 q'' v u + q''' v^3, where primes denote derivatives with respect to s.
The other limits are those of `constraints`. This module contains the motion, its constraint rows
and their derivatives, the linearized equations of a step, and initial guesses.

The variables of a step are, in this order, changes of the durations of the phases, and changes of
position, speed and acceleration along the path at the grid points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Tensor, Vector
from manip_dyn.planning.path_timing.constraints import Geometry, Limits, constraint_rows, geometry
from manip_dyn.planning.path_timing.joint_path import ENDPOINT_OFFSET, JointPath, split_intervals
from manip_dyn.robot import Robot


class CubicProfile(NamedTuple):
    """Function s(t) that is cubic in t between grid points.

    Attributes:
        grid: Parameters s (k + 1,).
        times: Durations of the intervals (k,), s.
        speed: ds/dt at the grid points (k + 1,).
        acceleration: d2s/dt2 at the grid points (k + 1,). It is linear in t between them.
    """

    grid: Vector
    times: Vector
    speed: Vector
    acceleration: Vector

    @property
    def jerk(self) -> Vector:
        """d3s/dt3 of the intervals (k,)."""
        return np.diff(self.acceleration) / self.times

    def at(self, fractions: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return s, ds/dt and d2s/dt2 (k, p) at fractions (p,) of the interval durations."""
        t = self.times[:, None] * fractions
        v, u, j = self.speed[:-1, None], self.acceleration[:-1, None], self.jerk[:, None]
        s = self.grid[:-1, None] + t * (v + t * (u / 2.0 + t * j / 6.0))
        return s, v + t * (u + t * j / 2.0), u + t * j

    def slowed(self, factor: float) -> CubicProfile:
        """Return the motion with all durations multiplied by `factor`."""
        speed, acceleration = self.speed / factor, self.acceleration / factor**2
        return CubicProfile(self.grid, self.times * factor, speed, acceleration)

    def split(self, counts: Counts) -> CubicProfile:
        """Return the motion with its intervals divided into `counts` (k,) parts of equal time."""
        columns: list[list[float]] = [[], [], [], []]
        for k, count in enumerate(counts):
            states = self.at(np.arange(count) / count)
            for column, values in zip((0, 2, 3), states, strict=True):
                columns[column].extend(values[k])
            columns[1].extend([self.times[k] / count] * count)
        for column, values in ((0, self.grid), (2, self.speed), (3, self.acceleration)):
            columns[column].append(values[-1])
        return CubicProfile(*(np.array(column) for column in columns))


def projected(
    y: CubicProfile, phases: Counts, positions: Vector, at_rest: tuple[bool, bool]
) -> CubicProfile:
    """Return the continuous motion through prescribed positions with the least change of jerk.

    Args:
        y: The motion. Only its times, accelerations and end values are used.
        phases: Index (p,) of the grid point of each prescribed position.
        positions: Prescribed values of s (p,). The last one is the end of the path.
        at_rest: Whether the acceleration is 0 at the start and at the end.
    """
    h, knots = y.times, np.concatenate([[0.0], np.cumsum(y.times)])
    u, v = 0.0 if at_rest[0] else y.acceleration[0], y.speed[0]
    t = knots[phases][:, None]
    elapsed, remaining = np.maximum(t - knots[:-1], 0.0), np.maximum(t - knots[1:], 0.0)
    rows = [(elapsed**3 - remaining**3) / 6.0, (elapsed[-1:] ** 2 - remaining[-1:] ** 2) / 2.0]
    t = t[:, 0]
    ends = [positions - y.grid[0] - v * t - u * t * t / 2.0, [y.speed[-1] - v - u * t[-1]]]
    if at_rest[1]:
        rows.append(h[None, :])
        ends.append(np.array([-u]))
    matrix, jerk = np.concatenate(rows), y.jerk
    sizes = np.abs(matrix).max(axis=1)
    residual = (np.concatenate(ends) - matrix @ jerk) / sizes
    jerk = jerk + np.linalg.lstsq(matrix / sizes[:, None], residual, rcond=None)[0]
    acceleration = u + np.concatenate([[0.0], np.cumsum(jerk * h)])
    before = acceleration[:-1]
    speed = v + np.concatenate([[0.0], np.cumsum(h * (before + h * jerk / 2.0))])
    steps = h * (speed[:-1] + h * (before / 2.0 + h * jerk / 6.0))
    grid = y.grid[0] + np.concatenate([[0.0], np.cumsum(steps)])
    grid[phases], speed[-1] = positions, y.speed[-1]
    if at_rest[1]:
        acceleration[-1] = 0.0
    return CubicProfile(grid, h, speed, acceleration)


class JerkRows(NamedTuple):
    """Coefficients of `ConstraintRows`, and q', q'', q''' (k, p, n) divided by the jerk limit."""

    rows: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
    jerk: tuple[Tensor, Tensor, Tensor]


class RowDerivatives(NamedTuple):
    """Rows and their derivatives with respect to ds/dt, d2s/dt2 and d3s/dt3, each (k, p, r)."""

    value: Tensor
    speed: Tensor
    acceleration: Tensor
    jerk: Tensor


def row_derivatives(rows: JerkRows, v: Matrix, u: Matrix, j: Matrix) -> RowDerivatives:
    """Evaluate rows and derivatives for speeds, accelerations and jerks (k, p) along the path."""
    a, c, d, f, m, b = rows.rows
    v, u, j = v[..., None], u[..., None], j[..., None]
    stribeck = f * np.exp(-((m * v) ** 2))
    value = a * u + (c * v + d) * v + stribeck + b
    by_speed = 2.0 * c * v + d - 2.0 * m * m * v * stribeck
    first, second, third = rows.jerk
    jerk = first * j + (3.0 * second * u + third * v * v) * v
    jerk_by_speed = 3.0 * (second * u + third * v * v)

    def joined(first: Tensor, second: Tensor) -> Tensor:
        return np.concatenate([first, second], axis=2)

    return RowDerivatives(
        joined(value, jerk),
        joined(by_speed, jerk_by_speed),
        joined(a, 3.0 * second * v),
        joined(0.0 * a, first),
    )


READ_FRACTIONS = np.linspace(0.0, 1.0, 9)
"""Fractions of an interval's duration at which rows are evaluated."""


class JerkProblem(NamedTuple):
    """The problem of timing a path with jerk limits.

    Attributes:
        robot: The arm.
        path: The path.
        limits: Limits of speed, effort and acceleration, and the payload.
        jerk: Jerk limits (n,), rad/s^3 or m/s^3.
    """

    robot: Robot
    path: JointPath
    limits: Limits
    jerk: Vector

    def at_ends(self, grid: Vector, inside: float = ENDPOINT_OFFSET) -> JerkRows:
        """Return the rows at both ends of the intervals of a grid (k + 1,).

        `inside` is the distance of the evaluated points from the ends, relative to the interval.
        """
        fractions = np.array([inside, 1.0 - inside])
        along = geometry(self.path, grid[:-1], np.diff(grid), fractions)
        width = np.diff(grid)[:, None]
        return self._rows(along, grid[:-1, None] + width * fractions)

    def read(self, pieces: CubicProfile) -> Tensor:
        """Return the row values (k, p, r) at `READ_FRACTIONS` between grid points."""
        s, v, u = pieces.at(READ_FRACTIONS)
        width = np.diff(pieces.grid)[:, None]
        least, most = (pieces.grid[:-1, None], pieces.grid[1:, None])
        s = np.clip(s, least + ENDPOINT_OFFSET * width, most - ENDPOINT_OFFSET * width)
        shape = (*s.shape, -1)
        along = Geometry(*(self.path(s.ravel(), order).reshape(shape) for order in range(3)))
        return row_derivatives(self._rows(along, s), v, u, pieces.jerk[:, None] + 0.0 * s).value

    def _rows(self, along: Geometry, s: Matrix) -> JerkRows:
        third = self.path(s.ravel(), 3).reshape(along.q.shape)
        jerk = tuple(x / self.jerk for x in (along.first, along.second, third))
        return JerkRows(constraint_rows(self.robot, self.limits, along), jerk)  # type: ignore[arg-type]


DIFFERENCE_STEP = 1e-3
"""Step of finite differences of the rows, as a fraction of an interval."""


def continuity_equations(y: CubicProfile, phase: Counts, scale: Vector) -> Any:
    """Return the sparse scaled derivatives (2 k, ..) of `continuity_residual`.

    Args:
        y: The motion.
        phase: Phase of each interval (k,).
        scale: Scales of the variables of a step. Rows are divided by the largest speed.
    """
    n, p = len(y.times), int(phase[-1]) + 1
    k, fast, h = np.arange(n), y.speed.max(), y.times
    s, v, u = p + k, p + n + 1 + k, p + 2 * n + 2 + k
    before, after = y.acceleration[:-1], y.acceleration[1:]
    one = np.ones(n)
    entries = [
        (k, v + 1, one),
        (k, v, -one),
        (k, u, -h / 2.0),
        (k, u + 1, -h / 2.0),
        (k, phase, -h * (before + after) / 2.0),
        (n + k, s + 1, one / h),
        (n + k, s, -one / h),
        (n + k, v, -one),
        (n + k, u, -h / 3.0),
        (n + k, u + 1, -h / 6.0),
        (n + k, phase, -y.speed[:-1] - (2.0 * before + after) * h / 3.0),
    ]
    scaled = [(row, column, x * scale[column] / fast) for row, column, x in entries]
    return _sparse_matrix(scaled, 2 * n, len(scale) + n)


def continuity_residual(y: CubicProfile) -> Vector:
    """Return the residuals (2 k,) of the speed and position equations of the intervals.

    Those of the positions are divided by the durations.
    """
    h, before, after = y.times, y.acceleration[:-1], y.acceleration[1:]
    speeds = np.diff(y.speed) - h * (before + after) / 2.0
    positions = np.diff(y.grid) / h - y.speed[:-1] - h * (2.0 * before + after) / 6.0
    return np.concatenate([speeds, positions])


def linearized_limits(
    y: CubicProfile,
    phase: Counts,
    limits: Matrix,
    here: RowDerivatives,
    aside: RowDerivatives,
    trust: float,
    sizes: tuple[float, ...],
) -> tuple[Any, Vector, Any]:
    """Return the linearized rows that a step in the trust region may violate, and their slacks.

    Args:
        y: The motion.
        phase: Phase of each interval (k,).
        limits: Limits of the rows (k, r).
        here: Rows and derivatives at the ends of the intervals.
        aside: Rows and derivatives at the distance `DIFFERENCE_STEP` from the ends.
        trust: Largest step as a fraction of `sizes`.
        sizes: Scales of position, speed and acceleration.

    Returns:
        The sparse matrix of the rows; their slacks; and interval, end, limit and sign of each row.
    """
    n, p = len(y.times), int(phase[-1]) + 1
    h = y.times[:, None, None]
    offsets = DIFFERENCE_STEP * np.diff(y.grid)[:, None, None] * np.array([1.0, -1.0])[:, None]
    by_s = (aside.value - here.value) / offsets * sizes[0]
    by_v, by_u = here.speed * sizes[1], here.acceleration * sizes[2]
    by_step = here.jerk / h * sizes[2]
    by_time = -here.jerk * y.jerk[:, None, None]
    terms: tuple[Tensor, ...] = (by_s, by_v, by_u, 2.0 * by_step, by_time)
    change = trust * sum(np.abs(term) for term in terms)
    value, most = np.abs(here.value), limits[:, None, :]
    side = np.where(here.value < 0.0, -1.0, 1.0)
    ahead, behind = np.nonzero(value + change > most), np.nonzero(change - value > most)
    sign = np.concatenate([side[ahead], -side[behind]])
    at = tuple(np.concatenate(pair) for pair in zip(ahead, behind, strict=True))
    k, end, row = at
    count = np.arange(len(k))
    s, v, u = p + k, p + n + 1 + k, p + 2 * n + 2 + k
    entries = [
        (count, s + end, sign * by_s[at]),
        (count, v + end, sign * by_v[at]),
        (count, u + end, sign * by_u[at]),
        (count, u, -sign * by_step[at]),
        (count, u + 1, sign * by_step[at]),
        (count, phase[k], sign * by_time[at]),
        (count, p + 3 * n + 3 + k, -np.ones(len(k))),
    ]
    below = _sparse_matrix(entries, len(k), p + 4 * n + 3)
    return below, limits[k, row] - sign * here.value[at], (*at, sign)


def _sparse_matrix(entries: list[tuple[Any, Any, Any]], rows: int, columns: int) -> Any:
    """Return a sparse matrix from tuples of row indices, column indices and values."""
    from scipy.sparse import coo_array

    row, column, value = (np.concatenate(x) for x in zip(*entries, strict=True))
    return coo_array((value, (row, column)), shape=(rows, columns)).tocsr()


MOST_GUESSES, SLOWDOWN = 60, 1.25
"""Maximum number of initial guesses, and the factor between them."""
LEAST_INTERVALS = 4
"""Minimum number of intervals between two breaks."""
EASING_FRACTION = 0.5
"""Fraction of the duration over which an initial guess starts from or comes to rest."""
GUESS_SAMPLES = 2000
"""Number of samples of the motion without jerk limits."""


class MeritFunction(Protocol):
    """Interface of a merit function of motions; see `jerk_timing.JerkProgram`."""

    def joined(self, y: CubicProfile) -> CubicProfile:
        """Return the projection of a motion onto the continuous motions."""

    def merit(self, y: CubicProfile) -> float:
        """Return the normalized duration plus the penalty of violations; inf if it reverses."""

    def at(self, y: CubicProfile) -> RowDerivatives:
        """Return the rows and their derivatives at the ends of all intervals."""


class UnlimitedMotion(NamedTuple):
    """Motion without jerk limits, on which initial guesses are based.

    Attributes:
        ends: Speeds ds/dt at both ends.
        times: Sample times (m,), s.
        positions: Values of s at the sample times (m,).
        breaks: Values of s at both ends, and where the path is not smooth or a joint reverses.
        k: Minimum number of intervals of an initial guess.
    """

    ends: tuple[float, float]
    times: Vector
    positions: Vector
    breaks: Vector
    k: int

    @property
    def held(self) -> tuple[bool, bool]:
        """Whether the motion is at rest at the start and at the end."""
        return self.ends[0] == 0.0, self.ends[1] == 0.0

    def slowed(self, factor: float) -> tuple[CubicProfile, Counts]:
        """Return the motion slowed down by `factor`, and the phase of each interval (k,).

        Nonzero end speeds are preserved.
        """
        times = self.times
        tau, warped = _warp(self.held, factor)
        s = np.interp(warped, times / times[-1], self.positions)
        passed = np.concatenate([[0.0], np.interp(self.breaks[1:-1], s, tau), [1.0]])
        counts = np.maximum(np.ceil(self.k * np.diff(passed)), LEAST_INTERVALS).astype(int)
        phase = np.repeat(np.arange(len(counts)), counts)
        knots = np.append(split_intervals(passed, counts)[:-1], 1.0)
        grid, t = np.interp(knots, tau, s), factor * times[-1] * knots
        speed = np.gradient(grid, t)
        speed[[0, -1]] = self.ends
        return CubicProfile(grid, np.diff(t), speed, np.gradient(speed, t)), phase


def initial_guess(
    merit_of: Callable[[Counts], MeritFunction], free: UnlimitedMotion
) -> tuple[CubicProfile, Counts]:
    """Return an initial guess and the phase of each of its intervals (k,).

    If both ends are at rest, the guess is slow enough to satisfy all limits, if possible.
    Otherwise it is the guess with the best `MeritFunction.merit`. If all guesses reverse, it is
    the fastest one.
    """
    best, least = None, np.inf
    for count in range(MOST_GUESSES):
        factor = SLOWDOWN**count
        y, phase = free.slowed(factor)
        merit_function = merit_of(phase)
        y = merit_function.joined(y)
        merit = merit_function.merit(y)
        if best is None or merit < least:
            best, least = (y, phase), merit
        if all(free.held) and merit < np.inf and np.abs(merit_function.at(y).value).max() <= 1.0:
            return y, phase
        if factor > least:
            break
    assert best is not None
    return best


def _warp(held: tuple[bool, bool], factor: float) -> tuple[Vector, Vector]:
    """Return fractions of the slower duration and the corresponding fractions of the original one.

    An end that is not at rest has the same speed in both motions.
    """
    tau = np.linspace(0.0, 1.0, GUESS_SAMPLES + 1)
    slopes = [0.0 if at_rest else factor for at_rest in held]
    widths = [EASING_FRACTION if at_rest else EASING_FRACTION / factor for at_rest in held]
    middle = (1.0 - np.dot(slopes, widths) / 3.0) / (1.0 - sum(widths) / 3.0)
    slope = np.full(GUESS_SAMPLES + 1, middle)
    for m, width, distance in zip(slopes, widths, (tau, 1.0 - tau), strict=True):
        slope += (m - middle) * np.maximum(1.0 - distance / width, 0.0) ** 2
    warped = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]))])
    return tau, warped / warped[-1]
