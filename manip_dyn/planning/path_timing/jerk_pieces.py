"""A motion s(t) that is cubic in t between grid points, and what limits come to along it.

The jerk of a joint is q' s''' + 3 q'' s' s'' + q''' s'^3; the other limits are those of `rows`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Tensor, Vector


class Pieces(NamedTuple):
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

    def slowed(self, factor: float) -> Pieces:
        """Return the same motion `factor` times as slow."""
        speed, acceleration = self.speed / factor, self.acceleration / factor**2
        return Pieces(self.grid, self.times * factor, speed, acceleration)

    def split(self, parts: Counts) -> Pieces:
        """Return the same motion on a grid with intervals divided into equal times (k,)."""
        made: list[list[float]] = [[], [], [], []]
        for k, count in enumerate(parts):
            shown = self.at(np.arange(count) / count)
            for into, each in zip((0, 2, 3), shown, strict=True):
                made[into].extend(each[k])
            made[1].extend([self.times[k] / count] * count)
        for into, last in ((0, self.grid), (2, self.speed), (3, self.acceleration)):
            made[into].append(last[-1])
        return Pieces(*(np.array(each) for each in made))


def joined(y: Pieces, phases: Counts, places: Vector, held: tuple[bool, bool]) -> Pieces:
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
    return Pieces(grid, h, speed, acceleration)


class JerkRows(NamedTuple):
    """The six factors of `rows.Rows`, and of jerk q', q'', q''' (k, p, n) by its limit."""

    rows: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
    jerk: tuple[Tensor, Tensor, Tensor]


class Slopes(NamedTuple):
    """What rows come to (k, p, r), and their derivatives by ds/dt, d2s/dt2 and d3s/dt3."""

    value: Tensor
    speed: Tensor
    acceleration: Tensor
    jerk: Tensor


def slopes(known: JerkRows, v: Matrix, u: Matrix, j: Matrix) -> Slopes:
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

    return Slopes(
        joined(value, jerk),
        joined(by_speed, jerk_by_speed),
        joined(a, 3.0 * second * v),
        joined(0.0 * a, first),
    )
