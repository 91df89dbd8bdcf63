"""The mechanism monitor node: measures a run from the poses of the bodies."""

from __future__ import annotations

import hashlib
import sys
import time
from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import PoseArray
from rclpy.node import Node
from std_srvs.srv import Trigger

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.multibody import Mechanism, load_mechanism
from manip_dyn.ros.diagnostics import publish_every_second
from manip_dyn.ros.messages.geometry import to_nanoseconds
from manip_dyn.ros.messages.markers import coordinates
from manip_dyn.ros.monitors.progress import (
    MechanismMonitorParameters,
    Progress,
    missed_samples,
    monitor_report,
    print_json,
)
from manip_dyn.ros.parameters.declaration import declare
from manip_dyn.ros.runtime.execution import run
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE

SETTLING = 0.5
"""Final part of the run in which the body should be at rest, s."""


@dataclass
class MechanismLog:
    """Samples of a motion that starts at simulated time zero.

    Attributes:
        mechanism: The mechanism.
        body: Name of the body whose height is measured.
        height: Expected final height of its centre of mass, m.
        duration: Simulated duration of the motion, s.
    """

    mechanism: Mechanism
    body: str
    height: float
    duration: float
    _rows: dict[int, Vector] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the index of the height coordinate; raise `ManipDynError` for an unknown body."""
        names = [body.name for body in self.mechanism.bodies]
        if self.body not in names:
            raise ManipDynError(f"body '{self.body}' is unknown{closest(self.body, names)}")
        self._index = 7 * names.index(self.body) + 2

    def add(self, stamp_ns: int, q: Vector) -> None:
        """Add the coordinates `q` (N,) at a stamp, ns.

        Samples after the duration are ignored. A zero stamp clears earlier samples.
        """
        if len(q) != self.mechanism.size:
            raise ManipDynError(
                f"poses must have {self.mechanism.size} coordinates of the mechanism, "
                f"got {len(q)}."
            )
        if stamp_ns == 0:
            self._rows.clear()
        if stamp_ns <= round(self.duration * 1e9):
            self._rows[stamp_ns] = q

    @property
    def fraction(self) -> float:
        """Fraction of the motion that was received; 0 if the start was missed."""
        return max(self._rows) * 1e-9 / self.duration if 0 in self._rows else 0.0

    def summary(self) -> dict[str, float | str]:
        """Return heights (m), the largest constraint violation, sample counts and a digest."""
        stamps = np.array(sorted(self._rows))
        t, rows = stamps * 1e-9, np.array([self._rows[stamp] for stamp in stamps])
        z = rows[:, self._index]
        settling = z[t >= t[-1] - SETTLING]
        violations = [np.abs(self.mechanism.violations(row)).max() for row in rows]
        digest = hashlib.sha256(stamps.tobytes() + rows.tobytes()).hexdigest()
        return {
            "samples": len(t),
            "missed_samples": missed_samples(t),
            "duration_s": float(t[-1]),
            "highest_m": float(z.max()),
            "final_height_m": float(z[-1]),
            "final_height_error_m": float(abs(z[-1] - self.height)),
            "late_change_of_height_m": float(np.ptp(settling)),
            "max_violation": float(max(violations)),
            "log_sha256": digest,
        }


class MechanismMonitorNode:
    """Connects a `MechanismLog` to topics and prints its summary."""

    name = "mechanism_monitor"

    def __init__(self, node: Node):
        """Declare parameters, subscribe and print that the node is ready."""
        self.node = node
        parameters = declare(node, MechanismMonitorParameters)
        mechanism = load_mechanism(parameters.mechanism)
        self._log = MechanismLog(
            mechanism, parameters.body, parameters.height, parameters.duration
        )
        self._requested = self._done = False
        self._progress = Progress()
        poses = node.create_subscription(
            PoseArray, "mechanism/poses", self._on_poses, EVERY_MESSAGE
        )
        self._reset = node.create_client(Trigger, "mechanism/reset")
        topic, progress = poses.topic_name, self._progress
        publish_every_second(
            node, lambda: monitor_report(topic, progress, time.monotonic()), parameters.mechanism
        )
        print_json(ready=True)

    def close(self) -> None:
        """Do nothing, because the node has no threads."""

    def _on_poses(self, message: PoseArray) -> None:
        """Reset the mechanism, because the start may have been missed, then log the poses."""
        self._progress.message_received()
        if self._done:
            return
        if not self._requested:
            if self._reset.service_is_ready():
                self._requested = True
                self._reset.call_async(Trigger.Request())
            return
        self._log.add(to_nanoseconds(message.header.stamp), coordinates(message))
        self._progress(self._log.fraction)
        if self._log.fraction >= 1.0:
            self._done = True
            print_json(summary=self._log.summary())
            self.node.context.try_shutdown()


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(MechanismMonitorNode, args)


if __name__ == "__main__":
    sys.exit(main())
