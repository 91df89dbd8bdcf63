"""Estimate of an arm during a motion: delay, masses, friction and disturbance."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.execution.disturbance import DisturbanceObserver
from manip_dyn.planning.execution.effort_model import EffortModel
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.planning.execution.identification import Identified, MotionRecord
from manip_dyn.planning.execution.scheduled_motion import ScheduledMotion
from manip_dyn.robot import Robot

LONGEST_DELAY = 0.02
"""Longest delay beyond the assumed one that can be identified, s."""


class ArmEstimate:
    """Estimates the delay of the commands, masses, friction and disturbance from a record.

    Attributes:
        record: Measured states and commands.
        delay: Delay of the commands, s: the assumed one until another one is identified.
        longest: Longest delay that can be identified, s.
        model: Masses and friction.
    """

    def __init__(self, robot: Robot, tuning: Tuning, record: MotionRecord, delay: float):
        """Set the robot, the bandwidth of the observer, the record and the assumed delay, s."""
        self._robot, self._tuning, self.record = robot, tuning, record
        self.delay, self.longest = delay, delay + LONGEST_DELAY
        self.model = EffortModel.exact(robot.n)
        self._zero = np.zeros(robot.n)
        self._observer: DisturbanceObserver | None = None

    @property
    def noise(self) -> Matrix:
        """Standard deviations (2, n) of the noise of positions and velocities."""
        return self.record.noise

    @property
    def disturbance(self) -> Vector:
        """Estimated efforts (n,) that neither commands nor model explain."""
        return self._zero if self._observer is None else self._observer.effort

    @property
    def is_observed(self) -> bool:
        """Whether the disturbance is estimated."""
        return self._observer is not None

    def observe(self) -> None:
        """Start the estimation of the disturbance."""
        if self._observer is None and self._tuning.observer_bandwidth > 0.0:
            self._observer = DisturbanceObserver(self._robot, self._tuning)

    def forget_disturbance(self) -> None:
        """End the estimation of the disturbance."""
        self._observer = None

    def identified(self) -> Identified | None:
        """Return the most probable delay and model, or None if there are not enough states."""
        return self.record.identified(self.delay, self.longest, self.model)

    def use(self, model: EffortModel, velocities: Vector) -> None:
        """Use another model.

        The friction of the new model explains a part of the disturbance, in the direction of the
        velocities (n,) of the arm.
        """
        if self._observer is not None:
            more = model.friction - self.model.friction
            self._observer.explain(-more * np.sign(velocities))
        self.model = model
        if not model.is_exact:
            self.observe()

    def update(self, followed: ScheduledMotion, t: float) -> None:
        """Correct the disturbance with the last state, which was measured at time `t`, s."""
        if self._observer is None:
            return
        if followed.is_over(t):
            self._attribute_to_friction(self._observer, followed)
        else:
            self._observer.observe(self.record, self.delay, self.model)

    def _attribute_to_friction(
        self, observer: DisturbanceObserver, followed: ScheduledMotion
    ) -> None:
        """Attribute disturbances against the last motion to friction, because the arm is at rest.

        At rest, a constant compensation would hold the arm away from its goal. After a stop, the
        disturbances are forgotten, because a push may have caused them.
        """
        velocities = followed.motion.v
        if len(velocities) > 1 and not followed.stopping:
            against = -np.sign(velocities[-2]) * observer.effort
            self.model = self.model.with_friction(self.model.friction + against, self._robot)
        observer.effort = self._zero
