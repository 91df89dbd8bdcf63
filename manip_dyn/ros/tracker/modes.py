"""Modes of the tracker: kinematic publishes joint states, dynamic publishes effort commands."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import RLock
from typing import Any, NamedTuple, Protocol

import numpy as np
from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.clik import TrackingSample, task_error, tool_pose
from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.codegen import customize
from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.joint_drives import RATE, Brake
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.checks import Vector
from manip_dyn.ros.diagnostics import (
    RecentOverruns,
    fastest_joint,
    joints_outside_limits,
    other_publishers,
)
from manip_dyn.ros.joint_states import JointStateSubscription, estimate_values
from manip_dyn.ros.messages.joints import (
    effort_command,
    joint_state,
    release_command,
)
from manip_dyn.ros.parameters.clik_tracker import ClikTrackerParameters, driver_from
from manip_dyn.ros.robot_topics import Transforms
from manip_dyn.ros.runtime.execution import ThrottledWarning, publish_last, unless_shut_down
from manip_dyn.ros.runtime.subscriptions import (
    EVERY_MESSAGE,
    SubscriptionThread,
)
from manip_dyn.ros.runtime.threads import (
    PacingStatistics,
    PeriodicThread,
    PeriodStatistics,
    WallClockAnchor,
    skip_message,
    tolerated_lateness,
)
from manip_dyn.ros.tracker.control_loop import ControlLoop
from manip_dyn.ros.tracker.topics import TrackerFacts


class Callbacks(NamedTuple):
    """Callbacks of a mode.

    Attributes:
        begun: Called with the stamp of path time zero (ns) when the path begins.
        before_step: Called before every step of the reference.
        sampled: Called with a stamp (ns) and a sample: in kinematic mode for each published joint
            state, in dynamic mode for each new joint state while the arm follows the path.
        lock: Held during these calls, except during those of `start`.
    """

    begun: Callable[[int], None]
    before_step: Callable[[], None]
    sampled: Callable[[int, TrackingSample], None]
    lock: RLock


class Mode(Protocol):
    """Interface of a mode, which publishes or measures the joint positions."""

    def __init__(
        self,
        node: Node,
        reference: JointReference,
        parameters: ClikTrackerParameters,
        calls: Callbacks,
    ):
        """Create publishers and subscriptions. No callback is called before `start`."""

    @property
    def positions(self) -> Vector:
        """Joint positions (n,)."""

    def early(self) -> str:
        """Return why targets are not accepted yet, or ""."""

    def facts(self) -> TrackerFacts:
        """Return the facts about the arm that determine the diagnostic state."""

    def start(self) -> None:
        """Start the clock or the subscription."""

    def stop(self) -> None:
        """Stop the threads."""

    def restart(self) -> str:
        """Restart the path; return a message for the service's response."""

    def pause(self, paused: bool) -> None:
        """Pause or resume the motion."""

    def use(self, parameters: ClikTrackerParameters) -> None:
        """Apply new parameters."""

    def statistics(self) -> PacingStatistics:
        """Return the rate and the period errors."""

    def report(self) -> dict[str, Any]:
        """Return named values for /diagnostics."""


class KinematicMode:
    """Advances the reference by one step every period and publishes it as joint states."""

    def __init__(
        self,
        node: Node,
        reference: JointReference,
        parameters: ClikTrackerParameters,
        calls: Callbacks,
    ):
        """Create the publisher of joint states."""
        self._node, self._reference, self._parameters = node, reference, parameters
        self._calls = calls
        self._robot = reference.follower.robot
        self._states = node.create_publisher(JointState, "joint_states", EVERY_MESSAGE)
        self._pacer = PeriodicThread(self._cycle, self._wall_period())
        self._paused, self._steps, self._origin_ns = False, 0, 0
        self._recent = RecentOverruns()
        self._anchor = WallClockAnchor()
        self._transforms = Transforms(node, self._robot, parameters)

    @property
    def positions(self) -> Vector:
        """Joint positions (n,)."""
        return self._reference.sample.q

    def early(self) -> str:
        """Return "": targets are always accepted."""
        return ""

    def facts(self) -> TrackerFacts:
        """Return facts about overruns, joint limits and other publishers of joint states."""
        topic = self._states.topic_name
        return TrackerFacts(
            others=other_publishers(self._node, topic),
            topic=topic,
            overruns=self._recent(self.statistics().overruns),
            outside=joints_outside_limits(self._robot, self.positions),
        )

    def start(self) -> None:
        """Begin the path and start the clock: a thread, or a timer on /clock with use_sim_time."""
        self._begin()
        if self._node.get_parameter("use_sim_time").value:
            back = JumpThreshold(
                min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False
            )
            clock = self._node.get_clock()
            self._jumps = clock.create_jump_callback(back, post_callback=self._on_time_went_back)
            self._node.create_timer(self._wall_period(), self._cycle)
            self._node.get_logger().info("use_sim_time is set: time comes from /clock")
        else:
            self._pacer.start()

    def stop(self) -> None:
        """Stop the clock."""
        self._pacer.stop()

    def restart(self) -> str:
        """Restart the path at its first posture."""
        self._reference.begin()
        self._begin()
        return "back at the start of the path"

    def _on_time_went_back(self, _jump: TimeJump) -> None:
        with self._calls.lock:
            self._node.get_logger().warning("time went back on /clock: the path restarts")
            self.restart()

    def pause(self, paused: bool) -> None:
        """Pause or resume the motion."""
        self._paused = paused
        self._tie()

    def use(self, parameters: ClikTrackerParameters) -> None:
        """Apply a new real-time factor."""
        before, self._parameters = self._wall_period(), parameters
        if self._wall_period() != before:
            self._tie()
            self._pacer.set_period(self._wall_period())

    def statistics(self) -> PacingStatistics:
        """Return rate and period errors of the clock."""
        return self._pacer.statistics()

    def report(self) -> dict[str, Any]:
        """Return no values, because the joints have no tracking error."""
        return {}

    def _begin(self) -> None:
        self._steps, self._origin_ns = 0, self._node.get_clock().now().nanoseconds
        self._tie()
        self._calls.begun(self._origin_ns)

    def _tie(self) -> None:
        self._anchor.tie(time.time_ns(), self._path_ns)

    @property
    def _path_ns(self) -> int:
        return round(self._reference.sample.t * 1e9)

    def _wall_period(self) -> float:
        return self._parameters.step / self._parameters.real_time_factor

    def _cycle(self) -> None:
        with self._calls.lock:
            if not self._paused:
                unless_shut_down(self._node, self._advance)

    def _keep_up(self) -> None:
        """If the stamps lag behind the wall clock, skip periods and log a warning."""
        period = round(1e9 * self._parameters.step)
        skip = self._anchor.skip_ns(time.time_ns(), self._path_ns, period)
        if skip:
            self._origin_ns += skip
            message = skip_message(skip, period)
            self._node.get_logger().warning(message, throttle_duration_sec=10.0)

    def _advance(self) -> None:
        by_wall_clock = not self._node.get_clock().ros_time_is_active
        if by_wall_clock and self._parameters.real_time_factor == 1.0:
            self._keep_up()
        if self._steps:
            self._calls.before_step()
            self._reference.advance()
        self._steps += 1
        sample = self._reference.sample
        stamp = self._origin_ns + self._path_ns
        self._states.publish(joint_state(self._robot, stamp, sample.q, sample.v))
        self._transforms.publish(stamp, sample.q)
        self._calls.sampled(stamp, sample)


STANDING = 0.5
"""Wall time with equal stamps of the joint states after which stopped time is reported, s."""
SEND_AGAIN = 20
"""Number of repeated states after which the command is sent again, because it may be lost.

States are counted instead of time: if the process was suspended, the command may still be in the
queue. In lockstep, a second command would then advance a second period.
"""


BRAKED = 2
"""Delay of the reference relative to the time for which the simulator's brake acted.

After the time T, the arm is slower by the fraction B T with the rate B of the brake. Feedback with
both poles at -p removes this difference without overshoot if the reference is B T / p late. With
the default values, B and p are equal. The time T in which the arm stays behind is added.
"""


class DynamicMode:
    """Answers each new joint state with efforts of an `ArmDriver` along the reference."""

    def __init__(
        self,
        node: Node,
        reference: JointReference,
        parameters: ClikTrackerParameters,
        calls: Callbacks,
    ):
        """Create the subscription and the publishers."""
        self._node, self._reference, self._parameters = node, reference, parameters
        self._log = node.get_logger()
        self._warn_dropped = ThrottledWarning(node, "dropped: ")
        self._warn_pick_up = ThrottledWarning(
            node, "the arm is picked up at its current position: "
        )
        self._warn_reset = ThrottledWarning(node, "the arm was reset: ")
        self._robot, self._calls = reference.follower.robot, calls
        self._driver = driver_from(parameters, reference, calls.begun, calls.before_step)
        self._measured: MeasuredState | None = None
        self._unsubscribed, self._recent = False, RecentOverruns()
        self._received_at = self._fresh_at = time.perf_counter()
        self._repeated = 0
        self._arrivals = PeriodStatistics()
        self._effort = np.zeros(self._robot.n)
        self._answered_ns: int | None = None
        self._late, self._late_brake = "", Brake(customize(self._robot), period=parameters.step)
        self._estimator = StateEstimator(self._robot, parameters.velocity_window)
        self._loop = ControlLoop(self._driver.controller, self._estimator, parameters)
        self._states = JointStateSubscription(
            node, self._estimator, self._robot, self._on_state, self._warn_dropped
        )
        self._listener = SubscriptionThread(node, self._states)
        self._errors = node.create_publisher(JointState, "~/joint_error", 100)
        self._commands = node.create_publisher(
            Float64MultiArray, parameters.command_topic, EVERY_MESSAGE
        )

    @property
    def positions(self) -> Vector:
        """Measured joint positions (n,), or those of the reference before the first state."""
        return self._reference.sample.q if self._measured is None else self._measured.q

    def early(self) -> str:
        """Return why targets are not accepted yet, or ""."""
        if self._driver.stamp_ns is None:
            return "before any joint state"
        return "while the arm is braked" if self._driver.braking or self._late else ""

    def facts(self) -> TrackerFacts:
        """Return facts about the arm. An outdated joint state is not evaluated."""
        topic, overruns = self._commands.topic_name, self._recent(self.statistics().overruns)
        if self._measured is None:
            return TrackerFacts(waiting=self._states.topic_name)
        silence = time.perf_counter() - self._received_at
        if silence > self._parameters.state_timeout:
            return TrackerFacts(silence=silence)
        q, v, stood = self._measured.q, self._measured.v, self._received_at - self._fresh_at
        led = not self._unsubscribed and self._driver.stamp_ns is not None
        return TrackerFacts(
            outside=joints_outside_limits(self._robot, q),
            unheard=topic if self._unsubscribed else "",
            late=self._late,
            delayed=self._loop.delayed(),
            braking=fastest_joint(self._robot, v) if self._driver.braking else "",
            others=other_publishers(self._node, topic),
            topic=topic,
            approaching=self._distance(q) if led and not self._reference.on_path else "",
            unknown=self._loop.unknown(),
            overruns=overruns,
            standing=stood if stood > STANDING else 0.0,
        )

    def _distance(self, q: Vector) -> str:
        """Describe the distance of the tool from the pose at which it joins the path."""
        pose = self._reference.path.pose(self._reference.path_time)
        error = task_error(pose, tool_pose(self._robot, q), "log")
        distances = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
        return "{:.3g} m and {:.3g} rad".format(*distances)

    def start(self) -> None:
        """Start the subscription."""
        self._listener.start()

    def stop(self) -> None:
        """Stop the subscription and release the arm."""
        self._listener.stop()
        self._release()

    def restart(self) -> str:
        """Restart the path with the next state; end the brake of a late control loop."""
        self._driver.restart()
        self._loop.restart()
        self._late, self._answered_ns = "", None
        return "the path restarts; the arm moves to its start"

    def pause(self, paused: bool) -> None:
        """Hold the arm or resume the motion."""
        self._driver.paused = paused

    def use(self, parameters: ClikTrackerParameters) -> None:
        """Apply new feedback gains."""
        self._parameters = parameters
        self._loop.use(parameters)

    def statistics(self) -> PacingStatistics:
        """Return the rate and the period errors of the received joint states."""
        return self._arrivals.read()

    def report(self) -> dict[str, Any]:
        """Return the driver's values, or no values while the commands have no subscriber."""
        if self._unsubscribed:
            return {}
        return {
            **self._driver.report(),
            "loop delay [s]": self._loop.seconds,
            "delay margin [s]": self._loop.margin,
            **estimate_values(self._estimator),
        }

    def _on_state(self, measured: MeasuredState) -> None:
        try:
            with self._calls.lock:
                self._update(measured)
        except BaseException:
            self._release()  # ROS is shut down next
            raise

    def _update(self, measured: MeasuredState) -> None:
        self._states.velocity_hint(self._parameters.joint_damping, "joint_damping")
        stamp, now = measured.stamp_ns, time.perf_counter()
        repeated = self._measured is not None and stamp == self._measured.stamp_ns
        if not repeated:
            self._time(stamp, now)
            self._fresh_at = now
            self._loop.received(stamp, self._states.effort)
            self._watch_delay()
        self._received_at, self._measured = now, measured
        self._unsubscribed = self._commands.get_subscription_count() == 0
        if repeated and stamp == self._answered_ns:
            # The simulator repeats its state while time stands still.
            self._repeated += 1
            if self._repeated == SEND_AGAIN:
                self._send()
        elif not self._unsubscribed:
            self._answer(measured)

    def _watch_delay(self) -> None:
        """Brake until a reset if the control loop is unstable, or commands have no effect."""
        if self._late:
            return
        self._late = self._loop.failure()
        if self._late:
            self._log.error(f"{self._late}: braking until ~/reset")
            # With a delay T, the speeds decay without oscillation up to the rate 1 / (e T).
            delay = (self._loop.seconds or self._loop.margin) + self._parameters.step
            rate = min(RATE, 1.0 / (math.e * delay))
            self._late_brake = Brake(customize(self._robot), rate, period=self._parameters.step)

    def _answer(self, measured: MeasuredState) -> None:
        self._answered_ns = measured.stamp_ns
        if self._late:
            self._effort = self._late_brake.effort(*measured)
            self._send()
        else:
            self._drive(measured)

    def _drive(self, measured: MeasuredState) -> None:
        driver = self._driver
        pick_ups, resets = driver.pick_ups, driver.resets
        driver.lead, driver.gap = self._loop.lead, self._loop.gap
        driver.hold(BRAKED * self._loop.braked_ns(measured.stamp_ns))
        self._effort = driver.answer(*measured).effort
        self._send()
        self._publish_error(*measured)
        if driver.pick_ups > pick_ups:
            self._warn_pick_up(driver.reason)
        if driver.resets > resets:
            self._warn_reset(f"{driver.reason}; the path restarts")
        while self._driver.news:
            self._log.warning(self._driver.news.pop(0))
        self._report_sample(*measured)

    def _time(self, stamp: int, now: float) -> None:
        if self._measured is None or stamp < self._measured.stamp_ns:
            self._arrivals.begin()
            self._loop.restart()
            return
        period = (stamp - self._measured.stamp_ns) * 1e-9
        if period > self._parameters.state_timeout:  # the middleware may still lose commands
            self._loop.restart()
        late = tolerated_lateness(self._parameters.step)
        self._arrivals.add(now - self._received_at - period, period > late)

    def _release(self) -> None:
        """End the current command, if commands were sent. The simulator's safe command acts."""
        if self._answered_ns is not None:
            publish_last(self._node, [(self._commands, release_command())])

    def _send(self) -> None:
        self._repeated = 0
        stamp = self._answered_ns
        assert stamp is not None
        validity = self._loop.sent(stamp, self._effort)
        self._commands.publish(effort_command(self._effort, validity))

    def _publish_error(self, stamp: int, q: Vector, v: Vector) -> None:
        due = self._driver.steps % self._parameters.publish_every == 0
        if due and self._errors.get_subscription_count():
            desired = self._driver.desired
            error = desired.q - q, desired.v - v, self._effort.tolist()
            self._errors.publish(joint_state(self._robot, stamp, *error))

    def _report_sample(self, stamp: int, q: Vector, v: Vector) -> None:
        """Call `sampled` with the measured joints if the arm is on the path and not braked."""
        newest = self._driver.newest
        if newest is not None and newest.on_path:
            sample, actual = newest.sample, tool_pose(self._robot, q)
            kind = self._reference.follower.settings.orientation_error
            error = task_error(sample.desired, actual, kind)
            self._calls.sampled(stamp, sample._replace(q=q, v=v, actual=actual, error=error))
