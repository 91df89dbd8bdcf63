"""The fastest motion with finite ramps between levels of effort, by linear programs.

Around a motion the final state is linear in the numbers of `ramps`, and the fastest change
within the limits of efforts, speeds and positions solves a linear program; a trust region keeps
it where linear is near the truth (Fletcher, de la Maza 1989, as for minimum time). Rows that
cannot be met are elastic. At its solution as many limits are met as there are numbers left, so
that the last programs are steps of Newton's method and the motion arrives but for rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.numerics import Damping, damped_newton
from manip_dyn.planning.zero_net_work.ramped_flow import RampedFlow
from manip_dyn.planning.zero_net_work.ramps import Corners, Ramps
from manip_dyn.robot import Robot

NODES = 24
"""Parts of a motion at whose ends limits of position and speed are rows of the programs."""
NUDGE = 1e-6
"""Differences by which derivatives are taken."""
ITERATIONS = 120
"""Programs before giving up."""
PENALTY = 8.0
"""Cost of missing the goal by the whole distance, in time scales."""
WIDEST, FIRST, SHRINKS = 0.5, 0.1, 16
"""Trust in a change of an effort over its limit, and how often it is taken back at a time."""
GAIN = 2e-6
"""A gain, in time scales, that is not worth another program."""
CLOSE, TIGHT = 0.5, 1e-6
"""Scaled distances from a limit from which on it is a row of the program; is kept to."""
CORRECTIONS = 3
"""Chord steps back to where the conditions are met."""
TOWARDS_FIRST = Damping(most=15, converged=1e-6, shrink=0.4, least=1e-3)
"""Newton's method towards a first motion, which may miss as much, scaled."""
MISS, SETTLED = 1e-9, 1e-11
"""How far from the goal and from rest a motion may end, and is tried to, rad, m and per s."""
STRICT = 100.0
"""How much less, in s, ramps may lack: where they overlap, efforts would jump."""


class Reached(NamedTuple):
    """What a motion does, scaled.

    Attributes:
        ends: Distance of the final state from the goal at rest (2 n,).
        left: What is left to the limits (k,): of ramps, then of speeds and positions.
    """

    ends: Vector
    left: Vector


class Result(NamedTuple):
    """What the programs end with.

    Attributes:
        x: The motion.
        miss: Distance from the goal at rest, rad, m and per s, or `STRICT` times the overlap, s.
        best: Whether no program finds a faster one nearby.
    """

    x: Vector
    miss: float
    best: bool


class RampedSearch:
    """The search for one start and goal."""

    def __init__(self, robot: Robot, start: Vector, goal: Vector, ramps: Ramps):
        """Plan from rest at `start` (n,) to rest at `goal` (n,)."""
        zero, self._flow, self.ramps = np.zeros(robot.n), RampedFlow(robot), ramps
        self._start, self._goal = np.concatenate([start, zero]), np.concatenate([goal, zero])
        distance = np.abs(goal - start).max()
        self._scale = np.repeat([distance, 4.0 * distance / ramps.scale], robot.n)
        self._low, self._high = np.full((2, 2 * robot.n), [[-np.inf], [np.inf]])

    def nodes(self, x: Vector, parts: int) -> tuple[Vector, Vector]:
        """Return times (k,), s, and states (k, 2 n) at all corners and at ends of equal parts."""
        equal = np.linspace(0.0, self.ramps.duration(x), parts + 1)
        return self._nodes(self.ramps.corners(x), equal)

    def _nodes(self, corners: Corners, equal: Vector) -> tuple[Vector, Vector]:
        times = np.unique(np.concatenate([equal, corners.edges]))
        return times, self._flow.states(self._start, times, corners.efforts(times))

    def arriving(self, x: Vector) -> Vector | None:
        """Return the motion near `x` that arrives by other levels at the same times, or None.

        Limits are not looked at.
        """
        size = self.ramps.levels * self.ramps.n

        def step(x: Vector, here: Reached) -> tuple[Vector, float] | None:
            slopes = self._slopes(x, here, size)
            if not np.all(np.isfinite(slopes.ends)):
                return None
            step = np.zeros(len(x))
            step[:size] = np.linalg.lstsq(slopes.ends, -here.ends, rcond=None)[0]
            return step, 1.0

        x, _, arrived = damped_newton(
            x, self._reached(x), self._reached, _distance, step, TOWARDS_FIRST
        )
        return x if arrived else None

    def improve(self, x: Vector, low: Vector, high: Vector) -> Result:
        """Return the fastest motion to which linear programs lead from `x`.

        Args:
            x: Where to begin.
            low: Lower limits of positions and velocities (2 n,).
            high: Upper ones.
        """
        self._low, self._high = low, high
        x = np.clip(x, *self.ramps.bounds())
        here, trust, best = self._reached(x), FIRST, False
        for _ in range(ITERATIONS):
            value = _value(x, here)
            if not np.isfinite(value):
                break
            slopes = self._slopes(x, here)
            for _ in range(SHRINKS):
                step, model = _program(x, here, slopes, self.ramps.bounds(), trust)
                there = self._reached(x + step)
                step, there = self._corrected(x, step, there, slopes)
                hoped, gained = value - model, value - _value(x + step, there)
                best = hoped < GAIN
                if gained >= 0.1 * hoped or (best and self._miss(there) < MISS):
                    break
                trust = 0.3 * min(trust, float(np.abs(step).max()))
            if gained > 0.0 or (best and self._miss(there) < self._miss(here)):
                x, here = x + step, there
            elif not best:
                break
            if best:
                break
            if gained > 0.5 * hoped:
                trust = min(2.0 * trust, WIDEST)
        x, here = self._settled(x, here)
        return Result(x, self._miss(here), best)

    def _settled(self, x: Vector, here: Reached) -> tuple[Vector, Reached]:
        """Return the motion near `x` that arrives but for rounding, and what it reaches."""
        for _ in range(CORRECTIONS):
            if self._miss(here) < SETTLED or not np.isfinite(_value(x, here)):
                break
            step, here = self._corrected(x, 0.0 * x, here, self._slopes(x, here))
            x = x + step
        return x, here

    def _corrected(
        self, x: Vector, step: Vector, there: Reached, slopes: Reached
    ) -> tuple[Vector, Reached]:
        """Return the step and what it reaches, moved back to where the conditions are met.

        By chord steps with the slopes at `x` (Nocedal, Wright 2006, section 18.3, on the second
        order correction).
        """
        low, high = self.ramps.bounds()
        for _ in range(CORRECTIONS):
            free = (x + step > low) & (x + step < high)
            tight = there.left < TIGHT
            rows = np.vstack([slopes.ends, slopes.left[tight]])[:, free]
            lack = np.concatenate([there.ends, np.minimum(there.left[tight], 0.0)])
            if not np.all(np.isfinite(lack)):
                break
            back = step.copy()
            back[free] -= np.linalg.lstsq(rows, lack, rcond=1e-10)[0]
            back = np.clip(x + back, low, high) - x
            reached = self._reached(x + back)
            if not _missed(reached) < _missed(there):
                break
            step, there = back, reached
        return step, there

    def _reached(self, x: Vector) -> Reached:
        corners, equal = self.ramps.corners(x), np.linspace(0.0, self.ramps.duration(x), NODES + 1)
        times, states = self._nodes(corners, equal)
        inside = states[np.searchsorted(times, equal[1:-1])]
        left = np.concatenate([self._high - inside, inside - self._low]) / self._scale
        room = corners.room / self.ramps.scale
        ends = (states[-1] - self._goal) / self._scale
        return Reached(ends, np.concatenate([room, left.ravel()]))

    def _miss(self, at: Reached) -> float:
        lack = -at.left[: self.ramps.levels * self.ramps.n].min() * self.ramps.scale
        return float(max(np.abs(at.ends * self._scale).max(), STRICT * lack))

    def _slopes(self, x: Vector, here: Reached, size: int | None = None) -> Reached:
        """Return the derivatives by `x`, or its first `size` numbers, one a column."""
        ends, left = [], []
        for k in range(size or len(x)):
            moved = x.copy()
            moved[k] += NUDGE if x[k] < 0.5 else -NUDGE
            there, step = self._reached(moved), moved[k] - x[k]
            ends.append((there.ends - here.ends) / step)
            with np.errstate(invalid="ignore"):
                left.append((there.left - here.left) / step)
        return Reached(np.array(ends).T, np.array(left).T)


def _distance(at: Reached) -> float:
    """Return how far the final state is from the goal, scaled."""
    return float(np.abs(at.ends).sum())


def _missed(at: Reached) -> float:
    return float(np.abs(at.ends).sum() + np.maximum(-at.left, 0.0).sum())


def _value(x: Vector, at: Reached) -> float:
    """Return the duration and the price of what is missed, in time scales."""
    return float(x[-1] + PENALTY * _missed(at))


def _program(
    x: Vector, here: Reached, slopes: Reached, bounds: tuple[Vector, Vector], trust: float
) -> tuple[Vector, float]:
    """Return the best step within `trust` and the value that the program sees behind it."""
    size, ends, (low, high) = len(x), len(here.ends), bounds
    near = here.left < CLOSE
    k = int(near.sum())
    cost = np.zeros(size + 2 * ends + k)
    cost[size - 1], cost[size:] = 1.0, PENALTY
    equal = np.hstack([slopes.ends, np.eye(ends), -np.eye(ends), np.zeros((ends, k))])
    below = np.hstack([-slopes.left[near], np.zeros((k, 2 * ends)), -np.eye(k)])
    box = np.full((len(cost), 2), (0.0, np.inf))
    box[:size, 0] = np.maximum((low - x) / trust, -1.0)
    box[:size, 1] = np.minimum((high - x) / trust, 1.0)
    from scipy.optimize import linprog  # slow to load, and few plans have ramps

    found = linprog(
        cost, below, here.left[near] / trust, equal, -here.ends / trust, box, options=TOLERANCES
    )
    if found.x is None:
        return 0.0 * x, np.inf
    step = np.clip(x + trust * found.x[:size], low, high) - x
    return step, float(x[-1] + trust * found.fun)


TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
