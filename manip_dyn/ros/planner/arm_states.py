"""Joint states of the arm: the latest state, and detection of resets and silence."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rclpy.node import Node

from manip_dyn.control.continuity import MeasuredState, reset_reason
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.robot import Robot
from manip_dyn.ros.joint_states import JointStateSubscription
from manip_dyn.ros.loop_delay import CommandEnd
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters

WATCH_PERIOD = 0.1
"""Wall time between checks for silence, s."""
STANDING = 0.5
"""Wall time with equal stamps after which stopped time is reported, s."""


class Loss(NamedTuple):
    """Code and reason of an event after which a motion cannot continue."""

    code: str
    reason: str


class ArmStates:
    """Subscription to joint_states, with detection of resets and silence.

    Attributes:
        measured: The latest state; None before the first one and after a silence.
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
        self._robot, self._receive = robot, receive
        self._damping, self._timeout = parameters.damping, parameters.state_timeout
        self._end = CommandEnd(parameters.command_periods, parameters.control_period)
        self._delay = parameters.transport_delay
        self._without_end_ns = round(1e10 * parameters.control_period)
        self._was_valid_ns: int | None = None
        self.measured: MeasuredState | None = None
        self._received_at = self._fresh_at = self._checked_at = time.monotonic()
        self._subscription = JointStateSubscription(
            node, estimator, robot, self._on_state, drop, executed=lambda: True
        )
        self.topic = self._subscription.topic_name

    def loss(self, before: MeasuredState, measured: MeasuredState) -> Loss | None:
        """Return the reset between two successive states, or None."""
        reset = reset_reason(self._robot, before, measured)
        return Loss("reset", reset) if reset else None

    @property
    def valid_ns(self) -> int | None:
        """Time (ns) after the latest state at which its command ends, or None for never."""
        return self._end.duration_ns(self._delay)

    def gap_ns(self, before: MeasuredState, measured: MeasuredState) -> int:
        """Return the time between the last two states in which no command was valid, ns.

        In this time the safe command has braked the arm, or the stamps have skipped. If commands
        have no end, they are valid for ten control periods in this respect.
        """
        valid = self._was_valid_ns or self._without_end_ns
        return max(measured.stamp_ns - before.stamp_ns - valid, 0)

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
            self._end.received(measured.stamp_ns)
        self._receive(before, measured)
