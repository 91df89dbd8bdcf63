"""Publishers of efforts: commands, and trajectories for switches within a control period."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.planning import Segment, mean_effort
from manip_dyn.robot import Robot
from manip_dyn.ros.diagnostics import other_publishers
from manip_dyn.ros.messages.joints import Validity, effort_command, release_command
from manip_dyn.ros.messages.trajectories import release_trajectory, trajectory_from
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.runtime.execution import publish_last
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE


class EffortTopics:
    """Publishes efforts as commands, or as trajectories if they switch within a period.

    If the parameter `switching` is sampled, all efforts are commands, averaged over the period.
    """

    def __init__(self, node: Node, robot: Robot, parameters: BangBangPlannerParameters):
        """Create the publishers."""
        self._node = node
        self._robot, self._period = robot, parameters.control_period
        self._sampled = parameters.switching == "sampled"
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

    def publish(self, stamp_ns: int, segments: Sequence[Segment], valid: int | None) -> None:
        """Publish efforts that start at the stamp of a state.

        Args:
            stamp_ns: The stamp, ns.
            segments: The efforts.
            valid: Time after the state at which the command ends, ns, or None for never.
        """
        if self._sampled or len(segments) == 1:
            effort = segments[0].effort
            if self._sampled:
                effort = mean_effort(list(segments), self._period)
            validity = None if valid is None else Validity(stamp_ns, valid)
            self._commands.publish(effort_command(effort, validity))
        else:
            last = segments[-1].offset + self._period
            end = None if valid is None else max(1e-9 * valid, last)
            self._switches.publish(trajectory_from(self._robot, stamp_ns, segments, end))

    def release(self) -> None:
        """End the current command. The simulator then applies its safe command immediately.

        Each topic preserves its order, so that no earlier message acts after both are received.
        """
        last = (self._commands, release_command()), (self._switches, release_trajectory())
        publish_last(self._node, last)
