"""From nothing to a nearly optimal motion: linear programs, one after the other, on a grid.

The efforts are constant in each of `CELLS` equal parts of the motion. Around a motion the final
state is linear in them and in the duration, and the fastest efforts within their limits solve a
linear program, whose solutions are bang-bang by themselves: at most 2 n values lie between the
limits. Its multipliers are costates at the end. A trust region keeps the steps where linear is
near the truth (Fletcher, de la Maza 1989, Nonlinear programming and nonsmooth optimization by
successive linear programming; Nocedal, Wright 2006, algorithm 18.4 without its second phase).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manip_dyn.planning.equations import compiled_equations
from manip_dyn.planning.linear_program import solve_linear_program
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

CELLS = 40
ITERATIONS = 60
FINER = 3
PENALTY = 4.0
"""Cost of missing the goal by the whole way, in durations of the first motion."""


class Sketch(NamedTuple):
    """A nearly optimal motion.

    Attributes:
        controls: Efforts over their limits (cells, n).
        duration: How long it takes, s.
        costate: Costates (2 n,) at the start, s per unit of the state.
        miss: Scaled distance of the final state from the goal at rest.
    """

    controls: Vector
    duration: float
    costate: Vector
    miss: float


class Sweep(NamedTuple):
    """The final state (2 n,) and its derivatives by start, controls and duration."""

    end: Vector
    by_start: Vector
    by_control: Vector
    by_duration: Vector


class Sequence:
    """The search for one start and goal, from one motion after the other."""

    def __init__(self, robot: Robot, q0: Vector, qf: Vector):
        """Plan from rest at `q0` (n,) to rest at `qf` (n,)."""
        self._equations: Any = compiled_equations(robot)
        self._start, self._goal = np.concatenate([q0, 0.0 * q0]), np.concatenate([qf, 0.0 * qf])
        self._limits, self.n = np.array(robot.tau_max), robot.n

    def along(self, swing: Vector) -> tuple[Vector, float]:
        """Return efforts (cells, n) and duration of a smooth motion that swings out (n,) midway.

        It takes as long as the limits ask for, where they allow it at all.
        """
        n, u = self.n, np.empty((CELLS, self.n))
        start, way = self._start[:n], self._goal[:n] - self._start[:n]
        short, long = 0.0, 1.0

        def most(duration: float) -> float:
            return self._equations.efforts_along(way, swing, start, duration, self._limits, u)

        while most(long) > 1.0 and long < 1e3:
            short, long = long, 2.0 * long
        while short == 0.0 and most(0.5 * long) <= 1.0 and long > 1e-6:
            long *= 0.5
        short = 0.5 * long
        for _ in range(4):
            middle = 0.5 * (short + long)
            short, long = (short, middle) if most(middle) <= 1.0 else (middle, long)
        most(long)
        return u, long

    def improved(self, u: Vector, duration: float) -> Sketch:
        """Return what the linear programs make of efforts `u` (cells, n) and a duration, s."""
        n, size = self.n, u.size
        whole = duration
        distance = max(np.abs(self._goal - self._start).max(), 0.1)
        scale = np.concatenate([np.full(n, distance), np.full(n, distance / whole)])
        cost, low, high = np.zeros(size + 1), np.empty(size + 1), np.empty(size + 1)
        cost[-1] = 1.0
        columns = np.empty((size + 1, 2 * n))
        step, multipliers = np.empty(size + 1), np.zeros(2 * n)
        radius, penalty = 1.0, PENALTY
        here = self._sweep(u, duration)
        miss = (self._goal - here.end) / scale
        # The first guess of the bounds does not matter; later ones are those of the last program.
        at_high = np.ones(size + 1, dtype=np.bool_)
        for _ in range(ITERATIONS):
            flat = u.ravel()
            low[:-1] = np.maximum(-1.0 - flat, -2.0 * radius)
            high[:-1] = np.minimum(1.0 - flat, 2.0 * radius)
            low[-1], high[-1] = -0.3 * radius * duration / whole, 0.3 * radius * duration / whole
            np.divide(here.by_control, scale, out=columns[:-1])
            columns[-1] = here.by_duration * whole / scale
            pivots = solve_linear_program(
                columns, miss, cost, low, high, at_high, penalty, step, multipliers
            )
            if pivots < 0:
                break
            left = miss - step @ columns
            merit = duration / whole + penalty * np.abs(miss).sum()
            promised = penalty * (np.abs(miss).sum() - np.abs(left).sum()) - step[-1]
            if promised < 1e-7:
                break
            for correction in range(3):
                trial_u = np.clip(flat + step[:-1], -1.0, 1.0).reshape(u.shape)
                trial_duration = duration + step[-1] * whole
                there = self._sweep(trial_u, trial_duration)
                trial_miss = (self._goal - there.end) / scale
                gained = merit - trial_duration / whole - penalty * np.abs(trial_miss).sum()
                if gained > 0.5 * promised or correction == 2:
                    break
                right = miss + trial_miss - left if correction == 0 else right + trial_miss - left
                solve_linear_program(
                    columns, right, cost, low, high, at_high, penalty, step, multipliers
                )
            if gained > 0.1 * promised:
                u, duration, here, miss = trial_u, trial_duration, there, trial_miss
                if gained > 0.5 * promised:
                    radius = min(2.0 * radius, 1.0)
            else:
                radius *= 0.4
                if radius < 1e-4:
                    break
        at_end = -multipliers * whole / scale
        return Sketch(u, duration, here.by_start.T @ at_end, float(np.abs(miss).max()))

    def refined(self, sketch: Sketch) -> Sketch:
        """Return the sketch improved on a grid `FINER` times as fine."""
        return self.improved(np.repeat(sketch.controls, FINER, axis=0), sketch.duration)

    def _sweep(self, u: Vector, duration: float) -> Sweep:
        state = 2 * self.n
        result = Sweep(
            np.empty(state), np.empty((state, state)), np.empty((u.size, state)), np.empty(state)
        )
        self._equations.sweep(self._start, self._limits, duration, u, *result)
        return result
