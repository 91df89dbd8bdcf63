"""Dynamic mode: the arm on joint_states, whose every new state is answered with one command."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.clik import task_error, tool_pose
from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.joint_sentences import fastest, outside_limits
from manip_dyn.ros.messages.efforts import effort_command
from manip_dyn.ros.messages.joints import by_name, joint_state
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import EVERY_MESSAGE, NEWEST_ONLY
from manip_dyn.ros.other_publishers import other_publishers
from manip_dyn.ros.parameters.clik_tracker import ClikTrackerParameters, driver_from
from manip_dyn.ros.recent_overruns import RecentOverruns
from manip_dyn.ros.runtime.own_subscription import Listener, OwnSubscription
from manip_dyn.ros.runtime.pacing import Deadlines, PacingStatistics, PeriodStatistics
from manip_dyn.ros.tracker.calls import Calls
from manip_dyn.ros.tracker.states import Facts

STANDING = 0.5
"""Wall time from which on states of one stamp mean that time stands still, s."""
SEND_AGAIN = 20
"""How often a state may be repeated before its command is sent again: it may have been lost.

Not a time: where a process stood still, the command is still to be taken, and in lockstep a second
one would be a second period.
"""


class DynamicMode:
    """The topics to and from an arm that an `ArmDriver` drives."""

    def __init__(
        self,
        node: Node,
        reference: JointReference,
        parameters: ClikTrackerParameters,
        calls: Calls,
    ):
        """Subscribe and publish."""
        self._node, self._reference, self._parameters = node, reference, parameters
        self._log = node.get_logger()
        self._robot, self._calls = reference.follower.robot, calls
        self._driver = driver_from(parameters, reference, calls.begun, calls.before_step)
        self._measured: MeasuredState | None = None
        self._unheard, self._recent = False, RecentOverruns()
        self._heard_at = self._fresh_at = time.perf_counter()
        self._repeated = 0
        self._arrivals = PeriodStatistics()
        self._effort = np.zeros(self._robot.n)
        # Lockstep sends no second state before the first is answered.
        self._states = OwnSubscription(
            node, JointState, "joint_states", self._on_joint_state, NEWEST_ONLY
        )
        self._listener = Listener(node, self._states)
        self._errors = node.create_publisher(JointState, "~/joint_error", 100)
        self._commands = node.create_publisher(
            Float64MultiArray, parameters.command_topic, EVERY_MESSAGE
        )

    @property
    def positions(self) -> Vector:
        """Where the joints are (n,); where they are wanted before any state."""
        return self._reference.sample.q if self._measured is None else self._measured.q

    def early(self) -> str:
        """Return why no target can be taken yet, or nothing."""
        if self._driver.stamp_ns is None:
            return "before any joint state; expected the arm to be heard"
        return "while the arm is braked; expected it to be led" if self._driver.braking else ""

    def facts(self) -> Facts:
        """Return what is known of the arm now: nothing that it said too long ago."""
        topic, overruns = self._commands.topic_name, self._recent(self.statistics().overruns)
        if self._measured is None:
            return Facts(waiting=self._states.topic_name)
        silence = time.perf_counter() - self._heard_at
        if silence > self._parameters.state_timeout:
            return Facts(silence=silence)
        q, v, stood = self._measured.q, self._measured.v, self._heard_at - self._fresh_at
        led = not self._unheard and self._driver.stamp_ns is not None
        return Facts(
            outside=outside_limits(self._robot, q),
            unheard=topic if self._unheard else "",
            braking=fastest(self._robot, v) if self._driver.braking else "",
            others=other_publishers(self._node, topic),
            topic=topic,
            approaching=self._distance(q) if led and not self._reference.on_path else "",
            overruns=overruns,
            standing=stood if stood > STANDING else 0.0,
        )

    def _distance(self, q: Vector) -> str:
        """Return how far the tool is from where the path will be taken up."""
        there = self._reference.path.pose(self._reference.path_time)
        error = task_error(there, tool_pose(self._robot, q), "log")
        near = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
        return "{:.3g} m and {:.3g} rad".format(*near)

    def start(self) -> None:
        """Listen to the arm."""
        self._listener.start()

    def stop(self) -> None:
        """Listen no more."""
        self._listener.stop()

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
        """Return what the driver tells, unless it has nobody to drive."""
        return {} if self._unheard else self._driver.report()

    def _on_joint_state(self, message: JointState, _info: object) -> None:
        with self._calls.lock:
            self._hear(message)

    def _hear(self, message: JointState) -> None:
        try:
            q = by_name(message, self._robot, "position")
            v = by_name(message, self._robot, "velocity")
        except ManipDynError as error:
            self._log.warning(f"dropped: {error}", throttle_duration_sec=1.0)
            return
        stamp, now = to_nanoseconds(message.header.stamp), time.perf_counter()
        repeated = self._measured is not None and stamp == self._measured.stamp_ns
        if not repeated:
            self._time(stamp, now)
            self._fresh_at = now
        self._heard_at, self._measured = now, MeasuredState(stamp, q, v)
        self._unheard = self._commands.get_subscription_count() == 0
        if repeated and stamp == self._driver.stamp_ns:
            # Repeated while time stands still.
            self._repeated += 1
            if self._repeated == SEND_AGAIN:
                self._send()
        elif not self._unheard:
            self._answer(self._measured)

    def _answer(self, measured: MeasuredState) -> None:
        driver = self._driver
        pick_ups, resets = driver.pick_ups, driver.resets
        self._effort = driver.answer(*measured).effort
        self._send()
        self._publish_error(*measured)
        # A call for each kind of sentence: rclpy throttles what one line of code says.
        if driver.pick_ups > pick_ups:
            sentence = f"the arm is picked up where it is: {driver.reason}"
            self._log.warning(sentence, throttle_duration_sec=1.0)
        if driver.resets > resets:
            sentence = f"the arm was reset: {driver.reason}; the path begins anew"
            self._log.warning(sentence, throttle_duration_sec=1.0)
        while self._driver.news:
            self._log.warning(self._driver.news.pop(0))
        self._tell(*measured)

    def _time(self, stamp: int, now: float) -> None:
        if self._measured is None or stamp < self._measured.stamp_ns:
            self._arrivals.begin()
            return
        period = (stamp - self._measured.stamp_ns) * 1e-9
        late = max(Deadlines.TOLERATED_LATENESS, 10.0 * self._parameters.step)
        self._arrivals.add(now - self._heard_at - period, period > late)

    def _send(self) -> None:
        self._repeated = 0
        self._commands.publish(effort_command(self._effort))

    def _publish_error(self, stamp: int, q: Vector, v: Vector) -> None:
        due = self._driver.steps % self._parameters.publish_every == 0
        if due and self._errors.get_subscription_count():
            wanted = self._driver.wanted
            error = wanted.q - q, wanted.v - v, self._effort.tolist()
            self._errors.publish(joint_state(self._robot, stamp, *error))

    def _tell(self, stamp: int, q: Vector, v: Vector) -> None:
        """Tell of the arm's own joints."""
        if self._reference.on_path and not self._driver.braking:
            wanted, actual = self._reference.sample, tool_pose(self._robot, q)
            kind = self._reference.follower.settings.orientation_error
            error = task_error(wanted.desired, actual, kind)
            self._calls.told(stamp, wanted._replace(q=q, v=v, actual=actual, error=error))
