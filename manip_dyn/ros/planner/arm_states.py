"""The arm as the planner hears it: its newest state, and whether it can have come there itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rclpy.node import Node
from sensor_msgs.msg import JointState

from manip_dyn.control.continuity import MeasuredState, reset_reason
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import to_nanoseconds
from manip_dyn.ros.messages.joints import in_joint_order
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.runtime.subscriptions import NEWEST_ONLY

WATCH_PERIOD = 0.1
"""Wall time between looks whether the arm is silent, s."""


class Loss(NamedTuple):
    """Why an arm is not where a motion left it: a code, and the reason in words."""

    code: str
    reason: str


class ArmStates:
    """Subscribes to joint_states.

    Attributes:
        measured: The newest state; None before the first, and after a silence.
        topic: Where states come from.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: BangBangPlannerParameters,
        hear: Callable[[MeasuredState | None, MeasuredState], None],
        drop: Callable[[object], None],
    ):
        """Call `hear` with the state before and the new one, `drop` with why one is no good."""
        self._robot, self._hear, self._drop = robot, hear, drop
        self._timeout = parameters.state_timeout
        self._longest = max(self._timeout, 10.0 * parameters.control_period)
        self.measured: MeasuredState | None = None
        self._heard_at = self._looked_at = time.monotonic()
        # Lockstep sends no second state before the first is answered.
        self.topic = node.create_subscription(
            JointState, "joint_states", self._on_joint_state, NEWEST_ONLY
        ).topic_name

    def loss(self, before: MeasuredState, measured: MeasuredState) -> Loss | None:
        """Return why the arm was lost between two states, if it was."""
        reset = reset_reason(self._robot, before, measured)
        if reset:
            return Loss("reset", reset)
        gap = 1e-9 * (measured.stamp_ns - before.stamp_ns)
        if self._timeout and gap > self._longest:
            return Loss("silence", f"no joint states for {gap:.1f} s of their stamps")
        return None

    def silence(self) -> float:
        """Return for how long nothing came, s, if that is too long; the state is forgotten.

        To be called every `WATCH_PERIOD`. Time in which this process itself stood still is no
        silence of the arm: what was sent meanwhile is still to be read, and tells by its stamps.
        """
        now, before = time.monotonic(), self._looked_at
        self._looked_at = now
        self._heard_at += max(0.0, now - max(before, self._heard_at) - 2.0 * WATCH_PERIOD)
        silence = now - self._heard_at
        if self.measured is None or not silence > self._timeout > 0.0:
            return 0.0
        self.measured = None
        return silence

    def _on_joint_state(self, message: JointState) -> None:
        try:
            q = in_joint_order(message, self._robot, "position")
            v = in_joint_order(message, self._robot, "velocity")
        except ManipDynError as error:
            self._drop(error)
            return
        self._heard_at = time.monotonic()
        before = self.measured
        self.measured = MeasuredState(to_nanoseconds(message.header.stamp), q, v)
        self._hear(before, self.measured)
