"""What the tracker publishes about path and tool."""

from __future__ import annotations

from collections import deque

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Path
from rclpy.node import Node

from manip_dyn import clik
from manip_dyn.core.checks import Vector
from manip_dyn.ros.messages.geometry import header, pose_stamped, twist
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import LATCHED

POSES_PER_LAP = 300
TRAIL_PERIOD = 0.02
"""Path time between poses of the trail where the path has no end, s."""


class TrackerTopics:
    """The publishers of a tracker node; positions, twists and errors are in its base frame."""

    def __init__(self, node: Node, frame: str, path_length: int):
        """Make the publishers."""
        self._frame = frame
        self._desired_path = node.create_publisher(Path, "~/desired_path", LATCHED)
        self._desired_pose = node.create_publisher(PoseStamped, "~/desired_pose", 100)
        self._actual_path = node.create_publisher(Path, "~/actual_path", 10)
        self._error = node.create_publisher(TwistStamped, "~/error", 100)
        self._trail: deque[PoseStamped] = deque(maxlen=path_length)
        self._spacing_ns = 0

    def begin(self, path: clik.Path, origin_ns: int, step: float) -> None:
        """Begin a new trail; publish one lap of the path from the stamp of its begin on."""
        self._trail.clear()
        endless = np.isinf(path.duration)
        spacing = TRAIL_PERIOD if endless else path.duration / POSES_PER_LAP
        self._spacing_ns = round(max(spacing, step) * 1e9)
        if endless:
            return
        count = int(np.ceil(path.duration / step - 1e-6))
        kept = np.unique([*range(0, count, max(1, count // POSES_PER_LAP)), count]) * step
        poses = [
            pose_stamped(self._frame, origin_ns + round(t * 1e9), path.pose(t))
            for t in map(float, kept)
        ]
        self._desired_path.publish(Path(header=header(self._frame, origin_ns), poses=poses))

    def publish(self, stamp_ns: int, desired: clik.Pose, actual: clik.Pose, error: Vector) -> None:
        """Publish desired pose and error (6,) if somebody listens; keep the actual pose."""
        if self._desired_pose.get_subscription_count():
            self._desired_pose.publish(pose_stamped(self._frame, stamp_ns, desired))
        if self._error.get_subscription_count():
            self._error.publish(
                TwistStamped(header=header(self._frame, stamp_ns), twist=twist(error))
            )
        newest = to_nanoseconds(self._trail[-1].header.stamp) if self._trail else None
        if newest is None or stamp_ns - newest >= self._spacing_ns:
            self._trail.append(pose_stamped(self._frame, stamp_ns, actual))

    def publish_trail(self) -> None:
        """Publish the trail if somebody listens."""
        if self._trail and self._actual_path.get_subscription_count():
            poses = list(self._trail)
            self._actual_path.publish(Path(header=poses[-1].header, poses=poses))
