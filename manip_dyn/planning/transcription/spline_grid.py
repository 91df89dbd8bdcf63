"""The fastest spline near another, on one grid, by interior points."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log
from typing import Any

import numpy as np

from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.interior_points.interior_point import interior_point
from manip_dyn.planning.interior_points.newton import newton_steps
from manip_dyn.planning.interior_points.node_motion import (
    NodeLimits,
    inverse_kernels_of,
    measure,
    node_motion_of,
    node_work_of,
    slow_enough,
)
from manip_dyn.planning.interior_points.node_scheme import cubic_spline
from manip_dyn.planning.transcription.solved import SETTLED, Solved
from manip_dyn.planning.transcription.spline import Ends, Spline
from manip_dyn.robot import Robot

INSIDE = 1e-2
"""Least distance of an initial guess from a limit of position, over the motion's distance."""
ROOM, SLOWER = 0.3, 30.0
"""Least distance of an initial guess from a limit of effort or speed, and how much slower still
a motion from rest to rest begins."""
DURATIONS = np.geomspace(1e-2, 1e2, 120)
"""Durations of initial guesses for moving arms, s."""
FIRST_SLOWER, MOST_SLOWER = 1e-6, 0.5
"""By how much a motion is made slower to be within its limits: doubled up to the second."""
STEPS, NEWTON_STEPS, NEWTON_WORK = 150, 400, 1_800_000
"""Most steps; steps with curvature on a fine grid times its cells and joints."""
HURRY = 10.0
"""Promised fall over the barrier's weight by which the steps of a rough search are over."""
APART = 1e-3
"""Least distance from limits where a motion is brought within them, over the limit."""
RELAXATIONS, CENTERING = 60, 8
"""How often limits are moved towards what they are, by how many steps each."""
PUSH = 10.0
"""Weight of the barrier that does so on fine grids, over what is lacking in a cell."""


class SplineGrid:
    """A grid of equal cells between two states.

    Attributes:
        room: Shares of the limits of effort (nodes, 2 n) to keep off from below and above.
    """

    def __init__(self, robot: Robot, ends: Ends, cells: int):
        """Lay down the arrays."""
        n, nodes = robot.n, cells + 1
        self._robot, self._ends, self._kernels = robot, ends, inverse_kernels_of(robot)
        scale = np.full(n, max(float(np.abs(ends.qf - ends.q0).max()), 1e-9))
        tau, low, high, v = (
            np.array(each) for each in (robot.tau_max, robot.q_min, robot.q_max, robot.v_max)
        )
        self.room = np.zeros((nodes, 2 * n))
        scheme = cubic_spline(ends.v0, ends.vf, nodes, np.array(ends.q0))
        self._shift = scheme.shift[1:-1]
        fields = NodeLimits(tau, low, high, v, scale, self.room, scheme)
        self._limits = by_reference(fields)
        self._here, self._there = (by_reference(node_motion_of(n, nodes)) for _ in range(2))
        for each in (self._here, self._there):
            each.q[0], each.q[-1] = 0.0, ends.qf - ends.q0
        self._work = by_reference(node_work_of(n, nodes))
        self._newton_steps = min(NEWTON_STEPS, NEWTON_WORK // (cells * n))

    def solved(
        self, near: Spline, first: float, last: float, curved: bool = False
    ) -> Solved | None:
        """Return the fastest motion near another one, which is made slower if it has to be.

        Args:
            near: The other motion, on a grid with as many cells.
            first: Weight of the barrier at first.
            last: At last.
            curved: Whether steps count the curvature of the limits.
        """
        self._here.q[1:-1] = near.inner - self._ends.q0 - near.duration * self._shift
        self._here.log_duration[0] = log(near.duration)
        lack = -self._least()
        if lack >= 0.0 and not self._slower():
            first = min(max(first, PUSH * lack / near.cells), 1.0)
            if not self._within(first, min(APART, lack), newton_steps):
                return None
        if curved:
            return self._improved(newton_steps, first, last, self._newton_steps, SETTLED)
        return self._improved(interior_point, first, last, STEPS, SETTLED)

    def _slower(self) -> bool:
        """Make a motion slower until it is within its limits; say if it is, else leave it.

        A moving arm keeps its speeds at the ends, which it may not be able to at leisure.
        """
        begun, slower = float(self._here.log_duration[0]), FIRST_SLOWER
        while slower < MOST_SLOWER:
            self._here.log_duration[0] = begun + slower
            if self._least() > 0.0:
                return True
            slower *= 2.0
        self._here.log_duration[0] = begun
        return False

    def from_guess(self, swing: Vector, first: float, last: float) -> Solved | None:
        """Return where a smooth motion leads that swings out (n,) midway, if it can be held."""
        here, limits, ends = self._here, self._limits, self._ends
        z = np.linspace(0.0, 1.0, len(here.q))[1:-1, None]
        straight = ends.q0 + (ends.qf - ends.q0) * (z - np.sin(2.0 * np.pi * z) / (2.0 * np.pi))
        straight += swing * np.sin(np.pi * z) ** 2
        room = np.minimum(INSIDE * limits.scale, 0.25 * (limits.high - limits.low))
        low, high = limits.low + room, limits.high - room
        if not np.any(ends.v0) and not np.any(ends.vf):
            here.q[1:-1] = np.clip(straight, low, high) - ends.q0
            if not slow_enough(self._kernels, limits, here, self._work, ROOM):
                return None
            here.log_duration[0] += log(SLOWER)
            return self._improved(interior_point, first, last, STEPS, HURRY)
        best, duration = -inf, 0.0
        for tried in DURATIONS:
            least = self._clipped(straight, tried, low, high)
            if least > best:
                best, duration = least, tried
            if best > ROOM:
                break
        self._clipped(straight, duration, low, high)
        if not self._within(1.0, APART, interior_point):
            return None
        return self._improved(interior_point, first, last, STEPS, HURRY)

    def _clipped(self, beyond: Matrix, duration: float, low: Vector, high: Vector) -> float:
        """Write a motion that drifts, within limits of position; return the least distance."""
        away = duration * self._shift
        self._here.q[1:-1] = np.clip(beyond + away, low, high) - away - self._ends.q0
        self._here.log_duration[0] = log(duration)
        return self._least()

    def _within(self, weight: float, apart: float, steps: Callable[..., Any]) -> bool:
        """Bring the motion within all limits by moving them there bit by bit; say if it works.

        Args:
            weight: Of the barrier that keeps it off.
            apart: How far within, over the limits.
            steps: What makes it keep off.
        """
        limits, robot = self._limits, self._robot
        for _ in range(RELAXATIONS):
            limits.tau[:], limits.v[:] = robot.tau_max, robot.v_max
            least = self._least()
            if least > apart:
                return True
            beyond = 1.0 - 1.02 * least + 2.0 * apart
            limits.tau[:], limits.v[:] = beyond * robot.tau_max, beyond * robot.v_max
            if not self._least() > 0.0:
                break
            steps(
                self._kernels,
                limits,
                self._here,
                self._there,
                self._work,
                weight,
                weight,
                CENTERING,
                0.1,
            )
        limits.tau[:], limits.v[:] = robot.tau_max, robot.v_max
        return False

    def _least(self) -> float:
        return measure(self._kernels, self._limits, self._here, self._work)

    def _improved(
        self, method: Callable[..., Any], first: float, last: float, most: int, settled: float
    ) -> Solved | None:
        here, n = self._here, self._robot.n
        steps, weight, promised = method(
            self._kernels,
            self._limits,
            here,
            self._there,
            self._work,
            first,
            last,
            most,
            settled,
        )
        if steps < 0:
            return None
        duration = exp(here.log_duration[0])
        inner = self._ends.q0 + here.q[1:-1] + duration * self._shift
        spline = Spline.between(self._ends, inner, duration)
        force = weight / here.slack
        return Solved(
            spline,
            weight,
            promised,
            int(np.count_nonzero(force)),
            force[:, n : 2 * n] - force[:, :n],
            force[:, 5 * n :] - force[:, 4 * n : 5 * n],
            force[:, 3 * n : 4 * n] - force[:, 2 * n : 3 * n],
            float(self._limits.scale[0]),
            method is newton_steps,
        )
