"""Braking and holding of an arm by feedback, without a plan."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.joint_drives import Brake
from manip_dyn.control.state_estimation import SIGMAS, StateEstimator
from manip_dyn.core.checks import Vector
from manip_dyn.planning import Segment
from manip_dyn.planning.execution.feedback import Feedback
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters, tuning_from

SLOW = 0.5
"""Joint speed (rad/s or m/s) from which feedback stops the arm within about 0.01 rad or m."""


class BrakingMotion:
    """Slows the arm down from any speed by `Brake`, then holds it in place by feedback.

    Attributes:
        arrived: Whether the arm rests at the held position.
    """

    def __init__(
        self,
        robot: Robot,
        parameters: BangBangPlannerParameters,
        estimator: StateEstimator,
        held: Vector | None = None,
    ):
        """Create the brake and the feedback.

        Args:
            robot: The arm.
            parameters: The planner's parameters.
            estimator: Estimates the noise of the states, which must not prevent rest.
            held: Positions (n,) to hold without braking, rad or m. Default: brake, then hold the
                current positions.
        """
        self._brake = Brake(customize(robot), period=parameters.control_period)
        self._feedback = Feedback(robot, tuning_from(parameters))
        self._rest_speed, self._near = parameters.rest_speed, 10.0 * parameters.arrival_tolerance
        self._estimator = estimator
        self._zero = np.zeros(robot.n)
        self._before: MeasuredState | None = None
        self._held = held
        self.arrived = False

    def segments(self, measured: MeasuredState) -> list[Segment]:
        """Return the efforts for a measured state."""
        fastest = float(np.abs(measured.v).max())
        if self._held is None and fastest > SLOW:
            return [Segment(0.0, self._brake.effort(measured.stamp_ns, measured.q, measured.v))]
        if self._held is None:
            self._held = measured.q.copy()
        off = float(np.abs(self._held - measured.q).max())
        near = off <= self._near or off <= SIGMAS * float(self._estimator.noise().position.max())
        self.arrived = near and self._estimator.at_rest(measured.v, self._rest_speed)
        return [Segment(0.0, self._holding(measured, self._held))]

    def _holding(self, measured: MeasuredState, held: Vector) -> Vector:
        if self._before is not None:
            duration = 1e-9 * (measured.stamp_ns - self._before.stamp_ns)
            self._feedback.integrate(held - measured.q, duration)
        self._before = measured
        correction = self._feedback.correction(measured.q, measured.v, held, self._zero)
        return self._feedback.limited(measured.q, self._feedback.hold(held) + correction)

    def stop(self, _measured: MeasuredState) -> None:
        """Do nothing: this motion stops the arm in any case."""

    def hold(self, _duration_ns: int) -> None:
        """Do nothing: this motion does not depend on time."""

    def is_over(self, _measured: MeasuredState) -> bool:
        """Return False: the arm is held until another motion begins."""
        return False

    def returned(self) -> bool:
        """Return False: there is no plan that the arm could leave."""
        return False
