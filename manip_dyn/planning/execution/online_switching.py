"""Online switching of one joint when its measured state meets its braking curve."""

from __future__ import annotations

from scipy.optimize import brentq

from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.braking import BrakingCurve, Move
from manip_dyn.planning.execution.feedback import Feedback
from manip_dyn.planning.execution.segments import Segment, distinct
from manip_dyn.robot import Robot


class OnlineSwitching:
    """Determines the switch from the measured state within a period (Fan 2003, section 6.3.2).

    The joint is driven while it is slower than its braking curve, and braked on the curve. At
    rest, all joints are held at the goal by computed torque with feedback. A switch or an arrival
    within the next `horizon` starts a separate segment at its exact time, so the final error does
    not depend on the sample times.
    """

    ON_CURVE = 1e-7
    """Speed deficit below which the state is on the braking curve, rad/s or m/s."""

    def __init__(
        self,
        robot: Robot,
        joint: int,
        start: Vector,
        goal: Vector,
        horizon: float,
        feedback: Feedback,
    ):
        """Prepare the motion of a joint.

        Args:
            robot: The arm.
            joint: Index of the joint.
            start: Start positions (n,), rad or m.
            goal: Goal positions (n,), rad or m. The other joints are held there.
            horizon: Time ahead for which efforts are required, s.
            feedback: Feedback that holds the joints.
        """
        self.arrived = False
        self._move = Move.of(robot, joint, float(start[joint]), goal)
        self._goal, self._horizon = goal, horizon
        self._feedback = feedback

    @property
    def curve(self) -> BrakingCurve:
        """The braking curve of the joint."""
        return self._move.curve

    @property
    def joint(self) -> int:
        """Index of the moving joint."""
        return self._move.joint

    def segments(self, q: Vector, v: Vector) -> list[Segment]:
        """Return the efforts for a measured state with positions `q` (n,) and velocities `v` (n,).

        The first segment has offset 0. More segments follow if efforts jump within the horizon.
        """
        if self.arrived or self._comes_back(q, v):
            self.arrived = True
            return [Segment(0.0, self._held(q, v))]
        segments, offset, q, v = self._drive(q, v)
        return segments if offset is None else distinct(segments + self._brake(offset, q, v))

    def _comes_back(self, q: Vector, v: Vector) -> bool:
        """Return whether the joint has passed the goal and no longer moves away from it."""
        curve, joint = self._move.curve, self._move.joint
        passed = curve.sign * (q[joint] - curve.goal) >= 0.0
        return passed and curve.sign * v[joint] <= 0.0

    def _drive(self, q: Vector, v: Vector):
        """Drive the joint until it meets the curve.

        Returns:
            The driving segment, if any; the time (s) at which the joint meets the curve, or None
            if that is after the horizon; and positions and velocities (n,) at that time.
        """
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
        """Return the braking segment, and a hold segment if the joint stops within the horizon."""
        curve, joint = self._move.curve, self._move.joint

        def speed(duration: float) -> float:
            moved = curve.motion.propagate(q[joint], v[joint], curve.brake, duration)
            return curve.sign * moved[1]

        remaining = self._horizon - offset
        if remaining <= 0.0 or speed(remaining) > 0.0:
            return [self._segment(offset, q, v, curve.brake, remaining)]
        rest = brentq(speed, 0.0, remaining, xtol=1e-13) if speed(0.0) > 0.0 else 0.0
        self.arrived = True
        braking = self._segment(offset, q, v, curve.brake, rest)
        q, v = self._moved(q, v, curve.brake, rest)
        return [braking, Segment(offset + rest, self._held(q, v))]

    def _segment(
        self, offset: float, q: Vector, v: Vector, effort: float, duration: float
    ) -> Segment:
        """Return a segment that drives the joint with `effort` and holds the other joints.

        The efforts depend on the state but are constant in the segment. They are evaluated at its
        midpoint, so the disturbance of the held joints is of second order in the period.
        """
        q, v = self._moved(q, v, effort, 0.5 * max(duration, 0.0))
        desired = self._feedback.acceleration(q, v, self._goal, 0.0 * v)
        efforts = self._move.curve.motion.full_efforts(q, v, effort, desired)
        return Segment(offset, self._feedback.limited(q, efforts))

    def _moved(self, q: Vector, v: Vector, effort: float, duration: float):
        """Return the state after `duration` seconds.

        The joint moves under `effort`. The velocities of the other joints are constant.
        """
        joint = self._move.joint
        q, v = q + duration * v, v.copy()
        q[joint] -= duration * v[joint]
        q[joint], v[joint] = self._move.curve.motion.propagate(
            q[joint], v[joint], effort, duration
        )
        return q, v

    def _held(self, q: Vector, v: Vector) -> Vector:
        rest = 0.0 * v
        effort = self._feedback.hold(self._goal) + self._feedback.correction(
            q, v, self._goal, rest
        )
        return self._feedback.limited(q, effort)
