"""Motion of an extremal as a function of time, with costates."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.controls import Controls, are_full, effort_signs
from manip_dyn.planning.minimum_time.extremals.flow import Flow
from manip_dyn.planning.minimum_time.extremals.structure import Extremal, Switching
from manip_dyn.planning.plan import Samples
from manip_dyn.robot import Robot


class ExtremalMotion:
    """Motion with efforts that jump between their limits, or are between them on some arcs."""

    def __init__(self, robot: Robot, start: Vector, extremal: Extremal):
        """Start at rest at `start` (n,)."""
        self._robot, self._start, self._extremal = robot, start, extremal
        arcs = extremal.switching.arcs()
        self._begins = [begin for begin, _, _ in arcs]
        self._controls: list[Controls] = [controls for _, _, controls in arcs]

    @property
    def switching(self) -> Switching:
        """Controls, switches and final time."""
        return self._extremal.switching

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to the arrival, s, between which the efforts are smooth."""
        return np.array([*self._begins, self.switching.t_final])

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        n, y = self._robot.n, self._canonical(self._arc(t), t, costates=False)
        return y[:n], y[n : 2 * n]

    def costate(self, t: float) -> Vector:
        """Return the costates (2 n,) at time `t`, s, in s per unit of the state."""
        return self._canonical(self._arc(t), t)[2 * self._robot.n :]

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t`, s, on, N m or N."""
        arc = self._arc(t)
        controls = self._controls[arc]
        flow = None if are_full(controls) else self._flows.along(controls)
        if flow is None:
            return effort_signs(controls) * self._robot.tau_max
        flow.rates(self._canonical(arc, t))
        return flow.tau

    def samples(self, period: float) -> Samples:
        """Return samples at every jump and, for efforts between their limits, every `period` s."""
        times = set[float]()
        for begin, controls, end in zip(self._begins, self._controls, self.knots[1:], strict=True):
            times |= {begin} if are_full(controls) else set(np.arange(begin, end, period))
        before = (float(t) for t in sorted(times) if t < self.switching.t_final)
        return [(t, self.effort(t)) for t in before]

    @cached_property
    def _flows(self) -> Flow:
        return Flow(self._robot)

    def _arc(self, t: float) -> int:
        return max(int(np.searchsorted(self._begins, t, side="right")) - 1, 0)

    @cached_property
    def _nodes(self) -> list[Vector]:
        """States and costates (4 n,) at the starts of the arcs."""
        nodes = [np.concatenate([self._start, 0.0 * self._start, self._extremal.costate])]
        jumping = list(zip(self.switching.jumps(), self._extremal.jumps, strict=True))
        for arc, end in enumerate(self._begins[1:]):
            node = self._canonical(arc, end, nodes[arc]).copy()
            for (switch, component), jump in jumping:
                node[component] += jump if switch == arc else 0.0
            nodes.append(node)
        return nodes

    def _canonical(
        self, arc: int, t: float, node: Vector | None = None, costates: bool = True
    ) -> Vector:
        """Return state and costates (4 n,) at time `t`, s, of an arc, or only the state."""
        begin = self._nodes[arc] if node is None else node
        flow = self._flows.along(self._controls[arc])
        if flow is None:
            return begin
        move = flow.moved if costates else flow.state
        end = move(begin, max(t, 0.0) - self._begins[arc])
        return begin if end is None else end
