"""Dynamic mode: the arm on joint_states, whose every new state is answered with one command."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.clik import task_error, tool_pose
from manip_dyn.clik.control.joint_reference import JointReference
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.messages.efforts import effort_command
from manip_dyn.ros.messages.joints import by_name, joint_state
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import EVERY_MESSAGE, NEWEST_ONLY
from manip_dyn.ros.parameters.clik_tracker import ClikTrackerParameters, driver_from
from manip_dyn.ros.runtime.pacing import PacingStatistics, PeriodStatistics
from manip_dyn.ros.runtime.wall_timer import every
from manip_dyn.ros.tracker.calls import Calls

SEND_AGAIN = 1.0
"""Wall time after which an unanswered command is sent again: it may have been lost, s."""


class DynamicMode:
    """The topics to and from an arm that an `ArmDriver` drives.

    Attributes:
        problem: What is wrong with the arm or what it says, or nothing.
    """

    def __init__(
        self,
        node: Node,
        reference: JointReference,
        parameters: ClikTrackerParameters,
        calls: Calls,
    ):
        """Subscribe and publish."""
        self._node, self._reference, self._parameters = node, reference, parameters
        self._robot, self._calls = reference.follower.robot, calls
        self._driver = driver_from(parameters, reference, calls.begun, calls.before_step)
        self.problem = "no joint states yet"
        self._heard_at = self._sent_at = time.perf_counter()
        self._arrivals = PeriodStatistics()
        self._effort = np.zeros(self._robot.n)
        self._errors = node.create_publisher(JointState, "~/joint_error", 100)
        self._commands = node.create_publisher(
            Float64MultiArray, parameters.command_topic, EVERY_MESSAGE
        )

    def start(self) -> None:
        """Listen to the arm."""
        # Lockstep sends no second state before the first is answered.
        self._node.create_subscription(
            JointState, "joint_states", self._on_joint_state, NEWEST_ONLY
        )
        every(self._node, 0.1, self._watch)

    def stop(self) -> None:
        """End nothing: the arm keeps the time."""

    def restart(self) -> str:
        """Begin the path anew with the next state."""
        self._driver.restart()
        return "back to the start of the path, from where the arm is"

    def pause(self, paused: bool) -> None:
        """Hold the arm, or go on."""
        self._driver.paused = paused

    def use(self, parameters: ClikTrackerParameters) -> None:
        """Go on with other feedback."""
        self._parameters = parameters
        self._driver.controller.set_feedback(parameters.joint_stiffness, parameters.joint_damping)

    def statistics(self) -> PacingStatistics:
        """Return rate and period errors of the joint states' arrival."""
        return self._arrivals.read()

    def report(self) -> dict[str, Any]:
        """Return what the driver tells."""
        return self._driver.report()

    def _on_joint_state(self, message: JointState) -> None:
        try:
            q = by_name(message, self._robot, "position")
            v = by_name(message, self._robot, "velocity")
        except ManipDynError as error:
            self._warn(f"dropped: {error}")
            return
        stamp, now = to_nanoseconds(message.header.stamp), time.perf_counter()
        if stamp == self._driver.stamp_ns:
            self._heard_at = now
            # Repeated while time stands still.
            if now - self._sent_at > SEND_AGAIN:
                self._send()
            return
        if self._commands.get_subscription_count() == 0:
            self.problem = f"nobody listens on {self._commands.topic_name}"
            return
        self._time(stamp, now)
        pick_ups = self._driver.pick_ups
        self._effort = self._driver.answer(stamp, q, v).effort
        self.problem = ""
        self._send()
        self._publish_error(stamp, q, v)
        if self._driver.pick_ups > pick_ups:
            self._warn(f"the arm is picked up where it is: {self._driver.reason}")
        while self._driver.news:
            self._node.get_logger().warning(self._driver.news.pop(0))
        self._tell(stamp, q, v)

    def _time(self, stamp: int, now: float) -> None:
        before = self._driver.stamp_ns
        if before is None or stamp < before:
            self._arrivals.begin()
        else:
            self._arrivals.add(now - self._heard_at - (stamp - before) * 1e-9)
        self._heard_at = now

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._commands.publish(effort_command(self._effort))

    def _publish_error(self, stamp: int, q: Vector, v: Vector) -> None:
        due = self._driver.steps % self._parameters.publish_every == 0
        if due and self._errors.get_subscription_count():
            wanted = self._driver.wanted
            error = wanted.q - q, wanted.v - v, self._effort.tolist()
            self._errors.publish(joint_state(self._robot, stamp, *error))

    def _tell(self, stamp: int, q: Vector, v: Vector) -> None:
        """Tell of the arm's own joints."""
        if self._reference.on_path:
            wanted, actual = self._reference.sample, tool_pose(self._robot, q)
            kind = self._reference.follower.settings.orientation_error
            error = task_error(wanted.desired, actual, kind)
            self._calls.told(stamp, wanted._replace(q=q, v=v, actual=actual, error=error))

    def _watch(self) -> None:
        silence = time.perf_counter() - self._heard_at
        if silence > self._parameters.state_timeout:
            self.problem = f"no joint states for {silence:.1f} s"

    def _warn(self, sentence: str) -> None:
        self._node.get_logger().warning(sentence, throttle_duration_sec=1.0)
