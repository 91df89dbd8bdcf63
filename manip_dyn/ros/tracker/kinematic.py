"""Kinematic mode: the joints are where the reference is, by the wall clock or by /clock."""

from __future__ import annotations

import time
from typing import Any

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState

from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.core.checks import Vector
from manip_dyn.ros.joint_sentences import outside_limits
from manip_dyn.ros.messages.joints import joint_state
from manip_dyn.ros.messages.topics import EVERY_MESSAGE
from manip_dyn.ros.other_publishers import other_publishers
from manip_dyn.ros.parameters.clik_tracker import ClikTrackerParameters
from manip_dyn.ros.recent_overruns import RecentOverruns
from manip_dyn.ros.runtime.pacing import Pacer, PacingStatistics
from manip_dyn.ros.runtime.run import unless_shut_down
from manip_dyn.ros.runtime.wall_anchor import WallAnchor, fell_behind
from manip_dyn.ros.tracker.calls import Calls
from manip_dyn.ros.tracker.states import Facts
from manip_dyn.ros.transforms import Transforms


class KinematicMode:
    """Makes a step of the reference every period and publishes its joints."""

    def __init__(
        self,
        node: Node,
        reference: JointReference,
        parameters: ClikTrackerParameters,
        calls: Calls,
    ):
        """Make the publisher of joint states."""
        self._node, self._reference, self._parameters = node, reference, parameters
        self._calls = calls
        self._robot = reference.follower.robot
        self._states = node.create_publisher(JointState, "joint_states", EVERY_MESSAGE)
        self._pacer = Pacer(self._cycle, self._wall_period())
        self._paused, self._steps, self._origin_ns = False, 0, 0
        self._recent = RecentOverruns()
        self._anchor = WallAnchor()
        self._transforms = Transforms(node, self._robot, parameters)
        self.problem = ""

    @property
    def positions(self) -> Vector:
        """Where the joints are (n,)."""
        return self._reference.sample.q

    def early(self) -> str:
        """Return nothing: the arm is there from the start."""
        return ""

    def facts(self) -> Facts:
        """Return what is known of time, of the joints and of others that publish them."""
        topic = self._states.topic_name
        return Facts(
            others=other_publishers(self._node, topic),
            topic=topic,
            overruns=self._recent(self.statistics().overruns),
            outside=outside_limits(self._robot, self.positions),
        )

    def start(self) -> None:
        """Begin the path and let time pass."""
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
        """Go back to where it began."""
        self._reference.begin()
        self._begin()
        return "back at the start of the path"

    def _on_time_went_back(self, _jump: TimeJump) -> None:
        with self._calls.lock:
            self._node.get_logger().warning("time went back on /clock: the path begins anew")
            self.restart()

    def pause(self, paused: bool) -> None:
        """Stand still, or go on."""
        self._paused = paused
        self._tie()

    def use(self, parameters: ClikTrackerParameters) -> None:
        """Go on at another pace."""
        before, self._parameters = self._wall_period(), parameters
        if self._wall_period() != before:
            self._tie()
            self._pacer.set_period(self._wall_period())

    def statistics(self) -> PacingStatistics:
        """Return rate and period errors of the clock."""
        return self._pacer.statistics()

    def report(self) -> dict[str, Any]:
        """Return nothing: the joints are where they should be."""
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
        """Where the path fell behind for good, let the stamps follow the wall clock again."""
        lag = self._anchor.lag_ns(time.time_ns(), self._path_ns, 1)
        if lag:
            self._origin_ns += lag
            self._node.get_logger().warning(fell_behind(lag, "stamps"), throttle_duration_sec=10.0)

    def _advance(self) -> None:
        by_the_wall = not self._node.get_clock().ros_time_is_active
        if by_the_wall and self._parameters.real_time_factor == 1.0:
            self._keep_up()
        if self._steps:
            self._calls.before_step()
            self._reference.advance()
        self._steps += 1
        sample = self._reference.sample
        stamp = self._origin_ns + self._path_ns
        self._states.publish(joint_state(self._robot, stamp, sample.q, sample.v))
        self._transforms.tell(stamp, sample.q)
        self._calls.told(stamp, sample)
