"""Bang-bang plans: efforts at their limits, jumping at known times, held at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from manip_dyn.errors import ManipDynError
from manip_dyn.planning.certificate import Certificate
from manip_dyn.planning.efforts import Controls, directions
from manip_dyn.planning.flow import Flow
from manip_dyn.planning.switching import Switching
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, finite, positive


@dataclass(frozen=True, eq=False)
class BangBangPlan:
    """A rest-to-rest motion with efforts at their limits.

    Attributes:
        robot: The arm.
        q0: Start (n,), rad or m.
        qf: Goal (n,), rad or m.
        switching: Signs and switching times; None where start and goal are the same.
        hold: Efforts (n,) that keep the arm at the goal, N m or N.
        status: ``solved`` (certified), ``at_goal`` or ``uncertified`` (it arrives, but the
            certificate does not hold: see `reason`).
        reason: One sentence.
        certificate: The evidence that it is of minimum time; None at the goal.
        net_work: Work (n,) of all efforts, weight and reactions included, on each joint, J: the
            kinetic energy v_i (M v)_i / 2 that it has at the end, zero but for rounding.
        peak_work: Largest kinetic energy on the way, J.
    """

    robot: Robot = field(repr=False)
    q0: Vector
    qf: Vector
    switching: Switching | None
    hold: Vector
    status: str
    reason: str
    certificate: Certificate | None
    net_work: Vector
    peak_work: float
    method = "minimum_time"

    @property
    def success(self) -> bool:
        """Whether the plan is certified or nothing had to move."""
        return self.status in ("solved", "at_goal")

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names (n,)."""
        return self.robot.joint_names

    @property
    def t_final(self) -> float:
        """Time of arrival at rest, s."""
        return 0.0 if self.switching is None else self.switching.t_final

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to `t_final`, s, between which the efforts are smooth."""
        return np.array([*self._begins, self.t_final])

    @property
    def switch_times(self) -> list[list[float]]:
        """Per joint the list of its switching times, s."""
        return [[] for _ in self.qf] if self.switching is None else self.switching.per_joint()

    @property
    def switch_positions(self) -> list[list[float]]:
        """Per joint the list of its own positions at its switches, rad or m."""
        return [
            [float(self.state(t)[0][joint]) for t in times]
            for joint, times in enumerate(self.switch_times)
        ]

    def torque(self, t: float) -> Vector:
        """Return the planned efforts (n,) from time `t` s on, N m or N."""
        t = finite("time", t, "s")
        if t >= self.t_final:
            return self.hold.copy()
        arc = self._arc(t)
        controls = self._controls[arc]
        if all(each.is_full for each in controls):
            return directions(controls) * self.robot.tau_max
        y = self._canonical(arc, t)
        flow = self._flows.along(controls)
        if flow is None:
            return directions(controls) * self.robot.tau_max
        flow.rates(y)
        return np.clip(flow.tau, -self.robot.tau_max, self.robot.tau_max)

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return planned positions and velocities (n,) at time `t` s."""
        t = finite("time", t, "s")
        n = len(self.qf)
        if t >= self.t_final:
            return self.qf.copy(), np.zeros(n)
        y = self._canonical(self._arc(t), t)
        return y[:n], y[n : 2 * n]

    def costate(self, t: float) -> Vector:
        """Return the costates (2 n,) at time `t` s, within the motion, s per unit of state."""
        t = finite("time", t, "s")
        if self.switching is None:
            raise ManipDynError(f"there are no costates: {self.reason}")
        n = len(self.qf)
        return self._canonical(self._arc(t), min(t, self.t_final))[2 * n :]

    def samples(self, period: float) -> list[tuple[float, Vector]]:
        """Return times and efforts, each held until the next: every jump.

        Within singular arcs, where the efforts are not constant, also every `period` s.
        """
        positive("period", period, "s")
        times = {0.0, self.t_final}
        ends = [*self._begins, self.t_final][1:]
        for begin, controls, end in zip(self._begins, self._controls, ends, strict=True):
            times |= (
                {float(begin)}
                if all(each.is_full for each in controls)
                else set(np.arange(begin, end, period))
            )
        return [(float(t), self.torque(float(t))) for t in sorted(times)]

    def _arc(self, t: float) -> int:
        return max(int(np.searchsorted(self._begins, t, side="right")) - 1, 0)

    @cached_property
    def _begins(self) -> list[float]:
        """Begins of the arcs (m + 1,), s."""
        arcs = [] if self.switching is None else self.switching.arcs()
        return [begin for begin, _, _ in arcs]

    @cached_property
    def _controls(self) -> list[Controls]:
        """What the efforts (n,) do in each arc."""
        arcs = [] if self.switching is None else self.switching.arcs()
        return [controls for _, _, controls in arcs]

    @cached_property
    def _nodes(self) -> list[Vector]:
        """States and costates (4 n,) at the begins of the arcs."""
        if self.certificate is None or self.switching is None:
            return []
        nodes = [np.concatenate([self.q0, 0.0 * self.q0, self.certificate.costates])]
        jumping = list(zip(self.switching.jumps(), self.certificate.jumps, strict=True))
        for arc, end in enumerate(self._begins[1:]):
            node = self._canonical(arc, end, nodes[arc]).copy()
            for (place, component), jump in jumping:
                node[component] += jump if place == arc else 0.0
            nodes.append(node)
        return nodes

    def _canonical(self, arc: int, t: float, node: Vector | None = None) -> Vector:
        """Return state and costate (4 n,) at `t` s in an arc."""
        start = self._nodes[arc] if node is None else node
        flow = self._flows.along(self._controls[arc])
        end = None if flow is None else flow.moved(start, max(t, 0.0) - self._begins[arc])
        return start if end is None else end

    @cached_property
    def _flows(self) -> Flow:
        return Flow(self.robot)
