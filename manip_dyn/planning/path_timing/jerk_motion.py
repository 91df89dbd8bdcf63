"""Path motions with continuous acceleration: s(t) is cubic in t between grid points.

The jerk of a joint is q' s''' + 3 q'' s' s'' + q''' s'^3. The other limits are those of
`constraints`. The module holds the motion, its constraint rows and their derivatives, the
linearized equations of a step, and initial guesses.

A step changes the times of the phases, then positions, speeds and accelerations along the path at
the grid points.
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
    """s(t), cubic in t between grid points.

    Attributes:
        grid: Places s (k + 1,).
        times: From one to the next (k,), s.
        speed: ds/dt at the grid points (k + 1,).
        acceleration: d2s/dt2 there (k + 1,); linear in t between them.
    """

    grid: Vector
    times: Vector
    speed: Vector
    acceleration: Vector

    @property
    def jerk(self) -> Vector:
        """d3s/dt3 of the intervals (k,)."""
        return np.diff(self.acceleration) / self.times

    def at(self, shares: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return s, ds/dt, d2s/dt2 (k, p) at shares (p,) of the time of each interval."""
        t = self.times[:, None] * shares
        v, u, j = self.speed[:-1, None], self.acceleration[:-1, None], self.jerk[:, None]
        s = self.grid[:-1, None] + t * (v + t * (u / 2.0 + t * j / 6.0))
        return s, v + t * (u + t * j / 2.0), u + t * j

    def slowed(self, factor: float) -> CubicProfile:
        """Return the same motion `factor` times as slow."""
        speed, acceleration = self.speed / factor, self.acceleration / factor**2
        return CubicProfile(self.grid, self.times * factor, speed, acceleration)

    def split(self, parts: Counts) -> CubicProfile:
        """Return the same motion on a grid with intervals divided into equal times (k,)."""
        made: list[list[float]] = [[], [], [], []]
        for k, count in enumerate(parts):
            shown = self.at(np.arange(count) / count)
            for into, each in zip((0, 2, 3), shown, strict=True):
                made[into].extend(each[k])
            made[1].extend([self.times[k] / count] * count)
        for into, last in ((0, self.grid), (2, self.speed), (3, self.acceleration)):
            made[into].append(last[-1])
        return CubicProfile(*(np.array(each) for each in made))


def projected(
    y: CubicProfile, phases: Counts, places: Vector, held: tuple[bool, bool]
) -> CubicProfile:
    """Return the motion nearest in d3s/dt3 that fits together and is where it has to be.

    Args:
        y: The motion; of its times and accelerations nothing else is used.
        phases: The interval (p,) after each of the places.
        places: s (p,), the last one the end of the path.
        held: Whether the acceleration at the begin and at the end is 0.
    """
    h, knots = y.times, np.concatenate([[0.0], np.cumsum(y.times)])
    u, v = 0.0 if held[0] else y.acceleration[0], y.speed[0]
    t = knots[phases][:, None]
    since, until = np.maximum(t - knots[:-1], 0.0), np.maximum(t - knots[1:], 0.0)
    rows = [(since**3 - until**3) / 6.0, (since[-1:] ** 2 - until[-1:] ** 2) / 2.0]
    t = t[:, 0]
    ends = [places - y.grid[0] - v * t - u * t * t / 2.0, [y.speed[-1] - v - u * t[-1]]]
    if held[1]:
        rows.append(h[None, :])
        ends.append(np.array([-u]))
    matrix, jerk = np.concatenate(rows), y.jerk
    sizes = np.abs(matrix).max(axis=1)
    missed = (np.concatenate(ends) - matrix @ jerk) / sizes
    jerk = jerk + np.linalg.lstsq(matrix / sizes[:, None], missed, rcond=None)[0]
    acceleration = u + np.concatenate([[0.0], np.cumsum(jerk * h)])
    before = acceleration[:-1]
    speed = v + np.concatenate([[0.0], np.cumsum(h * (before + h * jerk / 2.0))])
    steps = h * (speed[:-1] + h * (before / 2.0 + h * jerk / 6.0))
    grid = y.grid[0] + np.concatenate([[0.0], np.cumsum(steps)])
    grid[phases], speed[-1] = places, y.speed[-1]
    if held[1]:
        acceleration[-1] = 0.0
    return CubicProfile(grid, h, speed, acceleration)


class JerkRows(NamedTuple):
    """The six factors of `rows.Rows`, and of jerk q', q'', q''' (k, p, n) by its limit."""

    rows: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
    jerk: tuple[Tensor, Tensor, Tensor]


class RowDerivatives(NamedTuple):
    """What rows come to (k, p, r), and their derivatives by ds/dt, d2s/dt2 and d3s/dt3."""

    value: Tensor
    speed: Tensor
    acceleration: Tensor
    jerk: Tensor


def row_derivatives(known: JerkRows, v: Matrix, u: Matrix, j: Matrix) -> RowDerivatives:
    """Return what rows come to at speeds, accelerations and jerks (k, p) along the path."""
    a, c, d, f, m, b = known.rows
    v, u, j = v[..., None], u[..., None], j[..., None]
    left = f * np.exp(-((m * v) ** 2))
    value = a * u + (c * v + d) * v + left + b
    by_speed = 2.0 * c * v + d - 2.0 * m * m * v * left
    first, second, third = known.jerk
    jerk = first * j + (3.0 * second * u + third * v * v) * v
    jerk_by_speed = 3.0 * (second * u + third * v * v)

    def joined(one: Tensor, other: Tensor) -> Tensor:
        return np.concatenate([one, other], axis=2)

    return RowDerivatives(
        joined(value, jerk),
        joined(by_speed, jerk_by_speed),
        joined(a, 3.0 * second * v),
        joined(0.0 * a, first),
    )


READ_FRACTIONS = np.linspace(0.0, 1.0, 9)
"""Shares of an interval's time at which a motion is read."""


class JerkProblem(NamedTuple):
    """An arm on a path with its limits, those of jerk (n,) among them."""

    robot: Robot
    path: JointPath
    limits: Limits
    jerk: Vector

    def at_ends(self, grid: Vector, inside: float = ENDPOINT_OFFSET) -> JerkRows:
        """Return the rows at both ends of the intervals of a grid (k + 1,), a share inside."""
        shares = np.array([inside, 1.0 - inside])
        along = geometry(self.path, grid[:-1], np.diff(grid), shares)
        width = np.diff(grid)[:, None]
        return self._rows(along, grid[:-1, None] + width * shares)

    def read(self, pieces: CubicProfile) -> Tensor:
        """Return what rows come to (k, p, r) at `PLACES` between grid points."""
        s, v, u = pieces.at(READ_FRACTIONS)
        width = np.diff(pieces.grid)[:, None]
        least, most = (pieces.grid[:-1, None], pieces.grid[1:, None])
        s = np.clip(s, least + ENDPOINT_OFFSET * width, most - ENDPOINT_OFFSET * width)
        shape = (*s.shape, -1)
        along = Geometry(*(self.path(s.ravel(), order).reshape(shape) for order in range(3)))
        return row_derivatives(self._rows(along, s), v, u, pieces.jerk[:, None] + 0.0 * s).value

    def _rows(self, along: Geometry, s: Matrix) -> JerkRows:
        third = self.path(s.ravel(), 3).reshape(along.q.shape)
        jerk = tuple(each / self.jerk for each in (along.first, along.second, third))
        return JerkRows(constraint_rows(self.robot, self.limits, along), jerk)  # type: ignore[arg-type]


DIFFERENCE_STEP = 1e-3
"""Share of an interval over which rows are differenced."""


def continuity_equations(y: CubicProfile, phase: Counts, scale: Vector) -> Any:
    """Return the derivatives of what place and speed come to in the intervals (2 k, ..)."""
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
    """Return by how much speeds and places differ from what the pieces come to (2 k,)."""
    h, before, after = y.times, y.acceleration[:-1], y.acceleration[1:]
    speeds = np.diff(y.speed) - h * (before + after) / 2.0
    places = np.diff(y.grid) / h - y.speed[:-1] - h * (2.0 * before + after) / 6.0
    return np.concatenate([speeds, places])


def linearized_limits(
    y: CubicProfile,
    phase: Counts,
    limits: Matrix,
    here: RowDerivatives,
    aside: RowDerivatives,
    trust: float,
    sizes: tuple[float, ...],
) -> tuple[Any, Vector, Any]:
    """Return the rows that a step within the trust region may meet, and their room.

    Args:
        y: The motion.
        phase: Of its intervals (k,).
        limits: Of the rows (k, r).
        here: What these come to at the ends of the intervals.
        aside: The same, a share `ASIDE` inside.
        trust: How far a step may lead, in shares of `sizes`.
        sizes: Of places, speeds and accelerations.

    Returns:
        The rows; their room; and intervals, ends, which limits they are of, and on which side.
    """
    n, p = len(y.times), int(phase[-1]) + 1
    h = y.times[:, None, None]
    way = DIFFERENCE_STEP * np.diff(y.grid)[:, None, None] * np.array([1.0, -1.0])[:, None]
    by_s = (aside.value - here.value) / way * sizes[0]
    by_v, by_u = here.speed * sizes[1], here.acceleration * sizes[2]
    by_step = here.jerk / h * sizes[2]
    by_time = -here.jerk * y.jerk[:, None, None]
    parts: tuple[Tensor, ...] = (by_s, by_v, by_u, 2.0 * by_step, by_time)
    reach = trust * sum(np.abs(each) for each in parts)
    size, most = np.abs(here.value), limits[:, None, :]
    side = np.where(here.value < 0.0, -1.0, 1.0)
    ahead, behind = np.nonzero(size + reach > most), np.nonzero(reach - size > most)
    sign = np.concatenate([side[ahead], -side[behind]])
    at = tuple(np.concatenate(each) for each in zip(ahead, behind, strict=True))
    k, place, row = at
    count = np.arange(len(k))
    s, v, u = p + k, p + n + 1 + k, p + 2 * n + 2 + k
    entries = [
        (count, s + place, sign * by_s[at]),
        (count, v + place, sign * by_v[at]),
        (count, u + place, sign * by_u[at]),
        (count, u, -sign * by_step[at]),
        (count, u + 1, sign * by_step[at]),
        (count, phase[k], sign * by_time[at]),
        (count, p + 3 * n + 3 + k, -np.ones(len(k))),
    ]
    below = _sparse_matrix(entries, len(k), p + 4 * n + 3)
    return below, limits[k, row] - sign * here.value[at], (*at, sign)


def _sparse_matrix(entries: list[tuple[Any, Any, Any]], rows: int, columns: int) -> Any:
    """Return a sparse matrix of rows, columns and values, in pieces."""
    from scipy.sparse import coo_array

    row, column, value = (np.concatenate(each) for each in zip(*entries, strict=True))
    return coo_array((value, (row, column)), shape=(rows, columns)).tocsr()


MOST_GUESSES, SLOWDOWN = 60, 1.25
"""How many starts are tried, and the factor between their times."""
LEAST_INTERVALS = 4
"""Intervals between two breaks."""
EASING_FRACTION = 0.5
"""Share of its time in which a start speeds up."""
GUESS_SAMPLES = 2000
"""At how many times the motion without limits of jerk is read."""


class MeritFunction(Protocol):
    """Motions measured by what they miss; see `jerk_timing.JerkProgram`."""

    def joined(self, y: CubicProfile) -> CubicProfile:
        """Return the motion led back to where its pieces fit."""

    def merit(self, y: CubicProfile) -> float:
        """Return the time in shares of the whole, and the price of what is missed."""

    def at(self, y: CubicProfile) -> RowDerivatives:
        """Return what the limits come to."""


class UnlimitedMotion(NamedTuple):
    """What starts are made from: the motion without limits of jerk.

    Attributes:
        ends: Speeds ds/dt at both ends.
        times: At which it is read (m,), s.
        places: s there (m,).
        breaks: Where the path is not smooth, or a joint turns back.
        k: How many intervals a start has at least.
    """

    ends: tuple[float, float]
    times: Vector
    places: Vector
    breaks: Vector
    k: int

    @property
    def held(self) -> tuple[bool, bool]:
        """Whether it rests at the begin and at the end."""
        return self.ends[0] == 0.0, self.ends[1] == 0.0

    def slowed(self, factor: float) -> tuple[CubicProfile, Counts]:
        """Return it `factor` times as slow, and the phases (k,) of its intervals.

        An end that is passed is passed at its speed, however slow the rest.
        """
        times = self.times
        tau, warped = _warp(self.held, factor)
        s = np.interp(warped, times / times[-1], self.places)
        passed = np.concatenate([[0.0], np.interp(self.breaks[1:-1], s, tau), [1.0]])
        counts = np.maximum(np.ceil(self.k * np.diff(passed)), LEAST_INTERVALS).astype(int)
        phase = np.repeat(np.arange(len(counts)), counts)
        knots = np.append(split_intervals(passed, counts)[:-1], 1.0)
        grid, t = np.interp(knots, tau, s), factor * times[-1] * knots
        speed = np.gradient(grid, t)
        speed[[0, -1]] = self.ends
        return CubicProfile(grid, np.diff(t), speed, np.gradient(speed, t)), phase


def initial_guess(
    measure_of: Callable[[Counts], MeritFunction], free: UnlimitedMotion
) -> tuple[CubicProfile, Counts]:
    """Return a motion, and the phases (k,) of its intervals.

    Between two ends at rest it is slow enough for all limits, if it can be. Else the best by
    `Measure.merit` is taken, or the fastest if none moves on everywhere.
    """
    best, least = None, np.inf
    for count in range(MOST_GUESSES):
        factor = SLOWDOWN**count
        y, phase = free.slowed(factor)
        measure = measure_of(phase)
        y = measure.joined(y)
        merit = measure.merit(y)
        if best is None or merit < least:
            best, least = (y, phase), merit
        if all(free.held) and merit < np.inf and np.abs(measure.at(y).value).max() <= 1.0:
            return y, phase
        if factor > least:
            break
    assert best is not None
    return best


def _warp(held: tuple[bool, bool], factor: float) -> tuple[Vector, Vector]:
    """Return shares of the time of a slower motion, and shares of its own at which it is then.

    At an end that is not held it is as fast as the motion itself, at the others it rests.
    """
    tau = np.linspace(0.0, 1.0, GUESS_SAMPLES + 1)
    slopes = [0.0 if each else factor for each in held]
    widths = [EASING_FRACTION if each else EASING_FRACTION / factor for each in held]
    between = (1.0 - np.dot(slopes, widths) / 3.0) / (1.0 - sum(widths) / 3.0)
    slope = np.full(GUESS_SAMPLES + 1, between)
    for m, width, since in zip(slopes, widths, (tau, 1.0 - tau), strict=True):
        slope += (m - between) * np.maximum(1.0 - since / width, 0.0) ** 2
    warped = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]))])
    return tau, warped / warped[-1]
