"""The monitor of a mechanism: measures a run from the poses of its bodies.

It prints one JSON object per line on standard output: ``ready``, ``progress`` and ``summary``.
"""

from __future__ import annotations

import sys
from typing import Any

from geometry_msgs.msg import PoseArray
from std_srvs.srv import Trigger

from manip_dyn.demo.mechanism_log import MechanismLog
from manip_dyn.multibody import load_mechanism
from manip_dyn.nodes import messages
from manip_dyn.nodes.base import SetUpNode
from manip_dyn.nodes.mechanism_messages import coordinates
from manip_dyn.nodes.monitor import tell
from manip_dyn.nodes.parameters import Parameter, declare
from manip_dyn.nodes.run import run

PARAMETERS = (
    Parameter("mechanism", "four_bar", "Name of a shipped mechanism or path of a YAML file"),
    Parameter("body", "", "Whose height is measured"),
    Parameter("height", 0.0, "Where its centre of mass should be at the end", "m", -1e6, 1e6),
    Parameter("duration", 1.0, "Simulated time of the motion", "s", 1e-3, 1e6),
)


class MechanismMonitorNode(SetUpNode):
    """Listens; the measuring itself is in `manip_dyn.demo.mechanism_log`."""

    def __init__(self, **options: Any):
        """Take rclpy's node options."""
        super().__init__("mechanism_monitor", **options)

    def set_up(self) -> None:
        """Declare parameters, subscribe and tell that it is ready."""
        values = declare(self, PARAMETERS)
        mechanism = load_mechanism(values["mechanism"])
        self._log = MechanismLog(mechanism, values["body"], values["height"], values["duration"])
        self._asked = self._done = False
        self._told = 0.0
        self.create_subscription(
            PoseArray, "mechanism/poses", self._on_poses, messages.EVERY_MESSAGE
        )
        self._reset = self.create_client(Trigger, "mechanism/reset")
        tell(ready=True)

    def _on_poses(self, message: PoseArray) -> None:
        """Start the motion anew once a pose was heard, so that no sample is missed."""
        if self._done:
            return
        if not self._asked:
            if self._reset.service_is_ready():
                self._asked = True
                self._reset.call_async(Trigger.Request())
            return
        self._log.add(messages.to_nanoseconds(message.header.stamp), coordinates(message))
        if self._log.fraction >= self._told + 0.01:
            self._told = self._log.fraction
            tell(progress=min(self._told, 1.0))
        if self._log.fraction >= 1.0:
            self._done = True
            tell(summary=self._log.summary())
            self.context.try_shutdown()


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(MechanismMonitorNode, args)


if __name__ == "__main__":
    sys.exit(main())
