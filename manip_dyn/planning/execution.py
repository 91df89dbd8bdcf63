"""Executing a plan in closed loop: from the measured state to the efforts of the next period."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError
from manip_dyn.planning.move import Move
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, not_negative, positive


class Segment(NamedTuple):
    """Efforts (n,) from `offset` s after the measured state on."""

    offset: float
    effort: Vector


class PlanExecutor:
    """Switches by measured state (Fan 2003, section 6.3.2), within a control period.

    While the joint is slower than its braking curve it is driven, on the curve it is braked,
    from rest on all joints are held at the goal by computed torque with feedback. A switch or
    the arrival that falls inside the next `horizon` becomes a segment of its own at its exact
    time, so that the final error does not depend on where samples fall.
    """

    ON_CURVE = 1e-7
    """Speed deficit below which the state counts as on the braking curve, rad/s or m/s."""

    def __init__(
        self,
        robot: Robot,
        plan: Plan,
        horizon: float,
        stiffness: float = 100.0,
        damping: float = 20.0,
    ):
        """Execute `plan`.

        Args:
            robot: The arm.
            plan: What to execute.
            horizon: How far ahead the efforts are needed: the control period, plus the
                transport delay where there is one, s.
            stiffness: Position feedback of held joints, 1/s^2.
            damping: Velocity feedback of held joints, 1/s.

        Raises:
            ManipDynError: If more than one joint moves, or one without a single switch.
        """
        self.plan = plan
        self.arrived = plan.t_final == 0.0
        if not self.arrived and plan.move is None:
            raise ManipDynError(
                f"execution expects one joint to move with one switch; {_told(plan)}"
            )
        self._move: Move = plan.move  # type: ignore[assignment]
        self._robot = robot
        self._kernels = customize(robot).unchecked
        self._horizon = positive("horizon", horizon, "s")
        self._stiffness = not_negative("stiffness", stiffness, "1/s^2")
        self._damping = not_negative("damping", damping, "1/s")

    def segments(self, q: Vector, v: Vector) -> list[Segment]:
        """Return the efforts that act from the measured state (q, v), each (n,), on.

        The first segment begins at offset 0; further ones only where the efforts jump inside
        the horizon.
        """
        if self.arrived or self._comes_back(q, v):
            self.arrived = True
            return [Segment(0.0, self._hold(q, v))]
        segments, offset, q, v = self._drive(q, v)
        return segments if offset is None else _distinct(segments + self._brake(offset, q, v))

    def mean_effort(self, segments: list[Segment], period: float) -> Vector:
        """Return the effort (n,) with the same impulse over `period` s, for a plain actuator."""
        inside = [segment for segment in segments if segment.offset < period]
        ends = [segment.offset for segment in inside[1:]] + [period]
        shares = [
            (end - segment.offset) / period for segment, end in zip(inside, ends, strict=True)
        ]
        return np.array(shares) @ np.array([segment.effort for segment in inside])

    def _comes_back(self, q: Vector, v: Vector) -> bool:
        """Whether the joint has passed the goal and does not move on."""
        curve, joint = self._move.curve, self._move.joint
        passed = curve.sign * (q[joint] - curve.goal) >= 0.0
        return passed and curve.sign * v[joint] <= 0.0

    def _drive(self, q: Vector, v: Vector):
        """Return the driving segment and, if the curve is met in time, the state there."""
        curve, joint = self._move.curve, self._move.joint
        if curve.gap(q[joint], v[joint]) >= -self.ON_CURVE:
            return [], 0.0, q, v

        def gap(duration: float) -> float:
            state = curve.motion.propagate(q[joint], v[joint], curve.drive, duration)
            return max(curve.gap(*state), -1e9)

        if gap(self._horizon) < 0.0:
            return [self._segment(0.0, q, v, curve.drive, self._horizon)], None, q, v
        offset = brentq(gap, 0.0, self._horizon, xtol=1e-13)
        driving = [self._segment(0.0, q, v, curve.drive, offset)]
        return driving, offset, *self._moved(q, v, curve.drive, offset)

    def _brake(self, offset: float, q: Vector, v: Vector) -> list[Segment]:
        """Return the braking segment and, if rest falls inside the horizon, the holding one."""
        curve, joint = self._move.curve, self._move.joint

        def speed(duration: float) -> float:
            moved = curve.motion.propagate(q[joint], v[joint], curve.brake, duration)
            return curve.sign * moved[1]

        left = self._horizon - offset
        if left <= 0.0 or speed(left) > 0.0:
            return [self._segment(offset, q, v, curve.brake, left)]
        rest = brentq(speed, 0.0, left, xtol=1e-13) if speed(0.0) > 0.0 else 0.0
        self.arrived = True
        braking = self._segment(offset, q, v, curve.brake, rest)
        q, v = self._moved(q, v, curve.brake, rest)
        return [braking, Segment(offset + rest, self._hold(q, v))]

    def _segment(
        self, offset: float, q: Vector, v: Vector, effort: float, duration: float
    ) -> Segment:
        """Return the efforts that hold the others while the joint is driven by `effort`.

        They change with the state and stay constant over the segment, so they are those of its
        middle: what the held joints are disturbed by is of second order in the period.
        """
        q, v = self._moved(q, v, effort, 0.5 * max(duration, 0.0))
        efforts = self._move.curve.motion.full_efforts(q, v, effort, self._feedback(q, v))
        return Segment(offset, self._limited(efforts))

    def _moved(self, q: Vector, v: Vector, effort: float, duration: float):
        """Return the state after `duration` s: the joint under `effort`, the others drifting."""
        joint = self._move.joint
        q, v = q + duration * v, v.copy()
        q[joint] -= duration * v[joint]
        q[joint], v[joint] = self._move.curve.motion.propagate(
            q[joint], v[joint], effort, duration
        )
        return q, v

    def _hold(self, q: Vector, v: Vector) -> Vector:
        return self._limited(self._kernels.inverse_dynamics(q, v, self._feedback(q, v)))

    def _feedback(self, q: Vector, v: Vector) -> Vector:
        return self._stiffness * (self.plan.qf - q) - self._damping * v

    def _limited(self, effort: Vector) -> Vector:
        return np.clip(effort, -self._robot.tau_max, self._robot.tau_max)


def _told(plan: Plan) -> str:
    moving = plan.moving_joints
    if len(moving) == 1:
        return plan.reason
    names = ", ".join(plan.joint_names[i] for i in moving)
    return f"the plan moves {len(moving)} joints ({names})"


def _distinct(segments: list[Segment]) -> list[Segment]:
    """Drop what would be over within the nanosecond in which it begins: time is whole there."""
    begins = [round(segment.offset * 1e9) for segment in segments] + [-1]
    return [s for s, begin, end in zip(segments, begins, begins[1:], strict=False) if begin != end]
