"""A plan: a rest-to-rest motion, whichever method made it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from manip_dyn.planning.work import WorkCurves, work_curves
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, finite, positive

if TYPE_CHECKING:
    from manip_dyn.planning.move import Move


class Motion(Protocol):
    """The motion of a plan between its start and its arrival."""

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to the arrival, s, between which the efforts are smooth."""

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t` s."""

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t` s on."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A rest-to-rest motion of an arm.

    Attributes:
        robot: The arm.
        q0: Start (n,), rad or m.
        qf: Goal (n,), rad or m.
        t_final: Time of the last arrival at rest, s.
        switch_times: Per joint the times at which its effort switches, s.
        arrival_times: Per joint the time of its arrival, s; 0 for one that does not move.
        motion: The motion; None where start and goal are the same.
        hold: Efforts (n,) that keep the arm at the goal, N m or N.
        method: Who made it, such as ``zero_net_work``.
        status: ``solved``, or ``near_minimum`` where the method has no solution of its own kind.
        reason: What that means, one sentence.
        certificate: Evidence that no motion is faster; None if there is none.
    """

    robot: Robot = field(repr=False)
    q0: Vector
    qf: Vector
    t_final: float
    switch_times: list[list[float]]
    arrival_times: list[float]
    motion: Motion | None = field(repr=False)
    hold: Vector
    method: str
    status: str
    reason: str
    certificate: Any = None

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints (n,)."""
        return self.robot.joint_names

    @property
    def moving_joints(self) -> list[int]:
        """Indices of the joints that move."""
        return [i for i, t in enumerate(self.arrival_times) if t > 0.0]

    @property
    def moving(self) -> int | None:
        """Index of the moving joint, or None if there is not just one."""
        joints = self.moving_joints
        return joints[0] if len(joints) == 1 else None

    @property
    def t_switch(self) -> float:
        """First switch of all, s (0: none)."""
        return min((t for times in self.switch_times for t in times), default=0.0)

    @property
    def q_switch(self) -> Vector:
        """Position of each joint at its first switch (n,), rad or m (nan: it has none)."""
        places = [self.state(times[0])[0][i] if times else np.nan
                  for i, times in enumerate(self.switch_times)]  # fmt: skip
        return np.array(places)

    @cached_property
    def move(self) -> Move | None:
        """The motion in feedback form, for a single joint with a single switch; else None."""
        joint = self.moving
        if joint is None or self.status != "solved":
            return None
        from manip_dyn.planning.move import Move  # brings scipy's solvers, which load slowly

        return Move.of(self.robot, joint, float(self.q0[joint]), self.qf)

    @cached_property
    def work_curves(self) -> WorkCurves:
        """Work on each link by time, by the forces and moments at its joints and its weight."""
        return work_curves(self.robot, self)

    @property
    def net_work(self) -> Vector:
        """Work (n,) of all forces and moments on each link over the motion, J."""
        return self.work_curves.work[-1]

    @property
    def peak_work(self) -> float:
        """Largest work on a link on the way, J."""
        return float(np.abs(self.work_curves.work).max())

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return planned positions and velocities (n,) at time `t` s."""
        t = finite("time", t, "s")
        if self.motion is None or t >= self.t_final:
            return self.qf.copy(), np.zeros(self.robot.n)
        return self.motion.state(max(t, 0.0))

    def torque(self, t: float) -> Vector:
        """Return the planned efforts (n,) from time `t` s on, N m or N."""
        t = finite("time", t, "s")
        if self.motion is None or t >= self.t_final:
            return self.hold.copy()
        effort = self.motion.effort(max(t, 0.0))
        return np.clip(effort, -self.robot.tau_max, self.robot.tau_max)

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to `t_final`, s, between which the efforts are smooth."""
        return np.zeros(1) if self.motion is None else self.motion.knots

    def samples(self, period: float) -> list[tuple[float, Vector]]:
        """Return times and efforts, each held until the next: every `period` s and each jump.

        Efforts that do not change are not repeated, so a planar arm with one moving joint gets
        three points.
        """
        period = positive("period", period, "s")
        grid = np.arange(0.0, self.t_final, period).tolist()
        rows: list[tuple[float, Vector]] = []
        for t in sorted({0.0, *grid, *self._jumps(), self.t_final}):
            effort = self.torque(t)
            if not rows or np.abs(effort - rows[-1][1]).max() > 1e-9:
                rows.append((t, effort))
        return rows

    def _jumps(self) -> list[float]:
        return [t for times in self.switch_times for t in times] + self.arrival_times
