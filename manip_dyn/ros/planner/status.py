"""Status of the planner on ~/status and /diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from manip_dyn.ros.diagnostics import OK, Report, status_message
from manip_dyn.ros.planner.states import BY_KEY
from manip_dyn.ros.runtime.execution import ThrottledWarning
from manip_dyn.ros.runtime.subscriptions import LATCHED


class PlannerStatus:
    """Publishes state, code and message on the latched topic ~/status, and logs the message.

    Attributes:
        state: State of the planner.
        code: Code of the last state or rejection, or "".
        values: Named values of the motion.
        dropped: Number of dropped messages.
        report: The latest report.
    """

    report: Report

    def __init__(self, node: Node, hardware: str):
        """Create the publisher; `hardware` is the name of the robot."""
        self._node, self._hardware = node, hardware
        self._publisher = node.create_publisher(DiagnosticStatus, "~/status", LATCHED)
        self.state, self.code, self.dropped = "", "", 0
        self.values: dict[str, object] = {}
        self._warn_dropped = ThrottledWarning(node, "dropped: ")

    def enter(self, name: str, code: str = "", remains: str = "", **words: object) -> None:
        """Enter a state of `planner.states` and publish its message.

        Args:
            name: Name of the state.
            code: Code of the state.
            remains: State that remains in force after a rejection, or "".
            words: Values of the message.
        """
        row = BY_KEY[name, code]
        self.state, self.code = remains or name, code
        values = {"state": self.state, "code": code, "dropped messages": self.dropped}
        self.report = Report(row.level, row.message(**words), {**values, **self.values})
        self._publisher.publish(status_message(self._node, self.report, self._hardware))
        # Two calls, because rclpy binds each line of code to one severity.
        if row.level == OK:
            self._node.get_logger().info(self.report.message)
        else:
            self._node.get_logger().warning(self.report.message)

    def overlaid(self, outside: str, others: str, topic: str, standing: float = 0.0) -> Report:
        """Return the latest report, or a current problem that is at least as severe.

        Args:
            outside: Joints outside their limits, or "".
            others: Other nodes that publish on the command topic, or "".
            topic: Name of the command topic.
            standing: Time for which the stamps have not advanced during a motion, s, or 0.
        """
        row = None
        if outside:
            row = BY_KEY["outside_limits", ""]
        elif others:
            row = BY_KEY["not_alone", ""]
        elif standing:
            row = BY_KEY["standing", ""]
        if row is None or row.level < self.report.level:
            return self.report
        words = {"outside": outside, "others": others, "topic": topic, "seconds": standing}
        sentence = row.message(**words)
        return Report(row.level, f"{sentence} ({self.state})", self.report.values)

    def drop(self, reason: object) -> None:
        """Count a dropped message and log the reason."""
        self.dropped += 1
        self._warn_dropped(reason)
