"""Bang-bang plans: every joint's effort at its limit, jumping at known times, held at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.integrate import METHODS, Options, compile_engine
from manip_dyn.planning.certificate import Certificate
from manip_dyn.planning.switching import Switching
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, positive


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
        if t >= self.t_final:
            return self.hold.copy()
        return self._efforts[self._arc(t)].copy()

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return planned positions and velocities (n,) at time `t` s."""
        n = len(self.qf)
        if t >= self.t_final:
            return self.qf.copy(), np.zeros(n)
        arc = self._arc(t)
        y = propagated(
            self.robot, self._nodes[arc], self._efforts[arc], max(t, 0.0) - self._begins[arc]
        )
        return y[:n], y[n:]

    def samples(self, period: float) -> list[tuple[float, Vector]]:
        """Return times and efforts, each held until the next: nothing happens between jumps.

        `period`, s, is there because other plans need it.
        """
        positive("period", period, "s")
        times = [*self._begins, self.t_final] if self.t_final else [0.0]
        distinct = [t for t, later in zip(times, [*times[1:], np.inf], strict=True) if t < later]
        return [(float(t), self.torque(t)) for t in distinct]

    def _arc(self, t: float) -> int:
        return max(int(np.searchsorted(self._begins, t, side="right")) - 1, 0)

    @cached_property
    def _begins(self) -> Vector:
        """Begins of the arcs (m + 1,), s."""
        arcs = [] if self.switching is None else self.switching.arcs()
        return np.array([begin for begin, _, _ in arcs])

    @cached_property
    def _efforts(self) -> Vector:
        """Efforts of the arcs (m + 1, n), N m or N."""
        arcs = [] if self.switching is None else self.switching.arcs()
        return np.array([signs * self.robot.tau_max for _, _, signs in arcs])

    @cached_property
    def _nodes(self) -> list[Vector]:
        """States (2 n,) at the begins of the arcs."""
        nodes = [np.concatenate([self.q0, np.zeros(len(self.q0))])]
        for tau, duration in zip(self._efforts[:-1], np.diff(self._begins), strict=True):
            nodes.append(propagated(self.robot, nodes[-1], tau, float(duration)))
        return nodes


def propagated(robot: Robot, state: Vector, tau: Vector, duration: float) -> Vector:
    """Return the state (2 n,) after `duration` s under constant efforts (n,)."""
    run, space = _motion(robot)
    y = state.copy()
    if duration > 0.0:
        run(0.0, duration, tau, y, space)
    return y


@lru_cache(maxsize=64)
def _motion(robot: Robot):
    engine = compile_engine(
        customize(robot).right_hand_side,
        METHODS["rkdp87"],
        Options(size=2 * robot.n, adaptive=True),
    )
    return engine.run, engine.space(rtol=1e-13, atol=1e-14)
