"""Control loop of the tracker: its delay, and the gains and commands that this delay permits."""

from __future__ import annotations

from collections.abc import Sequence

from manip_dyn.control.computed_torque import ComputedTorque, delay_margin, reduced_feedback
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.checks import Vector
from manip_dyn.ros.loop_delay import CommandEnd, LoopDelay, excess
from manip_dyn.ros.messages.joints import Validity
from manip_dyn.ros.parameters.clik_tracker import ClikTrackerParameters

GAINS = "'joint_stiffness' and 'joint_damping'"
"""Names of the gains that determine the delay margin."""
UNKNOWN = 0.06
"""Delay up to which the feedback is stable while the delay is unknown, s. Commands that are later
than half the delay margin are then dropped."""


class ControlLoop:
    """Measures the delay of the control loop, and limits gains and commands accordingly.

    While the delay is unknown, the feedback is reduced to a delay margin of at least `UNKNOWN`.
    The simulator drops commands that are later than half this margin.
    """

    def __init__(
        self,
        controller: ComputedTorque,
        estimator: StateEstimator,
        parameters: ClikTrackerParameters,
    ):
        """Set the gains.

        Args:
            controller: The controller of the arm, whose gains are changed.
            estimator: Estimates the states, maybe with a delay.
            parameters: The tracker's parameters.
        """
        self._controller, self._estimator = controller, estimator
        self._delay = LoopDelay(controller.robot, parameters.step)
        self._end = CommandEnd(parameters.command_periods, parameters.step)
        number = parameters.transport_delay
        self._announced = None if isinstance(number, str) else number
        self.use(parameters)

    @property
    def seconds(self) -> float | None:
        """Measured delay, or else the announced one, s; None if it is unknown."""
        measured = self._delay.seconds
        return self._announced if measured is None else measured

    @property
    def margin(self) -> float:
        """Delay at which the loop becomes unstable, s."""
        controller = self._controller
        margin = delay_margin(controller.stiffness, controller.damping, controller.period)
        return max(margin - self._estimator.velocity_delay, 0.0)

    def use(self, parameters: ClikTrackerParameters) -> None:
        """Use other gains."""
        self._gains = parameters.joint_stiffness, parameters.joint_damping
        self._set_gains()

    def restart(self) -> None:
        """Discard the measured delay."""
        self._delay.restart()
        self._set_gains()

    def received(self, stamp_ns: int, effort: Sequence[float] | None) -> None:
        """Measure the delay from a state with a new stamp (ns) and its efforts (n,), if any."""
        self._delay.received(stamp_ns, effort)
        self._set_gains()

    def sent(self, stamp_ns: int, effort: Vector) -> Validity | None:
        """Record the efforts (n,) for the state with a stamp (ns); return their validity."""
        self._delay.sent(stamp_ns, effort)
        delay, margin = self.seconds, self.margin
        if self._is_unknown:
            margin *= 0.5
        return self._end.validity(
            stamp_ns, margin if delay is None else min(delay, margin), margin
        )

    def failure(self) -> str:
        """Describe an unstable loop or commands without effect; return "" for a working loop."""
        margin = self.margin
        return self._delay.failure(margin, GAINS) or excess(self.seconds, margin, margin, GAINS)

    def delayed(self) -> str:
        """Describe a delay that exceeds half its margin; return "" otherwise."""
        margin = self.margin
        return excess(self.seconds, 0.5 * margin, margin, GAINS)

    def unknown(self) -> str:
        """Describe the reduced feedback if the delay remains unknown; return "" otherwise."""
        reason = self._delay.unknown() if self._is_unknown else ""
        if not reason:
            return ""
        stiffness, damping = self._controller.stiffness, self._controller.damping
        return (
            f"the loop delay is unknown, because {reason}: feedback with the stiffness "
            f"{stiffness:.3g} and the damping {damping:.3g}; set 'transport_delay'"
        )

    @property
    def _is_unknown(self) -> bool:
        return self._announced is None and not self._delay.is_known

    def _set_gains(self) -> None:
        controller, gains = self._controller, self._gains
        if self._is_unknown:
            delay = UNKNOWN + self._estimator.velocity_delay
            gains = reduced_feedback(*gains, controller.period, delay)
        if gains != (controller.stiffness, controller.damping):
            controller.set_feedback(*gains)
