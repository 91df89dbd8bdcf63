"""The monitor of a mechanism: measures a run from the poses of its bodies."""

from __future__ import annotations

import sys
import time

from geometry_msgs.msg import PoseArray
from rclpy.node import Node
from std_srvs.srv import Trigger

from manip_dyn.multibody import load_mechanism
from manip_dyn.ros.messages.diagnostics import publish_every_second
from manip_dyn.ros.messages.markers import coordinates
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import EVERY_MESSAGE
from manip_dyn.ros.monitors.mechanism_log import MechanismLog
from manip_dyn.ros.monitors.report import Progress, say
from manip_dyn.ros.monitors.states import report_of
from manip_dyn.ros.parameters.declare import declare
from manip_dyn.ros.parameters.monitor import MechanismMonitorParameters
from manip_dyn.ros.runtime.run import run


class MechanismMonitorNode:
    """Listens; the measuring itself is in `MechanismLog`."""

    name = "mechanism_monitor"

    def __init__(self, node: Node):
        """Declare parameters, subscribe and say that it is ready."""
        self.node = node
        given = declare(node, MechanismMonitorParameters)
        mechanism = load_mechanism(given.mechanism)
        self._log = MechanismLog(mechanism, given.body, given.height, given.duration)
        self._asked = self._done = False
        self._progress = Progress()
        poses = node.create_subscription(
            PoseArray, "mechanism/poses", self._on_poses, EVERY_MESSAGE
        )
        self._reset = node.create_client(Trigger, "mechanism/reset")
        topic, progress = poses.topic_name, self._progress
        publish_every_second(
            node, lambda: report_of(topic, progress, time.monotonic()), given.mechanism
        )
        say(ready=True)

    def close(self) -> None:
        """End nothing: no threads run."""

    def _on_poses(self, message: PoseArray) -> None:
        """Start the motion anew once a pose was heard, so that no sample is missed."""
        self._progress.heard()
        if self._done:
            return
        if not self._asked:
            if self._reset.service_is_ready():
                self._asked = True
                self._reset.call_async(Trigger.Request())
            return
        self._log.add(to_nanoseconds(message.header.stamp), coordinates(message))
        self._progress(self._log.fraction)
        if self._log.fraction >= 1.0:
            self._done = True
            say(summary=self._log.summary())
            self.node.context.try_shutdown()


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(MechanismMonitorNode, args)


if __name__ == "__main__":
    sys.exit(main())
