"""Search for the fastest motion on a grid: interior-point solutions from many initial guesses.

A solution takes half a millisecond for two joints, so the search tries many detours before it
computes any exact motion.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import exp, inf, log
from threading import get_ident
from time import monotonic
from typing import NamedTuple

import numpy as np

from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.grids.initial_guesses import CELLS
from manip_dyn.planning.minimum_time.grids.slp_iteration import SlpSolution
from manip_dyn.planning.transcription.interior_point import gauss_newton_steps
from manip_dyn.planning.transcription.node_motion import (
    NodeLimits,
    NodeMotion,
    NodeScheme,
    NodeWork,
    central_differences,
    empty_node_motion,
    empty_node_work,
    inverse_kernels_of,
    slow_enough,
)
from manip_dyn.robot import Robot

FIRST_WEIGHT, LEAST_WEIGHT = 1e-2, 1e-5
"""Weights of the barrier; each active limit increases the duration by about this fraction."""
STEPS = 120
ROOM = 0.3
"""Smallest relative distance of an initial guess from an effort or speed limit."""
SLOWER = 30.0
"""Factor by which guesses are slower than this distance requires; slow guesses lead to more
distinct motions."""
INSIDE = 1e-2
"""Smallest distance of an initial guess from a position limit, relative to the distance of the
motion."""
SATURATED = 0.97
"""Normalized effort above which efforts are full, apart from the effect of the barrier."""
SAME_TIME, SAME_PLACE = 1e-3, 0.02
"""Ratio of durations, and relative distance, within which two motions are equal."""


class GridMotion(NamedTuple):
    """A nearly optimal motion on a grid.

    Attributes:
        duration: Duration, s.
        q: Positions (nodes, n).
        u: Normalized efforts between the nodes (nodes - 1, n).
        pressure: Multipliers of position and speed limits (nodes, 2 n), positive at upper limits.
        swing: Midway displacement (n,) of the initial guess.
    """

    duration: float
    q: Matrix
    u: Matrix
    pressure: Matrix
    swing: Vector

    def as_solution(self) -> SlpSolution:
        """Convert the motion to an SLP solution without costates."""
        n = self.q.shape[1]
        speeds = np.gradient(self.q, self.duration / len(self.u), axis=0)
        speeds[[0, -1]] = 0.0
        states, costate = np.hstack([self.q, speeds]), np.zeros(2 * n)
        u = np.where(np.abs(self.u) > SATURATED, np.sign(self.u), self.u)
        return SlpSolution(u, self.duration, costate, 0.0, states, self.pressure)

    def is_like(self, duration: float, q: Matrix) -> bool:
        """Return whether a motion with this duration, s, and positions is equal up to the grid."""
        if not abs(log(duration / self.duration)) < SAME_TIME:
            return False
        away = np.abs(q - self.q).max() / max(np.ptp(q, axis=0).max(), 1e-30)
        return bool(away < SAME_PLACE)


class _Arrays(NamedTuple):
    """Work arrays shared by consecutive searches; no search reads earlier results."""

    here: NodeMotion
    there: NodeMotion
    work: NodeWork
    room: Matrix
    scheme: NodeScheme


@lru_cache(maxsize=16)
def _arrays(n: int, nodes: int, _thread: int) -> _Arrays:
    """Allocate the work arrays of one thread; cached."""
    here, there = (by_reference(empty_node_motion(n, nodes)) for _ in range(2))
    work, room = by_reference(empty_node_work(n, nodes)), np.zeros((nodes, 2 * n))
    return _Arrays(here, there, work, room, central_differences(n, nodes))


class GridSearch:
    """Search for motions between one start and one goal.

    Attributes:
        guesses: Number of initial guesses tried.
        motions: Distinct solutions, fastest first.
    """

    def __init__(
        self,
        robot: Robot,
        q0: Vector,
        qf: Vector,
        cells: int = CELLS,
        least_weight: float = LEAST_WEIGHT,
    ):
        """Prepare motions from rest at `q0` (n,) to rest at `qf` (n,), on `cells` cells."""
        self._least_weight = least_weight
        self.guesses, self.motions = 0, list[GridMotion]()
        n, nodes = robot.n, cells + 1
        self._q0, self._qf, self._kernels = q0, qf, inverse_kernels_of(robot)
        scale = np.full(n, max(float(np.abs(qf - q0).max()), 1e-9))
        tau, low, high, v = (
            np.array(limit) for limit in (robot.tau_max, robot.q_min, robot.q_max, robot.v_max)
        )
        self._here, self._there, self._work, room, scheme = _arrays(n, nodes, get_ident())
        self._limits = by_reference(NodeLimits(tau, low, high, v, scale, room, scheme))
        z = np.linspace(0.0, 1.0, nodes)[:, None]
        eased = z - np.sin(2.0 * np.pi * z) / (2.0 * np.pi)
        self._straight, self._bump = q0 + (qf - q0) * eased, np.sin(np.pi * z) ** 2
        self._low, self._high = low + INSIDE * scale, high - INSIDE * scale

    def search(self, swings: Iterable[Vector], budget: float = inf) -> None:
        """Solve from detours (n,) for at most `budget` s, and collect the distinct motions."""
        until = monotonic() + budget
        for swing in swings:
            self.guesses += 1
            if self._solve(swing) and not self._is_known():
                self.motions.append(self._motion(swing))
            if monotonic() > until:
                break
        self.motions.sort(key=lambda motion: motion.duration)

    def solved(self, swing: Vector) -> GridMotion | None:
        """Return the solution from a smooth motion with a midway displacement (n,), or None."""
        return self._motion(swing) if self._solve(swing) else None

    def _solve(self, swing: Vector) -> bool:
        """Write the solution from a smooth motion; return whether the solver succeeded."""
        if not self._begin(swing):
            return False
        steps, _, _ = gauss_newton_steps(
            self._kernels,
            self._limits,
            self._here,
            self._there,
            self._work,
            FIRST_WEIGHT,
            self._least_weight,
            STEPS,
            2.0 * self._q0.size,
        )
        return steps >= 0

    def _is_known(self) -> bool:
        """Return whether the last solution is already in `motions`."""
        duration, q = exp(self._here.log_duration[0]), self._here.q
        return any(motion.is_like(duration, q) for motion in self.motions)

    def _motion(self, swing: Vector) -> GridMotion:
        """Convert the last solution to a `GridMotion`."""
        here, n = self._here, self._q0.size
        normalized = here.tau / self._limits.tau
        u = np.clip(0.5 * (normalized[1:] + normalized[:-1]), -1.0, 1.0)
        force = np.where(self._work.force > here.slack, self._work.force, 0.0)
        pressure = force[:, 3 * n : 6 * n] - force[:, 2 * n : 5 * n]
        pressure = np.hstack([pressure[:, :n] / self._limits.scale, pressure[:, 2 * n :]])
        return GridMotion(exp(here.log_duration[0]), here.q.copy(), u, pressure, swing)

    def _begin(self, swing: Vector) -> bool:
        """Write a sufficiently slow smooth motion; return whether it is within the limits."""
        here, limits = self._here, self._limits
        q = here.q
        np.multiply(swing, self._bump, out=q)
        q += self._straight
        np.clip(q[1:-1], self._low, self._high, out=q[1:-1])
        q[0], q[-1] = self._q0, self._qf
        self._there.q[:] = q
        if not slow_enough(self._kernels, limits, here, self._work, ROOM):
            return False
        here.log_duration[0] += log(SLOWER)
        return True
