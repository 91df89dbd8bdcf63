"""Measures a simulated motion without commands; starts it anew first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from manip_dyn.core.checks import finite_vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.joints import by_name
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import EVERY_MESSAGE
from manip_dyn.ros.monitors.free_log import FreeLog
from manip_dyn.ros.monitors.report import Progress
from manip_dyn.ros.parameters.monitor import MonitorParameters


class FreeMonitor:
    """Listens to the simulator until the motion is over.

    Attributes:
        progress: What was heard so far.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: MonitorParameters,
        finish: Callable[[dict[str, Any]], None],
    ):
        """Subscribe; `finish` takes the summary."""
        self._robot, self._finish = robot, finish
        goal = finite_vector("parameter 'goal'", parameters.goal, robot.n)
        self._log = FreeLog(goal, parameters.duration)
        self._asked, self.progress = False, Progress()
        node.create_subscription(JointState, "joint_states", self._on_joints, EVERY_MESSAGE)
        self._reset = node.create_client(Trigger, "simulator/reset")

    def _on_joints(self, message: JointState) -> None:
        """Start the motion anew once a state was heard, so that no sample is missed."""
        self.progress.heard()
        if not self._asked:
            if self._reset.service_is_ready():
                self._asked = True
                self._reset.call_async(Trigger.Request())
            return
        q, v = (by_name(message, self._robot, field) for field in ("position", "velocity"))
        stamp = to_nanoseconds(message.header.stamp)
        if stamp == 0:
            self._log = FreeLog(self._log.goal, self._log.duration)
        self._log.add(stamp, q, v)
        self.progress(self._log.fraction)
        if self._log.fraction >= 1.0:
            self._finish(self._log.summary())
