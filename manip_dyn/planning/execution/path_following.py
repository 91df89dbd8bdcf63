"""Motions along the path of a plan at a variable rate.

An arm that lags behind its plan, leads, or has left it, follows the path of the plan with another
timing. The rate r = ds/dt of the plan time s is feasible if the efforts of `EffortModel` satisfy
their limits. A backward pass over the cells of the path computes the largest rate from which the
rest of the path is feasible. A forward pass uses the largest feasible change of the rate (Pham,
Pham, "A new approach to time-optimal path parameterization based on reachability analysis", 2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.control.state_estimation import SIGMAS
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.planning.execution.effort_model import EffortModel, PathComponents, PathEfforts
from manip_dyn.planning.execution.sampled_motion import SampledMotion, cell_boundaries
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot

CELLS = 300
"""Number of cells of the path without those for effort jumps."""
LARGEST_CHANGE = 1e3
"""Largest change of the rate in cells whose efforts do not depend on it, 1/s."""
SLOWEST = 0.02
"""Lowest rate at which the path is followed."""
STARTING = 2e-3
"""Plan time after the start of a motion in which the rate from rest may be lower, s."""
FASTEST = 1.2
"""Highest rate at which a motion starts."""
SPEED_LAG = 0.03
"""Speed error, as a fraction of the speed limit, above which the motion changes."""
MOST_MARGIN = 0.7
"""Largest fraction of the speeds that remains unused because of speed errors."""
RECOVERY = 0.5
"""Time constant with which a margin of the speeds decays, s of the plan."""
BISECTIONS = 20
"""Number of bisections for the largest rate of a cell."""
ITERATIONS = 2
"""Number of Newton iterations for the nearest point."""
SHORTEST_CELL = 1e-6
"""Shortest first cell of a motion, s of the plan."""
ROUNDING = 1e-9
"""Relative excess of the effort limits that is due to rounding."""


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
    """Motion along a path.

    Attributes:
        motion: The motion.
        plan_times: Plan times (k + 1,) at the boundaries of its cells, s.
        slowest: Lowest rate at the boundaries after `STARTING`, without the last one unless the
            path ends there.
    """

    motion: SampledMotion
    plan_times: Vector
    slowest: float

    def after(self, lead: Sequence[PathPoint], offsets: Vector, efforts: Matrix) -> PathMotion:
        """Return this motion after another one along the path.

        Args:
            lead: Points (k + 1) of the other motion; the last one is the start of this one.
            offsets: Times at these points (k + 1,), s.
            efforts: Efforts between these points (k, n), N m or N.
        """
        motion, first = self.motion, lead[:-1]
        if not first:
            return self
        motion = SampledMotion(
            np.append(offsets[:-1], offsets[-1] + motion.times),
            np.concatenate([[point.q for point in first], motion.q]),
            np.concatenate([[point.v for point in first], motion.v]),
            np.concatenate([efforts, motion.efforts]),
            motion.hold,
            efforts[0],
        )
        times = np.append([point.time for point in first], self.plan_times)
        return PathMotion(motion, times, self.slowest)


class SpeedMargin:
    """Fraction of the speeds that a motion leaves unused after a joint was too fast.

    The margin is the largest excess over the speeds of the motion. It decays within `RECOVERY`.
    """

    def __init__(self, robot: Robot):
        """Start without a margin."""
        self._limit, self._margin, self._time = robot.v_max, 0.0, 0.0

    def errors(self, noise: Vector) -> Vector:
        """Return speed errors (n,) above which a motion changes, given the noise (n,)."""
        return SPEED_LAG * self._limit + SIGMAS * noise

    def note(self, t: float, excess: Vector, noise: Vector) -> None:
        """Record the excess of the speeds (n,) at time `t` (s), given their noise (n,)."""
        fraction = float(((excess - SIGMAS * noise) / self._limit).max())
        self._margin, self._time = min(max(fraction, self.at(t)), MOST_MARGIN), t

    def leave(self, t: float, fraction: float) -> None:
        """Set the margin at time `t` (s) to at least a fraction."""
        self._margin, self._time = max(self.at(t), fraction), t

    def at(self, t: float) -> float:
        """Return the margin at time `t`, s."""
        return self._margin * math.exp((self._time - t) / RECOVERY)


class PlanPath:
    """Path of a plan: nearest points, and motions along it."""

    def __init__(self, robot: Robot, plan: Plan, reference: SampledMotion):
        """Sample the path of a plan from the reference, which is the sampled plan."""
        self._robot, self._kernels = robot, customize(robot).unchecked
        spacing = plan.t_final / CELLS
        times = cell_boundaries(plan, spacing) if plan.t_final else np.zeros(1)
        q, v = reference.states(times)
        self._samples = SampledMotion(times, q, v, q[:0], plan.hold, plan.hold)
        durations = np.diff(times)
        middles = 0.5 * (q[:-1] + q[1:]), 0.5 * (v[:-1] + v[1:])
        accelerations = np.diff(v, axis=0) / durations[:, None]
        self._components = PathComponents.of(robot, *middles, accelerations)
        self._t_final, self._goal = plan.t_final, plan.qf

    def nearest(self, time: float, q: Vector) -> PathPoint:
        """Return the nearest point of the path to the positions `q` (n,).

        The search starts at the plan time `time` (s) and stops at the first minimum of the
        distance. The metric is the kinetic energy.
        """
        times, path = self._samples.times, self._samples.q
        mass = self._kernels.mass_matrix(q)
        away = path - q
        distance = np.einsum("ki,ij,kj->k", away, mass, away)
        k = min(self._samples.cell(time), len(distance) - 1)
        while k + 1 < len(distance) and distance[k + 1] < distance[k]:
            k += 1
        while k > 0 and distance[k - 1] < distance[k]:
            k -= 1
        nearest = float(times[k])
        low, high = float(times[max(k - 1, 0)]), float(times[min(k + 1, len(distance) - 1)])
        for _ in range(ITERATIONS):
            there, speed = self._state(nearest)
            along = mass @ speed
            energy = float(speed @ along)
            if energy > 0.0:
                nearest = min(max(nearest + float((q - there) @ along) / energy, low), high)
        there, speed = self._state(nearest)
        return PathPoint(nearest, there, speed, float(np.abs(there - q).max()))

    def rate(self, point: PathPoint, v: Vector) -> float:
        """Return the rate at which an arm with the velocities `v` (n,) moves along the path."""
        along = self._kernels.mass_matrix(point.q) @ point.v
        energy = float(point.v @ along)
        return min(max(float(v @ along) / energy, 0.0), FASTEST) if energy > 0.0 else 0.0

    def follow(
        self,
        time: float,
        rate: float,
        model: EffortModel,
        fraction: float,
        fastest: float = 1.0,
        margin: float = 0.0,
    ) -> PathMotion:
        """Return the fastest motion along the rest of the path.

        Args:
            time: Plan time at the start, s.
            rate: Rate at the start. At a point where the plan is at rest, any rate is possible.
            model: Masses and friction of the arm.
            fraction: Fraction of the effort limits that the motion may use. If the rate is too
                high for this fraction, the motion brakes with the full limits.
            fastest: Largest rate.
            margin: Fraction of the speeds that remains unused. It decays within `RECOVERY`.
        """
        return self._timed(time, rate, model, fraction, fastest, margin, brakes=False)

    def brake(self, time: float, rate: float, model: EffortModel, fraction: float) -> PathMotion:
        """Return the motion that brakes along the path; see `follow` for the arguments.

        It ends at rest, or at the end of the path if the efforts do not suffice to stop before.
        """
        return self._timed(time, rate, model, fraction, FASTEST, 0.0, brakes=True)

    def _state(self, time: float) -> tuple[Vector, Vector]:
        if time >= self._t_final:
            return self._samples.q[-1], self._samples.v[-1]
        return self._samples.state(time)

    def _timed(
        self,
        time: float,
        rate: float,
        model: EffortModel,
        fraction: float,
        fastest: float,
        margin: float,
        brakes: bool,
    ) -> PathMotion:
        robot = self._robot
        boundaries = self._samples.times
        first = int(boundaries.searchsorted(time + SHORTEST_CELL, side="right"))
        times = np.append(time, boundaries[first:])
        if len(times) == 1:
            standing = SampledMotion.standing(self._goal, model.holding(robot, self._goal))
            return PathMotion(standing, times, fastest)
        components = PathComponents(*(rows[first - 1 :] for rows in self._components))
        efforts = components.efforts(model)
        checked, reserved = efforts, fraction * robot.tau_max
        if model.cautious is not model:
            pairs = zip(efforts, components.efforts(model.cautious), strict=True)
            checked = PathEfforts(*(np.hstack(pair) for pair in pairs))
            reserved = np.tile(reserved, 2)
        if not self._state(time)[1].any():
            rate = 0.0 if brakes else np.inf  # any rate
        squares, changes = np.full(len(times), rate**2), np.zeros(len(times) - 1)
        arrays = (*checked, reserved, robot.tau_max, times, squares, changes)
        caps = fastest * (1.0 - margin * np.exp((time - times) / RECOVERY))
        count = time_path(*arrays, caps**2, brakes)
        times, squares, changes = times[: count + 1], squares[: count + 1], changes[:count]
        rates, ends = np.sqrt(squares), times[-1] == self._t_final
        rows = slice(first - 1, first + count)
        q, v = self._samples.q[rows].copy(), self._samples.v[rows].copy()
        for end in (0, -1):
            q[end], v[end] = self._state(float(times[end]))
        hold = model.holding(robot, q[-1])
        if count == 0:
            return PathMotion(SampledMotion.standing(q[0], hold), times, rate)
        middle = 0.5 * (rates[:-1] + rates[1:])
        begins = np.append(0.0, np.cumsum(np.diff(times) / middle))
        part = PathEfforts(*(rows[:count] for rows in efforts))
        used = part.at(0.5 * (squares[:-1] + squares[1:]), middle, changes)
        used = np.clip(used, -robot.tau_max, robot.tau_max)
        motion = SampledMotion(begins, q, rates[:, None] * v, used, hold, used[0])
        started = rates[np.searchsorted(times, time + STARTING) : None if ends else -1]
        slowest = float(started.min(initial=fastest))
        return PathMotion(motion, times, slowest)


@compiled(short=True)
def time_path(
    quadratic,
    linear,
    static,
    tangent,
    doubt,
    reserved,
    limit,
    times,
    squares,
    changes,
    caps,
    brakes,
):
    """Compute the rates along a path.

    Args:
        quadratic: Coefficients (k, m) of r^2, see `PathEfforts`.
        linear: Coefficients (k, m) of r.
        static: Efforts (k, m) at rest.
        tangent: Coefficients (k, m) of u.
        doubt: Friction (k, m) that may not help to brake.
        reserved: Effort limits (m,) minus the reserve for the feedback.
        limit: Effort limits (n,) if the reserved ones are infeasible, for the first n columns.
        times: Plan times (k + 1,) at the boundaries of the cells, s. If the motion ends within a
            cell, the end of this cell is replaced.
        squares: Squared rates (k + 1,): the first entry is input, the others are output.
        changes: Output: changes u of the rate in the cells (k,), 1/s.
        caps: Largest squared rates (k + 1,).
        brakes: Whether the motion brakes, or is as fast as possible.

    Returns:
        The number of cells until the arm is at rest.
    """
    count = times.size - 1
    controllable = caps.copy()
    for k in range(count - 1, -1, -1):
        if brakes:
            break
        span, after = times[k + 1] - times[k], controllable[k + 1]
        low, high = 0.0, caps[k]
        for step in range(BISECTIONS):
            middle = high if step == 0 else 0.5 * (low + high)
            least, most = bounds(quadratic, linear, static, tangent, doubt, k, middle, reserved)
            if least <= min(most, (after - middle) / (2.0 * span)):
                low = middle
                if step == 0:
                    break
            else:
                high = middle
        controllable[k] = low
    squares[0] = min(squares[0], controllable[0]) if np.isinf(squares[0]) else squares[0]
    for k in range(count):
        span, square = times[k + 1] - times[k], squares[k]
        if brakes and square <= 0.0:
            return k
        least, most = bounds(quadratic, linear, static, tangent, doubt, k, square, reserved)
        goal = -LARGEST_CHANGE if brakes else (controllable[k + 1] - square) / (2.0 * span)
        change = min(max(goal, least), most)
        if least > most or (change > goal and not brakes) or (brakes and change > 0.0):
            least, most = bounds(quadratic, linear, static, tangent, doubt, k, square, limit)
            # If no change is feasible, that nearest to 0 divides the excess between the joints.
            nearest = 0.0 if least > most else goal
            change = min(max(nearest, min(least, most)), max(least, most))
            if brakes:
                change = min(change, 0.0)
        following = square + 2.0 * change * span
        if brakes and following <= 0.0:
            changes[k], squares[k + 1] = change, 0.0
            times[k + 1] = times[k] - 0.5 * square / change
            return k + 1
        if following < SLOWEST**2 and not brakes:
            following = SLOWEST**2
            change = (following - square) / (2.0 * span)
        changes[k], squares[k + 1] = change, following
    return count


@compiled(short=True, python=False)
def bounds(quadratic, linear, static, tangent, doubt, k, square, limit):
    """Return the least and the largest change u of the rate (1/s) in a cell within limits (n,).

    The least exceeds the largest if no change is feasible.
    """
    least, most, rate = -LARGEST_CHANGE, LARGEST_CHANGE, np.sqrt(square)
    for i in range(limit.size):
        base = square * quadratic[k, i] + rate * linear[k, i] + static[k, i]
        bound, slope = limit[i] * (1.0 + ROUNDING), tangent[k, i]
        low, high = max(doubt[k, i], 0.0) - bound - base, min(doubt[k, i], 0.0) + bound - base
        if abs(slope) > 1e-9 * limit[i]:
            least = max(least, min(low / slope, high / slope))
            most = min(most, max(low / slope, high / slope))
        elif low > 0.0 or high < 0.0:
            return 1.0, -1.0
    return least, most
