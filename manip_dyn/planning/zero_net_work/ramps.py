"""Efforts with finite ramps, and the motion of an arm under these efforts.

The effort of each joint starts at the value that holds the arm at the start, passes through a few
levels, and ends at the value that holds the arm at the goal. Between levels it changes at the slew
rate::

    hold -> first level -> (the switch is the middle of this ramp) -> second level -> ... -> hold

Two levels and one switch are bang-bang control with ramps. With three levels a joint can cruise
between acceleration and braking. A motion is defined by the vector x. It contains the levels
(levels, n) divided by the effort limits, the switches (levels - 1, n) divided by the duration, and
the duration divided by a time scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.arrays import address_of, call_returning
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.results import PickledByArguments
from manip_dyn.integration import METHODS, Engine, Options, compile_engine
from manip_dyn.planning.plan import Samples, append_if_changed
from manip_dyn.robot import Robot


@dataclass(frozen=True, eq=False)
class Ramps:
    """Common parameters of all motions with ramps between two postures.

    Attributes:
        begin: Efforts (n,) that hold the arm at the start, N m or N.
        end: Efforts (n,) that hold the arm at the goal, N m or N.
        limit: Effort limits (n,), N m or N.
        slew_rate: Maximum rate of each effort (n,), N m/s or N/s.
        scale: Time scale of the duration, s.
        levels: Number of levels of each joint.
    """

    begin: Vector
    end: Vector
    limit: Vector
    slew_rate: Vector
    scale: float
    levels: int = 2

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.limit)

    def duration(self, x: Vector) -> float:
        """Return the duration of a motion `x`, s."""
        return float(x[-1] * self.scale)

    def bounds(self) -> tuple[Vector, Vector]:
        """Return the lower and upper bounds of the components of x."""
        efforts, switches = self.levels * self.n, (self.levels - 1) * self.n
        low = np.concatenate([-np.ones(efforts), np.zeros(switches + 1)])
        return low, np.concatenate([np.ones(efforts + switches), [np.inf]])

    def joined(self, levels: Vector, switches: Vector, t_final: float) -> Matrix:
        """Return the parameters x of a motion from its levels, switches and duration.

        Args:
            levels: Efforts of the levels (levels, n), N m or N.
            switches: Times of the switches (levels - 1, n), s.
            t_final: Duration, s.
        """
        shares = np.concatenate([(levels / self.limit).ravel(), (switches / t_final).ravel()])
        return np.append(shares, t_final / self.scale)

    def parted(self, x: Vector) -> tuple[Vector, Vector]:
        """Return the levels (levels, n) and the switches (levels - 1, n), s, of a motion x."""
        shares = x[:-1].reshape(-1, self.n)
        return shares[: self.levels] * self.limit, shares[self.levels :] * self.duration(x)

    def with_middle(self, x: Vector) -> tuple[Ramps, Vector]:
        """Return common parameters and x of the same motion with three levels instead of two.

        The middle level is on the ramp between the two levels.
        """
        (first, second), (switch,) = self.parted(x)
        quarter = 0.25 * np.abs(second - first) / self.slew_rate
        ramps = replace(self, levels=3)
        levels = np.array([first, 0.5 * (first + second), second])
        switches = np.array([switch - quarter, switch + quarter])
        return ramps, ramps.joined(levels, switches, self.duration(x))

    def corners(self, x: Vector) -> Corners:
        """Return the corners of a motion `x`, between which each effort is linear."""
        levels, switches = self.parted(x)
        efforts = np.vstack([self.begin, levels, self.end])
        ramps, t_final = np.abs(efforts[1:] - efforts[:-1]) / self.slew_rate, self.duration(x)
        times = np.empty((len(ramps), 2, self.n))
        begins, ends = times[:, 0], times[:, 1]
        begins[0], ends[0] = 0.0, ramps[0]
        begins[1:-1], ends[1:-1] = switches - 0.5 * ramps[1:-1], switches + 0.5 * ramps[1:-1]
        begins[-1], ends[-1] = t_final - ramps[-1], t_final
        return Corners(times.reshape(-1, self.n).T, np.repeat(efforts, 2, 0)[1:-1].T)


class Corners:
    """Times and efforts at the starts and ends of the ramps of a motion.

    Attributes:
        times: Times of each joint (n, 2 levels + 2), s. They decrease where ramps overlap.
        levels: Efforts at these times (n, 2 levels + 2), N m or N.
    """

    def __init__(self, times: Matrix, levels: Matrix):
        """Initialize from the times and efforts of the corners."""
        self.times, self.levels, self._t_final = times, levels, times[0, -1]
        inside = np.minimum(np.maximum(times, 0.0), self._t_final)
        self._rising = np.maximum.accumulate(inside, axis=1)

    @property
    def room(self) -> Vector:
        """Duration of each level of each joint (levels n,), s; negative where ramps overlap."""
        return (self.times[:, 2::2] - self.times[:, 1:-1:2]).ravel()

    @property
    def edges(self) -> Vector:
        """Times (k,) at which a ramp of any joint starts or ends, s."""
        return np.unique(np.minimum(np.maximum(self.times.ravel(), 0.0), self._t_final))

    def efforts(self, at: Vector) -> Matrix:
        """Return the efforts (k, n) at times `at` (k,), s."""
        pairs = zip(self._rising, self.levels, strict=True)
        return np.array([np.interp(at, *pair) for pair in pairs]).T


class LinearEfforts(NamedTuple):
    """Efforts that are linear in time, and the dynamics of the arm.

    Attributes:
        motion: Address of the robot's motion kernel.
        first: Efforts (n,) at the start of an interval (0 s), N m or N.
        slope: Rates of the efforts (n,), N m/s or N/s.
        tau: Current efforts (n,); work array.
    """

    motion: int
    first: Vector
    slope: Vector
    tau: Vector


@compiled(merge=True)
def ramp_rates(t, y, p, out):
    """Write the rates (2 n,) of y = (q, v) under the efforts `p`, a `LinearEfforts`."""
    for i in range(p.tau.shape[0]):
        p.tau[i] = p.first[i] + t * p.slope[i]
    call_kernel(p.motion, (y, p.tau, out))


@compiled(short=True)
def integrate_ramps(run, times, efforts, space, ramp, states):
    """Integrate a motion from node to node.

    Args:
        run: Address of the time loop.
        times: Times of the nodes (k,), s.
        efforts: Efforts at the nodes (k, n), linear between them.
        space: Arrays of the time loop.
        ramp: Work data, a `LinearEfforts`.
        states: States (k, 2 n). The first one is the input, the others are the output.

    Returns:
        Whether the integration succeeded.
    """
    for k in range(times.shape[0] - 1):
        for i in range(states.shape[1]):
            states[k + 1, i] = states[k, i]
        duration = times[k + 1] - times[k]
        if duration > 0.0:
            for i in range(efforts.shape[1]):
                ramp.first[i] = efforts[k, i]
                ramp.slope[i] = (efforts[k + 1, i] - efforts[k, i]) / duration
            if call_returning(run, (0.0, duration, ramp, states[k + 1], space)) != 0:
                return False
    return True


class RampedFlow(PickledByArguments):
    """Integration of the motion of a robot under ramps, from node to node."""

    def __init__(self, robot: Robot):
        """Compile the time loop, or load it from the cache."""
        self._n, engine = robot.n, _ramp_engine(robot.n)
        self._space = engine.space(rtol=1e-12, atol=1e-13, max_steps=5000)
        (motion,), first = addresses(robot, "motion"), np.zeros((3, robot.n))
        self._ramp = LinearEfforts(motion, *first)
        y = np.empty(2 * robot.n)
        self._run = address_of(engine.run, 0.0, 0.0, self._ramp, y, self._space)

    def states(self, start: Vector, times: Vector, efforts: Matrix) -> Matrix:
        """Return the states (k, 2 n) at `times`; the last is NaN if the integration fails.

        Args:
            start: State (2 n,) at the first time.
            times: Increasing times (k,), s.
            efforts: Efforts (k, n) at the times, linear between them.
        """
        states = np.full((len(times), 2 * self._n), np.nan)
        states[0] = start
        if not integrate_ramps(self._run, times, efforts, self._space, self._ramp, states):
            states[-1] = np.nan
        return states


@lru_cache(maxsize=64)
def _ramp_engine(n: int) -> Engine:
    return compile_engine(ramp_rates, METHODS["rkdp87"], Options(size=2 * n, adaptive=True))


class RampedMotion:
    """Motion with efforts that change between levels in ramps."""

    def __init__(self, robot: Robot, ramps: Ramps, x: Vector, times: Vector, states: Vector):
        """Initialize from the parameters and the states of a motion.

        Args:
            robot: The arm.
            ramps: Common parameters of the motions.
            x: Parameters of this motion.
            times: Times (k,), s, which include the starts and ends of all ramps.
            states: States (k, 2 n) at these times.
        """
        self._flow, self._corners = RampedFlow(robot), ramps.corners(x)
        self._n, self._states = robot.n, states
        self.knots, self.corners = times, self._corners.edges

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        node = int(self.knots.searchsorted(t, side="right")) - 1
        times = np.array([self.knots[node], t])
        y = self._flow.states(self._states[node], times, self._corners.efforts(times))
        return y[1, : self._n], y[1, self._n :]

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t`, s."""
        return self._corners.efforts(np.array([t]))[0]

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        q, v = (np.array(x) for x in zip(*map(self.state, times), strict=True))
        return q, v, self._corners.efforts(times)

    def samples(self, period: float) -> Samples:
        """Return samples every `period` seconds and at the starts and ends of ramps.

        A sample contains the mean effort until the next sample, which preserves the impulse.
        """
        t_final = float(self.knots[-1])
        times = np.unique(np.concatenate([np.arange(0.0, t_final, period), self.corners]))
        rows: Samples = []
        for begin, end in pairwise(times.tolist()):
            append_if_changed(rows, begin, self.effort(0.5 * (begin + end)))
        return rows
