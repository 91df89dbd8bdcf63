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

from manip_dyn.core.checks import Counts, Matrix, Vector
from manip_dyn.planning.path_timing.jerk_pieces import JerkRows, Pieces, Slopes, joined, slopes
from manip_dyn.planning.path_timing.jerk_steps import ASIDE, equations, limits_of_steps, misfit

PRICE = 2.0
"""Of what is missed of the limits, in times of the whole motion per interval."""
TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
LEAST = 0.2
"""Share of a speed that a step leaves."""
NEAR = 0.3
"""Share of the time of a motion within which it is slowed less near an end that it passes."""
GOOD = 0.5
"""Share of what is expected that a step has to bring, or it is corrected to second order."""
LITTLE = 1e-7
"""Expected shares of the time that are not worth that."""


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
        here = self.at(y)
        below, room, at = limits_of_steps(
            y, self.phase, self.most, here, self.at(y, ASIDE), trust, sizes
        )
        equal = equations(y, self.phase, scale)
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
        hoped = self.merit(y) - expected
        if hoped < LITTLE or self.merit(y) - merit > GOOD * hoped:
            return there, expected
        # What limits and equations come to there, beside what was expected, is taken from them.
        k, place, row, sign = at
        gone = below[:, :size] @ found.x[:size]
        with np.errstate(all="ignore"):
            values = self.at(raw).value[k, place, row]
        more = sign * (values - here.value[k, place, row]) - gone
        missing = equal[:, :size] @ found.x[:size] - misfit(raw) / fast
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
