"""Topics between planner and arm: joint states, efforts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.control.computed_torque import delay_margin
from manip_dyn.control.continuity import MeasuredState, reset_reason
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.checks import Matrix
from manip_dyn.planning import Segment, mean_effort
from manip_dyn.planning.execution.sampled_motion import SAME
from manip_dyn.robot import Robot
from manip_dyn.ros.diagnostics import other_publishers
from manip_dyn.ros.joint_states import JointStateSubscription
from manip_dyn.ros.loop_delay import CommandEnd, LoopDelay, excess
from manip_dyn.ros.messages.joints import Validity, effort_command, release_command
from manip_dyn.ros.messages.trajectories import release_trajectory, trajectory_from
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.runtime.execution import publish_last
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE

WATCH_PERIOD = 0.1
"""Wall time between checks for silence, s."""
GAINS = "'stiffness' and 'damping'"
"""Names of the gains that determine the delay margin."""
STANDING = 0.5
"""Wall time with equal stamps after which stopped time is reported, s."""


class Loss(NamedTuple):
    """Code and reason of an event after which a motion cannot continue."""

    code: str
    reason: str


class ArmStates:
    """Subscription to joint_states, with detection of resets, silence and late control loops.

    Attributes:
        measured: The latest state; None before the first one and after a silence.
        loop_delay: Delay from a state to the effect of its command.
        topic: Name of the topic.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        estimator: StateEstimator,
        parameters: BangBangPlannerParameters,
        receive: Callable[[MeasuredState | None, MeasuredState], None],
        drop: Callable[[object], None],
    ):
        """Subscribe.

        Args:
            node: The node.
            robot: The arm.
            estimator: Builds states from the messages.
            parameters: The planner's parameters.
            receive: Called with the previous state (or None) and the new state.
            drop: Called with the error of an invalid message.
        """
        self._robot, self._receive, self._estimator = robot, receive, estimator
        self._node = node
        self._damping, self._timeout = parameters.damping, parameters.state_timeout
        self._end = CommandEnd(parameters.command_periods, parameters.control_period)
        self._announced = parameters.delay
        self._is_announced = not isinstance(parameters.transport_delay, str)
        self._stable = delay_margin(
            parameters.stiffness, parameters.damping, parameters.control_period
        )
        self.loop_delay = LoopDelay(robot, parameters.control_period)
        self._without_end_ns = round(1e10 * parameters.control_period)
        self._was_valid_ns: int | None = None
        self.measured: MeasuredState | None = None
        self._received_at = self._fresh_at = self._checked_at = time.monotonic()
        self._subscription = JointStateSubscription(
            node, estimator, robot, self._on_state, drop, executed=lambda: True
        )
        self.topic = self._subscription.topic_name

    def loss(self, before: MeasuredState, measured: MeasuredState, moving: bool) -> Loss | None:
        """Return a reset between two successive states, or a motion without control, or None."""
        reset = reset_reason(self._robot, before, measured)
        if reset:
            count = self._node.count_publishers(self.topic)
            return Loss("reset", reset + (f" ({count} publishers)" if count > 1 else ""))
        if not moving:
            self.loop_delay.ineffective = 0.0
        late = self.loop_delay.failure(self.margin, GAINS) if moving else ""
        return Loss("late", late) if late else None

    @property
    def valid_ns(self) -> int | None:
        """Time (ns) after the latest state at which its command ends, or None for never."""
        return self._end.duration_ns(self._delay)

    def validity(self, stamp_ns: int) -> Validity | None:
        """Return the validity of a command for the state with a stamp, ns; None for no end."""
        return self._end.validity(stamp_ns, self._delay, max(self.margin, self._announced))

    @property
    def _delay(self) -> float:
        if self.loop_delay.seconds is None and self._is_announced:
            return self._announced
        return max(self._announced, min(self.loop_delay.bound, self.margin))

    def gap_ns(self, before: MeasuredState, measured: MeasuredState) -> int:
        """Return the time between the last two states in which no command was valid, ns.

        In this time the safe command has braked the arm, or the stamps have skipped. If commands
        have no end, they are valid for ten control periods in this respect.
        """
        valid = self._was_valid_ns or self._without_end_ns
        return max(measured.stamp_ns - before.stamp_ns - valid, 0)

    @property
    def margin(self) -> float:
        """Delay of the control loop above which the feedback is unstable, s."""
        return max(self._stable - self._estimator.velocity_delay, 0.0)

    def delayed(self) -> str:
        """Describe the delay of the control loop if it exceeds half its margin; else return ""."""
        return excess(self.loop_delay.seconds, 0.5 * self.margin, self.margin, GAINS)

    def standing(self) -> float:
        """Return the wall time for which states have had the same stamp, s; 0 for a short one."""
        stood = self._received_at - self._fresh_at
        return stood if self.measured is not None and stood > STANDING else 0.0

    def silence(self) -> float:
        """Return the duration of a silence (s) if it exceeds the timeout, else 0.

        After such a silence, `measured` is None. Call this method every `WATCH_PERIOD`. Times in
        which this process was suspended do not count: the messages from these times are received
        later, with their stamps.
        """
        now, before = time.monotonic(), self._checked_at
        self._checked_at = now
        self._received_at += max(0.0, now - max(before, self._received_at) - 2.0 * WATCH_PERIOD)
        silence = now - self._received_at
        if self.measured is None or not silence > self._timeout > 0.0:
            return 0.0
        self.measured = None
        return silence

    def _on_state(self, measured: MeasuredState) -> None:
        self._subscription.velocity_hint(self._damping, "damping")
        self._received_at = time.monotonic()
        before, self.measured = self.measured, measured
        if before is None or before.stamp_ns != measured.stamp_ns:
            self._fresh_at = self._received_at
            self._was_valid_ns = self.valid_ns
            if before is None or before.stamp_ns > measured.stamp_ns:
                self.loop_delay.restart()
            self.loop_delay.received(measured.stamp_ns, self._subscription.effort)
        self._receive(before, measured)


class EffortTopics:
    """Publishes efforts as commands, or as trajectories if they switch within a period.

    If the parameter `switching` is sampled, all efforts are commands, averaged over the period.
    """

    def __init__(self, node: Node, robot: Robot, parameters: BangBangPlannerParameters):
        """Create the publishers."""
        self._node = node
        self._robot, self._period = robot, parameters.control_period
        self._sampled = parameters.switching == "sampled"
        self._message: JointTrajectory | None = None
        self._commands = node.create_publisher(
            Float64MultiArray, parameters.command_topic, EVERY_MESSAGE
        )
        self._switches = node.create_publisher(
            JointTrajectory, parameters.effort_trajectory_topic, EVERY_MESSAGE
        )

    @property
    def name(self) -> str:
        """Name of the command topic."""
        return self._commands.topic_name

    def connected(self) -> bool:
        """Return whether all effort topics in use have subscribers."""
        needed = (self._commands,) if self._sampled else (self._commands, self._switches)
        return all(topic.get_subscription_count() > 0 for topic in needed)

    def others(self) -> str:
        """Return the names of the other nodes that publish on the command topic, or ""."""
        return other_publishers(self._node, self.name)

    def publish(
        self,
        stamp_ns: int,
        segments: Sequence[Segment],
        validity: Validity | None,
        delay: float,
    ) -> Matrix:
        """Publish efforts that start at the stamp of a state; return those that may act (k, n).

        Args:
            stamp_ns: The stamp, ns.
            segments: The efforts. Those that start after the end of the command are dropped.
            validity: Validity of the command, or None for a command without an end.
            delay: Time after the state from which a command acts, s.
        """
        end = None if validity is None else 1e-9 * validity.duration_ns
        if end is not None:
            segments = [row for row in segments if row.offset == 0.0 or row.offset < end - SAME]
        if self._sampled or len(segments) == 1:
            effort = segments[0].effort
            if self._sampled:
                effort = mean_effort(list(segments), self._period, delay)
            self._commands.publish(effort_command(effort, validity))
            return effort[None]
        message = trajectory_from(self._robot, stamp_ns, segments, end, self._message)
        self._message = message
        self._switches.publish(message)
        return np.array([segment.effort for segment in segments])

    def release(self) -> None:
        """End the current command. The simulator then applies its safe command immediately.

        Each topic preserves its order, so that no earlier message acts after both are received.
        """
        last = (self._commands, release_command()), (self._switches, release_trajectory())
        publish_last(self._node, last)
