"""Motions along the path of a plan, for an arm that has left the plan.

The arm brakes along the path, and later continues from rest. At the rate r = ds/dt of the plan
time s, with u = dr/dt, the path requires the efforts::

    r^2 (moving - static) + static + u tangent

`moving` are the efforts at the rate 1 and `static` those at rest. This overestimates the damping
at lower rates. The effort limits therefore limit u for a given r (Pham, Pham, "A new approach to
time-optimal path parameterization based on reachability analysis", 2018).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.sampled_motion import SampledMotion, cells
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot

CELLS = 150
"""Number of cells of the path without those for effort jumps. Plans with more jumps have no cells
for them."""
BRAKING_FRACTIONS = (0.9, 1.0)
"""Fractions of the effort limits that a braking motion may use, in order of trial."""
EFFORT_FRACTIONS = (0.7, 0.85, 0.98)
"""Fractions of the effort limits that other motions may use, in order of trial."""
LARGEST_CHANGE = 1e3
"""Largest u where the plan is at rest, 1/s."""
SLOWEST = 0.02
"""Lowest rate at which the path is followed."""
FASTEST = 1.5
"""Highest rate at which a braking motion starts."""


class PathPoint(NamedTuple):
    """Point of a path.

    Attributes:
        time: Plan time, s.
        q: Positions (n,), rad or m.
        v: Velocities of the plan (n,), rad/s or m/s.
        distance: Largest distance of a joint from this point, rad or m.
    """

    time: float
    q: Vector
    v: Vector
    distance: float


class PathMotion(NamedTuple):
    """Motion along a path, and the plan times (k + 1,) at the boundaries of its cells, s."""

    motion: SampledMotion
    plan_times: Vector


class PathRecovery:
    """Braking on the path of a plan, and continuation from a point of the path."""

    def __init__(self, robot: Robot, plan: Plan, reference: SampledMotion):
        """Sample the path of a plan from the reference, which is the sampled plan."""
        self._robot, self._limit = robot, robot.tau_max
        self._kernels, self._zero = customize(robot).unchecked, np.zeros(robot.n)
        knots = plan.knots if len(plan.knots) < CELLS else np.zeros(1)
        self._times = cells(knots, plan.t_final, plan.t_final / CELLS)
        states = [reference.state(float(time)) for time in self._times]
        self._q, self._v = (np.array(rows) for rows in zip(*states, strict=True))
        self._efforts = [self._cell_efforts(k) for k in range(len(self._times) - 1)]
        self._t_final, self._hold = plan.t_final, plan.hold

    def nearest(self, time: float, q: Vector) -> PathPoint:
        """Return the nearest point of the path to the positions `q` (n,).

        The search starts at the plan time `time` (s) and stops at the first minimum of the
        distance. The metric is the kinetic energy.
        """
        mass = self._kernels.mass_matrix(q)
        away = self._q - q
        distance = np.einsum("ki,ij,kj->k", away, mass, away)
        k = min(self._cell(time), len(distance) - 1)
        while k + 1 < len(distance) and distance[k + 1] < distance[k]:
            k += 1
        while k > 0 and distance[k - 1] < distance[k]:
            k -= 1
        along = mass @ self._v[k]
        energy = float(self._v[k] @ along)
        nearest = float(self._times[k])
        if energy > 0.0:
            shift = -float(away[k] @ along) / energy
            low, high = self._times[max(k - 1, 0)], self._times[min(k + 1, len(distance) - 1)]
            nearest = min(max(nearest + shift, float(low)), float(high))
        there, speed = self._state(nearest)
        return PathPoint(nearest, there, speed, float(np.abs(there - q).max()))

    def rate(self, point: PathPoint, v: Vector) -> float:
        """Return the rate at which an arm with the velocities `v` (n,) moves along the path."""
        along = self._kernels.mass_matrix(point.q) @ point.v
        energy = float(point.v @ along)
        return min(max(float(v @ along) / energy, 0.0), FASTEST) if energy > 0.0 else 0.0

    def brake(self, time: float, rate: float) -> PathMotion:
        """Return a motion that brakes along the path.

        It ends at rest, or at the end of the path if the efforts do not suffice to stop before.

        Args:
            time: Plan time at the start, s.
            rate: Rate at the start.
        """
        times, squares = [time], [rate**2]
        for k in range(self._cell(time), len(self._times) - 1):
            duration = float(self._times[k + 1]) - times[-1]
            if squares[-1] <= 0.0 or duration <= 0.0:
                continue
            change = self._change(k, squares[-1])
            following = squares[-1] + 2.0 * change * duration
            if following <= 0.0:
                duration, following = -0.5 * squares[-1] / change, 0.0
            times.append(times[-1] + duration)
            squares.append(following)
        return self._sampled(np.array(times), np.array(squares))

    def resume(self, time: float, slower: float) -> PathMotion | None:
        """Return the motion from rest at a plan time (s) to the end of the path.

        The result is None if no rate of at least `SLOWEST` is feasible.

        Args:
            time: Plan time at the start, s.
            slower: Factor of the highest feasible rate, at most 1.
        """
        first = self._cell(time)
        for fraction in EFFORT_FRACTIONS:
            target = slower * self._constant_rate(first, fraction * self._limit)
            if target >= SLOWEST:
                break
        else:
            return None
        begins_at_rest = not np.any(self._state(time)[1])
        times, squares = [time], [target**2 if begins_at_rest else 0.0]
        for k in range(first, len(self._times) - 1):
            duration = float(self._times[k + 1]) - times[-1]
            if duration <= 0.0:
                continue
            b = squares[-1]
            _, most = self._changes(k, b, fraction * self._limit)
            most = max(most, 0.0)
            following = min(b + 2.0 * most * duration, target**2)
            times.append(float(self._times[k + 1]))
            squares.append(max(following, SLOWEST**2))
        return self._sampled(np.array(times), np.array(squares))

    def _cell(self, time: float) -> int:
        return max(int(self._times.searchsorted(time, side="right")) - 1, 0)

    def _cell_efforts(self, k: int) -> tuple[Vector, Vector, Vector]:
        """Return the efforts (n,) in a cell: moving minus static, static, and tangent."""
        efforts, duration = self._kernels.inverse_dynamics, self._times[k + 1] - self._times[k]
        q, v = (0.5 * (rows[k] + rows[k + 1]) for rows in (self._q, self._v))
        static = efforts(q, self._zero, self._zero)
        moving = efforts(q, v, (self._v[k + 1] - self._v[k]) / duration)
        return moving - static, static, efforts(q, self._zero, v) - static

    def _changes(self, k: int, square: float, limit: Vector) -> tuple[float, float]:
        """Return the least and the largest u (1/s) in a cell within effort limits (n,).

        The least exceeds the largest if no u is feasible.
        """
        moving, static, tangent = self._efforts[k]
        base = square * moving + static
        acts = np.abs(tangent) > 1e-9 * self._limit
        if not acts.any():
            return -LARGEST_CHANGE, LARGEST_CHANGE
        base, tangent, limit = base[acts], tangent[acts], limit[acts]
        ends = np.sort(np.array([(-limit - base) / tangent, (limit - base) / tangent]), axis=0)
        return float(ends[0].max()), float(ends[1].min())

    def _change(self, k: int, square: float) -> float:
        """Return the least feasible u (1/s) for braking in a cell; 0 if none is below 0."""
        for fraction in BRAKING_FRACTIONS:
            least, most = self._changes(k, square, fraction * self._limit)
            if least < 0.0 and least <= most:
                return least
        return 0.0

    def _constant_rate(self, first: int, limit: Vector) -> float:
        """Return the highest constant rate, at most 1, within the limits (n,) from a cell."""
        least = 1.0
        for k in range(first, len(self._times) - 1):
            moving, static, _ = self._efforts[k]
            available = limit * np.sign(moving) - static
            acts = np.abs(moving) > 1e-9 * self._limit
            if acts.any():
                least = min(least, float((available[acts] / moving[acts]).min()))
        return math.sqrt(max(least, 0.0))

    def _state(self, time: float) -> tuple[Vector, Vector]:
        if len(self._times) == 1:
            return self._q[0], self._v[0]
        k = min(self._cell(time), len(self._times) - 2)
        h = self._times[k + 1] - self._times[k]
        s = (time - self._times[k]) / h
        rise, here, there = self._q[k + 1] - self._q[k], h * self._v[k], h * self._v[k + 1]
        bent, turned = 3.0 * rise - 2.0 * here - there, here + there - 2.0 * rise
        q = self._q[k] + s * (here + s * (bent + s * turned))
        return q, (here + s * (2.0 * bent + 3.0 * s * turned)) / h

    def _sampled(self, times: Vector, squares: Vector) -> PathMotion:
        """Return the motion with squared rates (k + 1,) at plan times (k + 1,), s."""
        efforts, zero = self._kernels.inverse_dynamics, self._zero
        rates = np.sqrt(squares)
        states = [self._state(time) for time in times]
        q = np.array([there for there, _ in states])
        v = np.array([rate * speed for rate, (_, speed) in zip(rates, states, strict=True)])
        hold = self._hold if times[-1] == self._t_final else efforts(q[-1], zero, zero)
        if len(times) == 1:
            return PathMotion(SampledMotion.standing(q[0], hold), times)
        durations = 2.0 * np.diff(times) / (rates[:-1] + rates[1:])
        middles = zip(
            0.5 * (q[:-1] + q[1:]),
            0.5 * (v[:-1] + v[1:]),
            np.diff(v, axis=0) / durations[:, None],
            strict=True,
        )
        rows = np.array([efforts(*row) for row in middles])
        begins = np.concatenate([[0.0], np.cumsum(durations)])
        return PathMotion(SampledMotion(begins, q, v, rows, hold, rows[0]), times)
