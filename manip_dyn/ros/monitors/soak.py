"""Listens to an arm and its controller for a long time; says every second how they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.robot import Robot
from manip_dyn.ros.messages.stamps import serialized_stamp
from manip_dyn.ros.messages.topics import EVERY_MESSAGE
from manip_dyn.ros.monitors.report import Progress, say
from manip_dyn.ros.monitors.soak_log import SoakLog
from manip_dyn.ros.parameters.monitor import MonitorParameters
from manip_dyn.ros.runtime.own_subscription import OwnSubscription
from manip_dyn.ros.runtime.wall_timer import every

KEPT = ("mean rate [Hz]", "p99 period error [s]", "max period error [s]", "overruns", "missed [s]")

TAKE_EVERY = 0.05
"""Wall time between looks at the states that came: who measures is not to load the machine, s."""


class SoakMonitor:
    """Measures for a duration of wall time after the first joint state.

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
        self._node, self._finish = node, finish
        self._duration, self.progress = parameters.duration, Progress()
        self._log = SoakLog(parameters.period)
        self._nodes: dict[str, dict[str, object]] = {}
        self._states = OwnSubscription(
            node, JointState, "joint_states", self._on_joints, EVERY_MESSAGE, raw=True
        )
        every(node, TAKE_EVERY, self._states.take)
        node.create_subscription(Float64MultiArray, "simulator/energy", self._on_energy, 10)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        every(node, 1.0, self._sample)

    def _on_joints(self, message: bytes, info: Mapping[str, Any]) -> None:
        self.progress.heard()
        age = 1e-9 * (time.time_ns() - info["received_timestamp"])
        self._log.add(time.monotonic() - age, serialized_stamp(message))

    def _on_energy(self, message: Float64MultiArray) -> None:
        self._log.add_residual(message.data[-1])

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        space = self._node.get_namespace().strip("/")
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if not status.name.startswith(space) or KEPT[0] not in values:
                continue
            node = status.name.rpartition("/")[2]
            told: dict[str, object] = {key: float(values[key]) for key in KEPT if key in values}
            self._nodes[node] = {"state": values.get("state", ""), **told}
            if node == "simulator":
                self._log.add_window(float(values[KEPT[1]]), float(values[KEPT[2]]))

    def _sample(self) -> None:
        log = self._log
        if not log.states:
            return
        say(
            sample={
                "time_s": log.elapsed,
                "states": log.states,
                "lost_states": log.lost,
                "energy_residual_J": log.residual,
                "nodes": self._nodes,
            }
        )
        self.progress(log.elapsed / self._duration)
        if log.elapsed >= self._duration:
            ends = {
                f"{node}_{key}": values[name]
                for node, values in sorted(self._nodes.items())
                for key, name in (("overruns", KEPT[3]), ("missed_s", KEPT[4]), ("state", "state"))
                if name in values
            }
            self._finish(log.summary() | ends)
