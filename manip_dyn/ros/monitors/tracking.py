"""Measures how well the tracker's tool follows its path, for one lap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.node import Node
from sensor_msgs.msg import JointState

from manip_dyn.clik import Pose
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import pose_from
from manip_dyn.ros.messages.joints import by_name
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import EVERY_MESSAGE, LATCHED
from manip_dyn.ros.monitors.report import Progress
from manip_dyn.ros.monitors.tracking_log import TrackingLog, first_whole_lap
from manip_dyn.ros.parameters.monitor import MonitorParameters


class TrackingMonitor:
    """Joins joint states and desired poses by their stamps.

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
        self._log = TrackingLog(robot, parameters.settle)
        self._duration = parameters.duration
        self._joints: dict[int, tuple[Vector, Vector]] = {}
        self._desired: dict[int, Pose] = {}
        self._path: tuple[int, float] | None = None
        self._begin: float | None = None
        self.progress, self._done = Progress(), False
        node.create_subscription(JointState, "joint_states", self._on_joints, EVERY_MESSAGE)
        node.create_subscription(
            PoseStamped, "clik_tracker/desired_pose", self._on_desired, EVERY_MESSAGE
        )
        node.create_subscription(Path, "clik_tracker/desired_path", self._on_path, LATCHED)

    def _on_path(self, message: Path) -> None:
        first, last = (to_nanoseconds(message.poses[i].header.stamp) for i in (0, -1))
        self._path = (first, self._duration or (last - first) * 1e-9)

    def _on_joints(self, message: JointState) -> None:
        self.progress.heard()
        stamp = to_nanoseconds(message.header.stamp)
        q, v = (by_name(message, self._robot, field) for field in ("position", "velocity"))
        self._joints[stamp] = q, v
        self._match(stamp)

    def _on_desired(self, message: PoseStamped) -> None:
        stamp = to_nanoseconds(message.header.stamp)
        self._desired[stamp] = pose_from(message.pose)
        self._match(stamp)

    def _match(self, newest: int) -> None:
        """Log what was heard on both topics, once the path is known."""
        if self._path is None or self._done:
            return
        origin, duration = self._path
        stamps = [newest] if self._log.duration else sorted(self._joints)
        for stamp in stamps:
            if stamp in self._joints and stamp in self._desired:
                pose, state = self._desired.pop(stamp), self._joints.pop(stamp)
                t = (stamp - origin) * 1e-9
                if self._begin is None:
                    self._begin = first_whole_lap(t, duration)
                if t >= self._begin:
                    self._log.add(t, *state, pose)
        self.progress(self._log.duration / duration)
        if self._log.duration >= duration:
            self._done = True
            digest = {"round_s": duration, "log_sha256": self._log.digest()}
            self._finish(self._log.summary() | digest)
