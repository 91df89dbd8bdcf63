"""Control loop of the tracker: its delay, and the gains and commands that this delay permits."""

from __future__ import annotations

from collections import deque
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
RECENT = 1.0
"""Time for which missing states reduce the gains and extend the gap, s."""
RESERVE = 2.0
"""Smallest ratio of the delay margin to the present delay, including missing states."""


class RecentMaximum:
    """Largest of the values in the last `RECENT` s of stamps; 0 before the first value."""

    def __init__(self) -> None:
        """Start without values."""
        self._values: deque[tuple[int, float]] = deque()  # decreasing

    def add(self, stamp_ns: int, value: float) -> None:
        """Add a value with a stamp, ns."""
        values = self._values
        while values and values[-1][1] <= value:
            values.pop()
        values.append((stamp_ns, value))
        while values[0][0] < stamp_ns - 1e9 * RECENT:
            values.popleft()

    def clear(self) -> None:
        """Discard all values."""
        self._values.clear()

    def __float__(self) -> float:
        """Return the largest value."""
        return self._values[0][1] if self._values else 0.0


class ControlLoop:
    """Measures the delay of the control loop, and limits gains and commands accordingly.

    The feedback is reduced to a delay margin of at least `RESERVE` times the present delay. This
    is the measured delay, or at once the age of a command that does not act yet, plus the longest
    recent time without states, for which efforts are held. While the delay is unknown, the margin
    is at least `UNKNOWN`. The simulator then drops commands that are later than half of it. The
    efforts are then computed for the largest remaining delay: late efforts drive the arm beyond
    the reference velocity, early ones do not.
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
        self._age, self._missing = RecentMaximum(), RecentMaximum()
        self._answered_ns: int | None = None
        self._received_ns: int | None = None
        self.use(parameters)

    @property
    def seconds(self) -> float | None:
        """Measured delay, or else the announced one, s; None if it is unknown."""
        measured = self._delay.seconds
        return self._announced if measured is None else measured

    @property
    def lead(self) -> float:
        """Delay for which the efforts are computed, s: an upper bound before it is measured."""
        delay = self._delay.bound if self.seconds is None else self.seconds
        return min(delay, self.largest)

    @property
    def gap(self) -> float:
        """Longest recent time without states in addition to the period, s.

        It is at most the time for which commands are valid.
        """
        return float(self._missing)

    @property
    def largest(self) -> float:
        """Delay above which commands are dropped, s."""
        return self.margin * (0.5 if self._is_unknown else 1.0)

    @property
    def margin(self) -> float:
        """Delay at which the loop becomes unstable with the largest gains, s."""
        gains = self._gains
        if self._is_unknown:
            gains = self._controller.stiffness, self._controller.damping
        margin = delay_margin(*gains, self._controller.period)
        return max(margin - self._estimator.velocity_delay, 0.0)

    def use(self, parameters: ClikTrackerParameters) -> None:
        """Use other gains."""
        self._gains = parameters.joint_stiffness, parameters.joint_damping
        self._set_gains()

    def restart(self) -> None:
        """Discard the measured delay."""
        self._delay.restart()
        self._age.clear()
        self._missing.clear()
        self._answered_ns = self._received_ns = None
        self._set_gains()

    def received(self, stamp_ns: int, effort: Sequence[float] | None) -> None:
        """Measure the delay from a state with a new stamp (ns) and its efforts (n,), if any."""
        self._delay.received(stamp_ns, effort)
        before, period = self._received_ns, self._controller.period
        missing = 0.0 if before is None else max(1e-9 * (stamp_ns - before) - period, 0.0)
        valid = self._end.duration_ns(0.0)
        if valid is not None:  # the simulator brakes after that time
            missing = min(missing, 1e-9 * valid)
        self._received_ns = stamp_ns
        self._age.add(stamp_ns, self._delay.age)
        self._missing.add(stamp_ns, missing)
        self._set_gains()

    def braked_ns(self, stamp_ns: int) -> int:
        """Return the time for which no command was valid before the answer to a state, ns."""
        valid = self._end.duration_ns(0.0)
        if valid is None or self._answered_ns is None:
            return 0
        return max(stamp_ns - self._answered_ns - valid, 0)

    def sent(self, stamp_ns: int, effort: Vector) -> Validity | None:
        """Record the efforts (n,) for the state with a stamp (ns); return their validity."""
        self._delay.sent(stamp_ns, effort)
        self._answered_ns, largest = stamp_ns, self.largest
        delay = largest if self.seconds is None else max(self.seconds, self._delay.age)
        return self._end.validity(stamp_ns, min(delay, largest), largest)

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
            f"{stiffness:.3g} and the damping {damping:.3g}, commands act up to "
            f"{self.largest:.3g} s after their states; set 'transport_delay'"
        )

    @property
    def _is_unknown(self) -> bool:
        return self._announced is None and not self._delay.is_known

    @property
    def _present(self) -> float:
        """The measured delay, or the recent age of a command without effect if longer, s."""
        return max(self.seconds or 0.0, float(self._age))

    def _set_gains(self) -> None:
        controller, delay = self._controller, UNKNOWN
        if not self._is_unknown:
            delay = RESERVE * (min(self._present, self.margin) + self.gap)
        delay += self._estimator.velocity_delay
        gains = reduced_feedback(*self._gains, controller.period, delay)
        if gains != (controller.stiffness, controller.damping):
            controller.set_feedback(*gains)
