"""What the tracker publishes about path and tool."""

from __future__ import annotations

from collections import deque

import numpy as np
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, TwistStamped, Vector3
from nav_msgs.msg import Path
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from std_msgs.msg import Header, String

from manip_dyn import clik
from manip_dyn.nodes import messages
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

POSES_PER_ROUND = 300
TRAIL_PERIOD = 0.02
"""Path time between poses of the trail where the path has no end, s."""


class TrackerTopics:
    """The publishers of a tracker node; positions, twists and errors are in its base frame."""

    def __init__(self, node: Node, robot: Robot, frame: str, path_length: int):
        """Make the publishers and tell the robot's description."""
        self._robot, self._frame = robot, frame
        self._desired_path = node.create_publisher(Path, "~/desired_path", messages.LATCHED)
        self._desired_pose = node.create_publisher(PoseStamped, "~/desired_pose", 100)
        self._actual_path = node.create_publisher(Path, "~/actual_path", 10)
        self._error = node.create_publisher(TwistStamped, "~/error", 100)
        description = node.create_publisher(String, "robot_description", messages.LATCHED)
        description.publish(String(data=robot.urdf))
        self._trail: deque[PoseStamped] = deque(maxlen=path_length)
        self._spacing_ns = 0

    def begin(self, path: clik.Path, origin_ns: int, step: float) -> None:
        """Begin a new trail; publish one round of the path from the stamp of its begin on."""
        self._trail.clear()
        endless = np.isinf(path.duration)
        spacing = TRAIL_PERIOD if endless else path.duration / POSES_PER_ROUND
        self._spacing_ns = round(max(spacing, step) * 1e9)
        if endless:
            return
        count = int(np.ceil(path.duration / step - 1e-6))
        kept = np.unique([*range(0, count, max(1, count // POSES_PER_ROUND)), count]) * step
        poses = [self._pose(origin_ns + round(t * 1e9), path.pose(t)) for t in map(float, kept)]
        self._desired_path.publish(Path(header=self._header(origin_ns), poses=poses))

    def publish(self, stamp_ns: int, desired: clik.Pose, actual: clik.Pose, error: Vector) -> None:
        """Publish desired pose and error (6,) if somebody listens; keep the actual pose."""
        if self._desired_pose.get_subscription_count():
            self._desired_pose.publish(self._pose(stamp_ns, desired))
        if self._error.get_subscription_count():
            message = TwistStamped(header=self._header(stamp_ns))
            message.twist.linear, message.twist.angular = _vector(error[:3]), _vector(error[3:])
            self._error.publish(message)
        newest = messages.to_nanoseconds(self._trail[-1].header.stamp) if self._trail else None
        if newest is None or stamp_ns - newest >= self._spacing_ns:
            self._trail.append(self._pose(stamp_ns, actual))

    def publish_trail(self) -> None:
        """Publish the trail if somebody listens."""
        if self._trail and self._actual_path.get_subscription_count():
            poses = list(self._trail)
            self._actual_path.publish(Path(header=poses[-1].header, poses=poses))

    def _header(self, stamp_ns: int) -> Header:
        return Header(stamp=messages.to_time(stamp_ns), frame_id=self._frame)

    def _pose(self, stamp_ns: int, pose: clik.Pose) -> PoseStamped:
        x, y, z, w = Rotation.from_matrix(pose.rotation).as_quat().tolist()
        place = Point(**dict(zip("xyz", pose.position.tolist(), strict=True)))
        orientation = Quaternion(x=x, y=y, z=z, w=w)
        return PoseStamped(
            header=self._header(stamp_ns), pose=Pose(position=place, orientation=orientation)
        )


def _vector(numbers: Vector) -> Vector3:
    return Vector3(**dict(zip("xyz", numbers.tolist(), strict=True)))
