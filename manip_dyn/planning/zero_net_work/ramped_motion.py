"""A motion under ramps, by time: integrated from the nearest node."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.plan import Samples, append_if_changed
from manip_dyn.planning.zero_net_work.ramped_flow import RampedFlow
from manip_dyn.planning.zero_net_work.ramps import Ramps
from manip_dyn.robot import Robot


class RampedMotion:
    """Efforts that go from level to level by ramps."""

    def __init__(self, robot: Robot, ramps: Ramps, x: Vector, times: Vector, states: Vector):
        """Keep the states (k, 2 n) at `times` (k,), s, which include every end of a ramp."""
        self._flow, self._corners = RampedFlow(robot), ramps.corners(x)
        self._n, self._states = robot.n, states
        self.knots, self.corners = times, self._corners.edges

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t` s."""
        node = int(self.knots.searchsorted(t, side="right")) - 1
        times = np.array([self.knots[node], t])
        y = self._flow.states(self._states[node], times, self._corners.efforts(times))
        return y[1, : self._n], y[1, self._n :]

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t` s."""
        return self._corners.efforts(np.array([t]))[0]

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        q, v = (np.array(each) for each in zip(*map(self.state, times), strict=True))
        return q, v, self._corners.efforts(times)

    def samples(self, period: float) -> Samples:
        """Return the means of the efforts until the next time, which keep the impulse.

        A time every `period` s and where a ramp begins or ends.
        """
        t_final = float(self.knots[-1])
        times = np.unique(np.concatenate([np.arange(0.0, t_final, period), self.corners]))
        rows: Samples = []
        for begin, end in pairwise(times.tolist()):
            append_if_changed(rows, begin, self.effort(0.5 * (begin + end)))
        return rows
