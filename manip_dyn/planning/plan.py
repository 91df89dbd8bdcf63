"""A plan: one joint moves by bang-bang effort with one switch, the others are held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from manip_dyn.planning.braking import BrakingCurve, Crossing
from manip_dyn.validate import Vector


@dataclass(frozen=True, eq=False)
class Move:
    """What the moving joint does: driven to the switch, braked along the curve to rest.

    Attributes:
        curve: The braking curve to the goal.
        switch: Where the driven joint meets it.
        accelerated: Position and velocity (2,) of the driven joint by time, s.
    """

    curve: BrakingCurve
    switch: Crossing
    accelerated: Callable[[float], Vector] = field(repr=False)

    @property
    def joint(self) -> int:
        """Index of the joint."""
        return self.curve.motion.joint

    @cached_property
    def t_final(self) -> float:
        """Time of arrival at rest, s."""
        return self.switch.time + self.curve.time_to_rest(self.switch.position)

    def state(self, t: float) -> tuple[float, float]:
        """Return position and velocity at time `t` s, rad and rad/s or m and m/s."""
        if t >= self.t_final:
            return self.curve.goal, 0.0
        if t >= self.switch.time:
            return self.curve.state(self.t_final - t)
        q, v = self.accelerated(max(t, 0.0))
        return float(q), float(v)

    def efforts(self, t: float) -> Vector:
        """Return the efforts (n,) of all joints from time `t` s on, before the arrival."""
        drive = self.curve.drive if t < self.switch.time else self.curve.brake
        return self.curve.motion.held_efforts(*self.state(t), drive)


@dataclass(frozen=True, eq=False)
class Plan:
    """A rest-to-rest motion with at most one moving joint.

    Attributes:
        joint_names: Names (n,).
        q0: Start (n,), rad or m.
        qf: Goal (n,), rad or m.
        move: What the moving joint does; None where start and goal are the same.
        net_work: Work (n,) of all efforts on each joint over the motion, J; zero but for
            rounding.
        hold: Efforts (n,) that keep the arm at the goal, N m or N.
        status: ``solved``.
    """

    joint_names: tuple[str, ...]
    q0: Vector
    qf: Vector
    move: Move | None
    net_work: Vector
    hold: Vector
    status: str = "solved"

    @property
    def moving(self) -> int | None:
        """Index of the moving joint, or None."""
        return None if self.move is None else self.move.joint

    @property
    def q_switch(self) -> float:
        """Position of the moving joint at the switch, rad or m (nan: none moves)."""
        return np.nan if self.move is None else self.move.switch.position

    @property
    def t_switch(self) -> float:
        """Time of the switch, s (0: none moves)."""
        return 0.0 if self.move is None else self.move.switch.time

    @property
    def switch_times(self) -> list[list[float]]:
        """Per joint the list of its switching times, s."""
        return [[self.t_switch] if i == self.moving else [] for i in range(len(self.qf))]

    @property
    def t_final(self) -> float:
        """Time of arrival at rest, s."""
        return 0.0 if self.move is None else self.move.t_final

    @property
    def peak_work(self) -> float:
        """Largest kinetic energy on the way, J."""
        if self.move is None:
            return 0.0
        return 0.5 * self.move.curve.motion.inertia * self.move.switch.velocity**2

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return planned positions and velocities (n,) at time `t` s."""
        q, v = self.qf.copy(), np.zeros(len(self.qf))
        if self.move is not None:
            q[self.move.joint], v[self.move.joint] = self.move.state(t)
        return q, v

    def torque(self, t: float) -> Vector:
        """Return the planned efforts (n,) from time `t` s on, N m or N."""
        if self.move is None or t >= self.t_final:
            return self.hold.copy()
        return self.move.efforts(t)

    def samples(self, period: float) -> list[tuple[float, Vector]]:
        """Return times and efforts, each held until the next: every `period` s and each jump.

        Efforts that do not change are not repeated, so a planar arm gets three points.
        """
        jumps = [] if self.move is None else [self.t_switch, self.t_final]
        grid = np.arange(0.0, self.t_final, period).tolist()
        rows: list[tuple[float, Vector]] = []
        for t in sorted({0.0, *grid, *jumps}):
            effort = self.torque(t)
            if not rows or np.abs(effort - rows[-1][1]).max() > 1e-9:
                rows.append((t, effort))
        return rows
