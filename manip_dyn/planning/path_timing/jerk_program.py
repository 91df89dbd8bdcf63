"""One step towards the fastest motion with limited jerk: a linear program within a trust region.

The path is passed in phases between its breaks, each divided into intervals of fixed shares of
its time. Unknown are the times of the phases, and place, speed and acceleration along the path at
the grid points. Given the times these belong together by linear equations, to which a step is led
back (`jerk_pieces.joined`); limits are linearised, and what is missed of them has a price (exact
penalties; Fletcher 1987, chapter 14).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.planning.path_timing.grid import Counts
from manip_dyn.planning.path_timing.jerk_pieces import JerkRows, Pieces, Slopes, joined, slopes

PRICE = 2.0
"""Of what is missed of the limits, in times of the whole motion per interval."""
TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
LEAST = 0.2
"""Share of a speed that a step leaves."""
NEAR = 0.3
"""Share of the time of a motion within which it is slowed less near an end that it passes."""
GOOD = 0.5
"""Share of what is expected that a step has to bring, or it is corrected to second order."""
ASIDE = 1e-3
"""Share of an interval over which rows are differenced."""


class Program(NamedTuple):
    """Motions measured by their time and what they miss.

    Attributes:
        rows: Gives the rows at the ends of a grid's intervals, a share of them inside.
        most: Their limits (k, r).
        whole: A time, s, in shares of which the times are.
        phase: The phase (k,) of each interval.
        places: Where the phases end (p,).
        held: Whether the acceleration is 0 at the begin and at the end.
    """

    rows: Callable[..., JerkRows]
    most: Matrix
    whole: float
    phase: Counts
    places: Vector
    held: tuple[bool, bool]

    @property
    def ends(self) -> Counts:
        """The grid points (p,) at which the phases end."""
        return np.flatnonzero(np.diff(self.phase, append=-1)) + 1

    def merit(self, y: Pieces) -> float:
        """Return the time in shares of the whole, and the price of what is missed."""
        if y.speed[1:-1].min() <= 0.0 or np.diff(y.grid).min() <= 0.0:
            return np.inf
        beyond = (np.abs(self.at(y).value).max(axis=1) - self.most).max(axis=1)
        return float(y.times.sum() / self.whole + PRICE * np.maximum(beyond, 0.0).sum())

    def joined(self, y: Pieces) -> Pieces:
        """Return the motion near y that fits together."""
        return joined(y, self.ends, self.places, self.held)

    def at(self, y: Pieces, *inside: float) -> Slopes:
        """Return what the rows come to at both ends of the intervals (k, 2, r)."""
        v, u = (np.stack([x[:-1], x[1:]], axis=1) for x in (y.speed, y.acceleration))
        return slopes(self.rows(y.grid, *inside), v, u, np.stack([y.jerk, y.jerk], axis=1))

    def slowed(self, y: Pieces, factor: float) -> Pieces:
        """Return the motion `factor` times as slow; near ends that it passes, less and less."""
        if all(self.held):
            return y.slowed(factor)
        passed = np.concatenate([[0.0], np.cumsum(y.times)]) / y.times.sum()
        near = [
            np.ones(len(passed)) if held else np.minimum(each / NEAR, 1.0)
            for held, each in zip(self.held, (passed, 1.0 - passed), strict=True)
        ]
        share = (
            near[0] * near[0] * (3.0 - 2.0 * near[0]) * near[1] * near[1] * (3.0 - 2.0 * near[1])
        )
        slower = 1.0 + (factor - 1.0) * share
        times = y.times * 0.5 * (slower[1:] + slower[:-1])
        return self.joined(Pieces(y.grid, times, y.speed / slower, y.acceleration / slower**2))

    def _slowed(self, y: Pieces) -> Pieces:
        """Return the motion slowed by what is missed, as far as that goes by inertia alone."""
        found = self.at(y)
        share = np.abs(found.value) / self.most[:, None, :]
        factor = np.where(found.jerk != 0.0, np.cbrt(share), np.sqrt(share)).max()
        return self.slowed(y, max(float(factor), 1.0) + 1e-15)

    def step(self, y: Pieces, trust: float) -> tuple[Pieces, float] | None:
        """Return where the linear program leads and the merit it expects; None: it failed."""
        from scipy.optimize import linprog  # slow to load, and few timings limit the jerk

        n, p = len(y.times), len(self.places)
        fast, sharp = y.speed.max(), np.abs(y.acceleration).max()
        length = y.grid[-1] - y.grid[0]
        sizes = (length, fast, sharp)
        scale = np.concatenate([np.ones(p), *(np.full(n + 1, each) for each in sizes)])
        size = len(scale)
        cost = np.zeros(size + n)
        cost[:p] = np.bincount(self.phase, y.times) / self.whole
        cost[size:] = PRICE
        box = np.zeros((size + n, 2))
        box[:size], box[size:, 1] = (-trust, trust), np.inf
        s, v, u = p, p + n + 1, p + 2 * n + 2
        box[v : v + n + 1, 0] = np.maximum(-trust, -(1.0 - LEAST) * y.speed / fast)
        box[[s, *(s + self.ends), v, v + n]] = 0.0
        box[[each for each, held in zip((u, u + n), self.held, strict=True) if held]] = 0.0
        below, room, at = self._limits(y, trust, sizes)
        equal = self._equations(y, scale)
        none = np.zeros(2 * n)

        def solve(room: Vector, missing: Vector) -> Any:
            return linprog(
                cost, below, room, equal, missing, box, method="highs-ds", options=TOLERANCES
            )

        found = solve(room, none)
        if found.x is None:
            return None
        expected = float(y.times.sum() / self.whole + found.fun)
        raw = self._moved(y, scale * found.x[:size])
        there, merit = self._mended(raw)
        if self.merit(y) - merit > GOOD * (self.merit(y) - expected):
            return there, expected
        # What limits and equations come to there, beside what was expected, is taken from them.
        k, place, row, sign = at
        gone = below[:, :size] @ found.x[:size]
        with np.errstate(all="ignore"):
            values = self.at(raw).value[k, place, row]
        more = sign * (values - self.at(y).value[k, place, row]) - gone
        missing = equal[:, :size] @ found.x[:size] - _misfit(raw) / fast
        if not (np.isfinite(more).all() and np.isfinite(missing).all()):
            return there, expected
        second = solve(room - more, missing)
        if second.x is not None:
            other, least = self._mended(self._moved(y, scale * second.x[:size]))
            there = other if least < merit else there
        return there, expected

    def _moved(self, y: Pieces, step: Vector) -> Pieces:
        """Return the motion a step farther; its pieces need not fit together."""
        n, p = len(y.times), len(self.places)
        s, v, u = p, p + n + 1, p + 2 * n + 2
        return Pieces(
            y.grid + step[s:v],
            y.times * (1.0 + step[self.phase]),
            y.speed + step[v:u],
            y.acceleration + step[u:],
        )

    def _mended(self, raw: Pieces) -> tuple[Pieces, float]:
        """Return the motion that fits together, slowed if that is better, and its merit."""
        there = self.joined(raw)
        slower = self._slowed(there)
        merits = self.merit(there), self.merit(slower)
        return (slower, merits[1]) if merits[1] < merits[0] else (there, merits[0])

    def _equations(self, y: Pieces, scale: Vector) -> Any:
        """Return the derivatives of what place and speed come to in the intervals (2 k, ..)."""
        n, p = len(y.times), len(self.places)
        k, fast, h = np.arange(n), y.speed.max(), y.times
        s, v, u = p + k, p + n + 1 + k, p + 2 * n + 2 + k
        before, after = y.acceleration[:-1], y.acceleration[1:]
        one = np.ones(n)
        entries = [
            (k, v + 1, one),
            (k, v, -one),
            (k, u, -h / 2.0),
            (k, u + 1, -h / 2.0),
            (k, self.phase, -h * (before + after) / 2.0),
            (n + k, s + 1, one / h),
            (n + k, s, -one / h),
            (n + k, v, -one),
            (n + k, u, -h / 3.0),
            (n + k, u + 1, -h / 6.0),
            (n + k, self.phase, -y.speed[:-1] - (2.0 * before + after) * h / 3.0),
        ]
        scaled = [(row, column, x * scale[column] / fast) for row, column, x in entries]
        return _matrix(scaled, 2 * n, len(scale) + n)

    def _limits(
        self, y: Pieces, trust: float, sizes: tuple[float, ...]
    ) -> tuple[Any, Vector, Any]:
        """Return the rows that a step within the trust region may meet, and their room."""
        n, p = len(y.times), len(self.places)
        here, aside = self.at(y), self.at(y, ASIDE)
        h = y.times[:, None, None]
        way = ASIDE * np.diff(y.grid)[:, None, None] * np.array([1.0, -1.0])[:, None]
        by_s = (aside.value - here.value) / way * sizes[0]
        by_v, by_u = here.speed * sizes[1], here.acceleration * sizes[2]
        by_step = here.jerk / h * sizes[2]
        by_time = -here.jerk * y.jerk[:, None, None]
        parts: tuple[Tensor, ...] = (by_s, by_v, by_u, 2.0 * by_step, by_time)
        reach = trust * sum(np.abs(each) for each in parts)
        size, most = np.abs(here.value), self.most[:, None, :]
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
            (count, self.phase[k], sign * by_time[at]),
            (count, p + 3 * n + 3 + k, -np.ones(len(k))),
        ]
        below = _matrix(entries, len(k), p + 4 * n + 3)
        return below, self.most[k, row] - sign * here.value[at], (*at, sign)


def _misfit(y: Pieces) -> Vector:
    """Return by how much speeds and places differ from what the pieces come to (2 k,)."""
    h, before, after = y.times, y.acceleration[:-1], y.acceleration[1:]
    speeds = np.diff(y.speed) - h * (before + after) / 2.0
    places = np.diff(y.grid) / h - y.speed[:-1] - h * (2.0 * before + after) / 6.0
    return np.concatenate([speeds, places])


def _matrix(entries: list[tuple[Any, Any, Any]], rows: int, columns: int) -> Any:
    """Return a sparse matrix of rows, columns and values, in pieces."""
    from scipy.sparse import coo_array

    row, column, value = (np.concatenate(each) for each in zip(*entries, strict=True))
    return coo_array((value, (row, column)), shape=(rows, columns)).tocsr()
