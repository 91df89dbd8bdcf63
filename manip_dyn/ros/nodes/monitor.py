"""The arm monitor node: measures a run from its topics."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from manip_dyn.robot import Robot
from manip_dyn.ros.diagnostics import publish_every_second
from manip_dyn.ros.monitors.motion import FreeMonitor, MotionMonitor
from manip_dyn.ros.monitors.progress import MonitorParameters, Progress, monitor_report, print_json
from manip_dyn.ros.monitors.soak import SoakMonitor
from manip_dyn.ros.monitors.tracking import TrackingMonitor
from manip_dyn.ros.parameters.common import robot_from
from manip_dyn.ros.parameters.declaration import declare
from manip_dyn.ros.robot_topics import with_description
from manip_dyn.ros.runtime.execution import run

Finish = Callable[[dict[str, Any]], None]


class Monitor(Protocol):
    """Interface of a monitor.

    Attributes:
        progress: Progress of the run.
    """

    progress: Progress


MONITORS: dict[str, Callable[[Node, Robot, MonitorParameters, Finish], Monitor]] = {
    "tracking": TrackingMonitor,
    "motion": MotionMonitor,
    "free": FreeMonitor,
    "soak": SoakMonitor,
}


class MonitorNode:
    """Runs the monitor that `measure` selects; adds rates and period errors of the nodes."""

    name = "monitor"

    def __init__(self, node: Node):
        """Declare parameters, subscribe and print that the node is ready."""
        self.node = node
        parameters = declare(node, MonitorParameters)
        self._pacing: dict[str, dict[str, str]] = {}
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        robot = robot_from(with_description(node, parameters))
        monitor = MONITORS[parameters.measure](node, robot, parameters, self._finish)
        topic, progress = node.resolve_topic_name("joint_states"), monitor.progress
        publish_every_second(
            node, lambda: monitor_report(topic, progress, time.monotonic()), robot.name
        )
        print_json(ready=True)

    def close(self) -> None:
        """Do nothing, because the node has no threads."""

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        namespace = self.node.get_namespace().strip("/")
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if status.name.startswith(namespace) and "mean rate [Hz]" in values:
                self._pacing[status.name.rpartition("/")[2]] = values

    def _finish(self, summary: dict[str, Any]) -> None:
        for node, values in sorted(self._pacing.items()):
            summary[f"{node}_rate_hz"] = float(values["mean rate [Hz]"])
            summary[f"{node}_p99_period_error_s"] = float(values["p99 period error [s]"])
        print_json(summary=summary)
        self.node.context.try_shutdown()


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(MonitorNode, args)


if __name__ == "__main__":
    sys.exit(main())
