"""What the planner tells of itself on ~/status and /diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from manip_dyn.ros.diagnostics import OK, Report, status_message
from manip_dyn.ros.planner.states import BY_KEY
from manip_dyn.ros.runtime.subscriptions import LATCHED


class PlannerStatus:
    """State, code and sentence, latched for late joiners; every new one is logged.

    Attributes:
        state: What the planner does.
        code: Why, where there is something to say.
        values: Named values that belong to the motion.
        dropped: How many messages were dropped.
        report: What was told last.
    """

    report: Report

    def __init__(self, node: Node, hardware: str):
        """Make the publisher; `hardware` names the robot."""
        self._node, self._hardware = node, hardware
        self._publisher = node.create_publisher(DiagnosticStatus, "~/status", LATCHED)
        self.state, self.code, self.dropped = "", "", 0
        self.values: dict[str, object] = {}

    def tell(self, name: str, code: str = "", goes_on: str = "", **words: object) -> None:
        """Tell a state of `planner.states` with the words of its sentence.

        Args:
            name: Its name.
            code: Its code.
            goes_on: The state that goes on nevertheless, for a refusal.
            words: The values of its sentence.
        """
        row = BY_KEY[name, code]
        self.state, self.code = goes_on or name, code
        values = {"state": self.state, "code": code, "dropped messages": self.dropped}
        self.report = Report(row.level, row.says(**words), {**values, **self.values})
        self._publisher.publish(status_message(self._node, self.report, self._hardware))
        # Two calls: rclpy ties a line of code to one severity.
        if row.level == OK:
            self._node.get_logger().info(self.report.message)
        else:
            self._node.get_logger().warning(self.report.message)

    def overlaid(self, outside: str, others: str, topic: str) -> Report:
        """Return what was told last, or what is as bad or worse now."""
        row = None
        if outside:
            row = BY_KEY["outside_limits", ""]
        elif others:
            row = BY_KEY["not_alone", ""]
        if row is None or row.level < self.report.level:
            return self.report
        sentence = row.says(outside=outside, others=others, topic=topic)
        return Report(row.level, f"{sentence} ({self.state})", self.report.values)

    def drop(self, reason: object) -> None:
        """Count a message that was dropped, and log why."""
        self.dropped += 1
        self._node.get_logger().warning(f"dropped: {reason}", throttle_duration_sec=1.0)
