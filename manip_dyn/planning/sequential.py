"""From nothing to a nearly optimal motion: linear programs, one after the other, on a grid.

The efforts are constant in each of `CELLS` equal parts of the motion. Around a motion the final
state is linear in them and in the duration, and the fastest efforts within their limits solve a
linear program, whose solutions are bang-bang by themselves: at most 2 n values lie between the
limits. Its multipliers are costates at the end. A trust region keeps the steps where linear is
near the truth (Fletcher, de la Maza 1989, Nonlinear programming and nonsmooth optimization by
successive linear programming; Nocedal, Wright 2006, algorithm 18.4 without its second phase).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.by_reference import by_reference
from manip_dyn.planning.cells import Smooth, efforts_along
from manip_dyn.planning.equations import kernels_of
from manip_dyn.planning.grid_limits import Transfer, farthest
from manip_dyn.planning.improvement import Improvement, improve, improvement_of
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

CELLS = 32
ITERATIONS = 60
FINE, COARSE = 1e-6, 3e-4
"""Gains, in first durations, that are not worth another program."""
FINER = 3
PENALTY = 4.0
"""Cost of missing the goal by the whole way, in durations of the first motion."""


class Sketch(NamedTuple):
    """A nearly optimal motion.

    Attributes:
        controls: Efforts over their limits (cells, n).
        duration: How long it takes, s.
        costate: Costates (2 n,) at the start, s per unit of the state.
        miss: Scaled distance of the final state from the goal at rest, or past a limit of
            position or speed on the way.
        states: States (cells + 1, 2 n) at the ends of the cells.
        pressure: Multipliers (cells + 1, 2 n) of their limits, s per unit; above 0 at upper ones.
    """

    controls: Vector
    duration: float
    costate: Vector
    miss: float
    states: Vector
    pressure: Vector


class Sequence:
    """The search for one start and goal, from one motion after the other."""

    def __init__(self, robot: Robot, q0: Vector, qf: Vector):
        """Plan from rest at `q0` (n,) to rest at `qf` (n,)."""
        self._kernels = kernels_of(robot)
        self._start, self._goal = np.concatenate([q0, 0.0 * q0]), np.concatenate([qf, 0.0 * qf])
        self._limits, self.n = np.array(robot.tau_max), robot.n
        self._low = np.concatenate([robot.q_min, -robot.v_max])
        self._high = np.concatenate([robot.q_max, robot.v_max])

    def along(self, swing: Vector) -> tuple[Vector, float]:
        """Return efforts (cells, n) and duration of a smooth motion that swings out (n,) midway.

        It takes as long as the limits ask for, where they allow it at all.
        """
        start, u = self._start[: self.n], np.empty((CELLS, self.n))
        way, (q, v, a, tau) = self._goal[: self.n] - start, np.empty((4, self.n))
        smooth = by_reference(Smooth(start, way, swing, self._limits, q, v, a, tau, u))
        short, long = 0.0, 1.0

        def most(duration: float) -> float:
            return efforts_along(self._kernels, smooth, duration)

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

    def improved(self, u: Vector, duration: float, tolerance: float = FINE) -> Sketch:
        """Return what the programs make of efforts `u` (cells, n) and a duration, s."""
        space, transfer = by_reference(improvement_of(self.n, len(u))), self._transfer(duration)
        space.here.u[:] = u
        space.program.at_high[: u.size] = u.ravel() > 0.0
        end, count, is_other = improve(
            self._kernels, transfer, space, duration, ITERATIONS, tolerance, PENALTY
        )
        motion = space.there if is_other else space.here
        miss = farthest(transfer, motion.states) if count >= 0 else np.inf
        costate, pressure = self._multipliers(space, transfer, max(count, 0), duration)
        return Sketch(motion.u, end, costate, miss, motion.states, pressure)

    def _multipliers(
        self, space: Improvement, transfer: Transfer, count: int, duration: float
    ) -> tuple[Vector, Vector]:
        """Return costates at the start, and the multipliers of the limits of the states."""
        m, watched, pressure = 2 * self.n, space.watched, np.zeros_like(space.here.states)
        found = duration * space.program.multipliers[: m + count]
        places = watched.node[:count], watched.component[:count]
        drop = watched.side[:count] * found[m:] / transfer.scale[places[1]]
        np.subtract.at(pressure, places, drop)
        return -(found @ space.by_start[: m + count]), pressure

    def _transfer(self, duration: float) -> Transfer:
        """Return what to find, in about `duration` s."""
        distance = max(float(np.abs(self._goal - self._start).max()), 1e-9)
        scale = np.repeat([distance, distance / duration], self.n)
        transfer = (self._start, self._goal, self._limits, self._low, self._high, scale)
        return by_reference(Transfer(*transfer))

    def refined(self, sketch: Sketch) -> Sketch:
        """Return the sketch improved on a grid `FINER` times as fine."""
        return self.improved(np.repeat(sketch.controls, FINER, axis=0), sketch.duration)
