"""Plans: the motion of an arm from start to goal, with evidence of its optimality."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, finite, sampled
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result, data_frame
from manip_dyn.robot import Robot

if TYPE_CHECKING:
    from manip_dyn.collision import Clearance, JointCurve, Scene
    from manip_dyn.planning.certificate import Certificate, Convergence
    from manip_dyn.planning.work import WorkCurves

Samples = list[tuple[float, Vector]]
"""Times (s) and efforts (n,). Each row applies until the time of the next one."""
SAME_EFFORT = 1e-9
"""Largest difference between efforts that count as equal, N m or N."""


class Motion(Protocol):
    """Interface of a motion, which is defined from time 0 until the arrival."""

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to the arrival, s, between which the efforts are smooth."""

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t`, s. At a jump, return those after the jump."""

    def samples(self, period: float) -> Samples:
        """Return samples of the efforts before the arrival.

        There is a sample at every jump. Samples of smooth efforts are `period` seconds apart.
        """


@runtime_checkable
class VectorizedMotion(Protocol):
    """Interface of a motion that can be evaluated at many times in one call."""

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s, until the arrival."""


class MotionWithCostates(Motion, Protocol):
    """Interface of a motion with the costates of Pontryagin's conditions."""

    @property
    def switching(self) -> Any:
        """Structure of the efforts, a `Switching`, or None for a motion refined on grids."""

    def costate(self, t: float) -> Vector:
        """Return the costates (2 n,) at time `t`, s, in s per unit of the state."""


def held_samples(begins: Iterable[float], effort: Callable[[float], Vector]) -> Samples:
    """Return samples of the efforts at increasing times; omit those equal to the last sample."""
    rows: Samples = []
    for t in begins:
        append_if_changed(rows, t, effort(t))
    return rows


def append_if_changed(rows: Samples, t: float, effort: Vector) -> None:
    """Append a sample at time `t`, s, unless its efforts equal those of the last sample."""
    if not rows or np.abs(effort - rows[-1][1]).max() > SAME_EFFORT:
        rows.append((t, effort))


@dataclass(frozen=True, eq=False)
class FiniteRamps:
    """Slew rates and ramps of a plan with continuous efforts.

    Attributes:
        slew_rate: Largest rates of the efforts (n,), N m/s or N/s.
        corners: Times (k,) from 0 to the arrival at which ramps start and end, s.
        t_final_without: Duration of the plan without limits of the slew rates, s.
    """

    slew_rate: Vector
    corners: Vector
    t_final_without: float


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """Motion of an arm from start to goal, at rest at both ends unless `v0` or `vf` is set.

    Attributes:
        robot: The arm.
        q0: Start positions (n,), rad or m.
        qf: Goal positions (n,), rad or m.
        t_final: Time at which the last joint arrives, s.
        switch_times: Switch times of each joint's effort, s. With ramps, they are the midpoints of
            the ramps between levels.
        arrival_times: Arrival time of each joint, s; 0 for joints that do not move.
        motion: The motion, or None if no joint must move.
        hold: Efforts (n,) that hold the arm at the goal, N m or N.
        method: Planning method, such as ``zero_net_work``.
        status: ``solved``: full solution of the method. ``converged``: the certificate is a
            `Convergence` on fine grids. ``at_goal``: no joint must move. ``near_minimum``: the
            plan is the fastest motion along the straight joint path, because no motion of the
            method's kind was found; with a slew rate, a faster motion may be near.
            ``uncertified``: the motion arrives, but its optimality could not be confirmed.
        reason: Explanation of the status in one sentence.
        certificate: Evidence of minimum time. None for other methods, and if no joint must move.
        extremal: The same motion if it has costates, else None.
        ramps: Slew rates and ramps, or None if efforts may jump.
        single_switch: Index of the only joint that moves, if it moves under full efforts with one
            switch, else None.
        v0: Start velocities (n,), rad/s or m/s; zeros or None for a start at rest.
        vf: Goal velocities (n,), rad/s or m/s; zeros or None for a goal at rest.
        is_unique: False if another motion is known to be equally fast, True if the search found
            none and the certificate holds strictly, None if unknown.
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
    certificate: Certificate | Convergence | None = None
    extremal: MotionWithCostates | None = field(default=None, repr=False)
    ramps: FiniteRamps | None = None
    single_switch: int | None = None
    v0: Vector | None = None
    vf: Vector | None = None
    is_unique: bool | None = None

    @classmethod
    def standing(
        cls, robot: Robot, start: Vector, goal: Vector, hold: Vector, method: str
    ) -> Plan:
        """Return the plan of an arm that is already at its goal.

        Args:
            robot: The arm.
            start: Start positions (n,), rad or m.
            goal: Goal positions (n,), rad or m.
            hold: Efforts (n,) that hold the arm at the goal, N m or N.
            method: Planning method.
        """
        no_times: list[list[float]] = [[] for _ in goal]
        reason = "start and goal are the same"
        return cls(
            robot,
            start,
            goal,
            0.0,
            no_times,
            [0.0] * robot.n,
            None,
            hold,
            method,
            "at_goal",
            reason,
        )

    @property
    def success(self) -> bool:
        """Whether the plan is a full solution of its method or no joint must move."""
        return self.status in ("solved", "converged", "at_goal")

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints (n,)."""
        return self.robot.joint_names

    # ------------------------------------------------------------------------ by time
    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return planned positions and velocities (n,) at time `t`, s.

        Before 0 they are those of the start, and after `t_final` those of the goal.
        """
        t = finite("time", t, "s")
        if self.motion is None or t >= self.t_final:
            return self.qf.copy(), np.zeros(self.robot.n) if self.vf is None else self.vf.copy()
        return self.motion.state(max(t, 0.0))

    def effort(self, t: float) -> Vector:
        """Return the planned efforts (n,), N m or N, at time `t`, s.

        At a jump, these are the efforts after the jump. From `t_final` on, they hold the arm.
        """
        t = finite("time", t, "s")
        if self.motion is None or t >= self.t_final:
            return self.hold.copy()
        return self._within_limits(self.motion.effort(max(t, 0.0)))

    def to_dataframe(self, period: float = 0.01) -> Any:
        """Return a pandas DataFrame of the plan every `period` seconds and at its end.

        The columns are ``t`` and ``position_JOINT``, ``velocity_JOINT`` and ``effort_JOINT``.
        Requires the extra ``pandas``.

        Raises:
            ManipDynError: If `period` is not positive or would give more than ten million rows.
        """
        period = sampled(period, self.t_final)
        times = np.append(np.arange(0.0, self.t_final * (1.0 - 1e-9), period), self.t_final)
        q, v, effort = self.at(times)
        return data_frame(times, self.joint_names, position=q, velocity=v, effort=effort)

    def joint_curve(self) -> JointCurve:
        """Return the positions as a piecewise polynomial, for collision checks.

        Motions that are not polynomials are interpolated with a deviation of 1e-7 rad or m, see
        `manip_dyn.collision.interpolated_curve`.
        """
        from manip_dyn.collision import HasJointCurve, constant_curve, interpolated_curve

        if self.motion is None:
            return constant_curve(self.qf)
        if isinstance(self.motion, HasJointCurve):
            return self.motion.joint_curve()
        return interpolated_curve(self._states, self.knots)

    def clearance(self, scene: Scene | None = None, **options: Any) -> Clearance:
        """Check the plan for collisions, with a proof for all times; see `md.check_motion`.

        Args:
            scene: Objects around the arm. Default: only the arm itself is checked.
            options: Other arguments of `md.check_motion`.
        """
        from manip_dyn.collision import check_motion

        return check_motion(self.robot, self, scene, **options)

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) of the plan at times (k,), s."""
        times = np.asarray(times, dtype=float)
        if not isinstance(self.motion, VectorizedMotion):
            q, v = self._states(times)
            return q, v, np.array([self.effort(t) for t in times])
        q, v, effort = self.motion.at(np.clip(times, 0.0, self.t_final))
        over = times >= self.t_final
        q[over], v[over] = self.state(self.t_final)
        effort[over] = self.hold
        return q, v, self._within_limits(effort)

    def _states(self, times: Vector) -> tuple[Matrix, Matrix]:
        """Return positions and velocities (k, n) at times (k,), s."""
        if isinstance(self.motion, VectorizedMotion):
            return self.motion.at(np.clip(times, 0.0, self.t_final))[:2]
        q, v = zip(*map(self.state, times.tolist()), strict=True)
        return np.array(q), np.array(v)

    def costate(self, t: float) -> Vector:
        """Return the costates (2 n,) at time `t`, s, in s per unit of the state.

        Raises:
            ManipDynError: If the plan has no costates.
        """
        t = finite("time", t, "s")
        if self.extremal is None:
            raise ManipDynError(f"the plan has no costates: {self.reason}.")
        return self.extremal.costate(min(t, self.t_final))

    def samples(self, period: float) -> Samples:
        """Return samples of the efforts, including those that hold the arm after the arrival.

        There is a sample at every jump. Samples of smooth efforts are `period` seconds apart.

        Raises:
            ManipDynError: If `period` is not positive or would give more than ten million rows.
        """
        period = sampled(period, self.t_final)
        rows: Samples = []
        if self.motion is not None:
            rows = [(t, self._within_limits(tau)) for t, tau in self.motion.samples(period)]
        append_if_changed(rows, self.t_final, self.hold.copy())
        return rows

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to `t_final`, s, between which the efforts are smooth."""
        return np.zeros(1) if self.motion is None else self.motion.knots

    def _within_limits(self, effort: Vector) -> Vector:
        return np.clip(effort, -self.robot.tau_max, self.robot.tau_max)

    # ------------------------------------------------------------------------ joints and switches
    @property
    def moving_joints(self) -> list[int]:
        """Indices of the joints that move."""
        return [i for i, t in enumerate(self.arrival_times) if t > 0.0]

    @property
    def t_switch(self) -> float:
        """Time of the first switch of any joint, s; 0 without switches."""
        return min((t for times in self.switch_times for t in times), default=0.0)

    @property
    def switch_positions(self) -> list[list[float]]:
        """Positions of each joint at its switches, rad or m."""
        return [
            [float(self.state(t)[0][joint]) for t in times]
            for joint, times in enumerate(self.switch_times)
        ]

    @property
    def q_switch(self) -> Vector:
        """Position of each joint at its first switch (n,), rad or m; NaN without a switch."""
        return np.array(
            [positions[0] if positions else np.nan for positions in self.switch_positions]
        )

    @property
    def switching(self) -> Any:
        """Switching structure of an exact extremal, a `Switching`, else None."""
        return None if self.extremal is None else self.extremal.switching

    # ------------------------------------------------------------------------ work
    @cached_property
    def work_curves(self) -> WorkCurves:
        """Work on each link done by its weight and by the forces and moments at its joints."""
        from manip_dyn.planning.work import work_curves

        return work_curves(self.robot, self)

    @property
    def net_work(self) -> Vector:
        """Work (b,) done on each of b moving links over the whole motion, J."""
        return self.work_curves.work[-1]

    @property
    def peak_work(self) -> float:
        """Largest absolute work on a link up to any knot of the motion, J."""
        return float(np.abs(self.work_curves.work).max())
