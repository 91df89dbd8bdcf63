"""Monitor of a long run (soak): rate, gaps and energy balance."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import serialized_stamp
from manip_dyn.ros.monitors.progress import MonitorParameters, Progress, print_json
from manip_dyn.ros.runtime.execution import create_wall_timer
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE, PolledSubscription


class SoakLog:
    """Statistics of a long run. Individual joint states are not stored.

    Attributes:
        states: Number of received joint states.
        lost: Number of missing joint states, computed from the gaps between stamps.
        residual: The newest energy balance residual, J.
        largest_residual: The largest magnitude of a residual, J.
    """

    def __init__(self, period: float):
        """Start with empty statistics; `period` is the time between joint states, s."""
        self._period_ns = round(1e9 * period)
        self.states = self.lost = 0
        self.residual = self.largest_residual = 0.0
        self._first_at = self._at = 0.0
        self._stamp_ns = 0
        self._worst: dict[str, float] = {}
        self._p99: list[float] = []

    def add(self, at: float, stamp_ns: int) -> None:
        """Add a joint state with its stamp (ns), received at monotonic time `at`, s."""
        if self.states == 0:
            self._first_at = at
        else:
            gap = round((stamp_ns - self._stamp_ns) / self._period_ns)
            self.lost += max(0, gap - 1)
        self.states += 1
        self._at, self._stamp_ns = at, stamp_ns

    def add_residual(self, residual: float) -> None:
        """Add an energy balance residual, J."""
        self.residual = residual
        self.largest_residual = max(self.largest_residual, abs(residual))

    def add_window(self, p99: float, largest: float) -> None:
        """Add the 99th percentile and the maximum of a node's recent period errors, s."""
        self._p99.append(p99)
        self._worst["max"] = max(self._worst.get("max", 0.0), largest)

    @property
    def elapsed(self) -> float:
        """Time from the first to the last joint state, s."""
        return self._at - self._first_at

    @property
    def rate(self) -> float:
        """Mean rate of the received joint states, Hz; 0 before the second one."""
        return (self.states - 1) / self.elapsed if self.elapsed > 0.0 else 0.0

    def summary(self) -> dict[str, float]:
        """Return rates, losses, period errors and energy balance residuals."""
        nominal = 1e9 / self._period_ns
        return {
            "duration_s": self.elapsed,
            "states": self.states,
            "lost_states": self.lost,
            "rate_hz": self.rate,
            "rate_error": abs(self.rate / nominal - 1.0),
            "median_p99_period_error_s": float(np.median(self._p99)) if self._p99 else 0.0,
            "largest_p99_period_error_s": max(self._p99, default=0.0),
            "max_period_error_s": self._worst.get("max", 0.0),
            "energy_residual_J": self.residual,
            "largest_energy_residual_J": self.largest_residual,
        }


KEYS = ("mean rate [Hz]", "p99 period error [s]", "max period error [s]", "overruns", "missed [s]")

POLL_PERIOD = 0.05
"""Wall time between reads of the received states, s. Rare reads keep the load low."""


NODES = {"simulator", "clik_tracker"}
"""Names of the nodes that must have published diagnostics before the measurement starts."""


class SoakMonitor:
    """Measures the nodes for a duration of wall time, once all of `NODES` publish diagnostics.

    Attributes:
        progress: Progress of the run.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        parameters: MonitorParameters,
        finish: Callable[[dict[str, Any]], None],
    ):
        """Subscribe. `finish` is called with the summary."""
        self._node, self._finish = node, finish
        self._duration, self.progress = parameters.duration, Progress()
        self._log = SoakLog(parameters.period)
        self._nodes: dict[str, dict[str, object]] = {}
        self._states = PolledSubscription(
            node, JointState, "joint_states", self._on_joints, EVERY_MESSAGE, raw=True
        )
        create_wall_timer(node, POLL_PERIOD, self._states.take)
        node.create_subscription(Float64MultiArray, "simulator/energy", self._on_energy, 10)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        create_wall_timer(node, 1.0, self._sample)

    def _on_joints(self, message: bytes, info: Mapping[str, Any]) -> None:
        self.progress.message_received()
        if not self._nodes.keys() >= NODES:
            return  # a node is still starting or compiling
        age = 1e-9 * (time.time_ns() - info["received_timestamp"])
        self._log.add(time.monotonic() - age, serialized_stamp(message))

    def _on_energy(self, message: Float64MultiArray) -> None:
        self._log.add_residual(message.data[-1])

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        namespace = self._node.get_namespace().strip("/")
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if not status.name.startswith(namespace) or KEYS[0] not in values:
                continue
            node = status.name.rpartition("/")[2]
            numbers: dict[str, object] = {key: float(values[key]) for key in KEYS if key in values}
            self._nodes[node] = {"state": values.get("state", ""), **numbers}
            if node == "simulator":
                self._log.add_window(float(values[KEYS[1]]), float(values[KEYS[2]]))

    def _sample(self) -> None:
        log = self._log
        if not log.states:
            return
        print_json(
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
                for key, name in (("overruns", KEYS[3]), ("missed_s", KEYS[4]), ("state", "state"))
                if name in values
            }
            self._finish(log.summary() | ends)
