"""What the planner tells of itself on ~/status."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from manip_dyn.ros.messages.diagnostics import OK, Report, status_message
from manip_dyn.ros.messages.topics import LATCHED


class PlannerStatus:
    """State, code and sentence, latched for late joiners; every new one is logged.

    Attributes:
        state: What the planner does.
        values: Named values that belong to the motion.
        dropped: How many messages were dropped.
        report: What was told last.
    """

    report: Report

    def __init__(self, node: Node, hardware: str):
        """Make the publisher; `hardware` names the robot."""
        self._node, self._hardware = node, hardware
        self._publisher = node.create_publisher(DiagnosticStatus, "~/status", LATCHED)
        self.state, self.dropped = "", 0
        self.values: dict[str, object] = {}

    def tell(self, level: bytes, state: str, code: str, message: str) -> None:
        """Tell a new state, why if there is something to say (a code), and the sentence for it."""
        self.state = state
        values = {"state": state, "code": code, "dropped messages": self.dropped, **self.values}
        self.report = Report(level, message, values)
        self._publisher.publish(status_message(self._node, self.report, self._hardware))
        # Two calls: rclpy ties a line of code to one severity.
        if level == OK:
            self._node.get_logger().info(message)
        else:
            self._node.get_logger().warning(message)

    def drop(self, reason: object) -> None:
        """Count a message that was dropped, and log why."""
        self.dropped += 1
        self._node.get_logger().warning(f"dropped: {reason}", throttle_duration_sec=1.0)
