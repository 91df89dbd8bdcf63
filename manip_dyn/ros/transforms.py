"""/tf of a robot's links, where no robot_state_publisher makes it."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from rclpy.node import Node

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.robot.link_tree import LinkTree, Placement
from manip_dyn.ros.messages.geometry import header
from manip_dyn.ros.messages.topics import LATCHED
from manip_dyn.ros.parameters.transforms import TransformParameters
from manip_dyn.ros.runtime.wall_timer import every

SPACING_NS = 20_000_000
"""Time between messages on /tf: what looks at them draws no faster."""


class Transforms:
    """The transforms of one robot on tf and tf_static of the node's namespace.

    While another node publishes tf, such as a robot_state_publisher, this one keeps still.
    """

    def __init__(self, node: Node, robot: Robot, parameters: TransformParameters):
        """Begin, unless `publish_tf` is never; with auto, look for others every second.

        Raises:
            ManipDynError: If it is always and tf2_msgs is not installed.
        """
        self._node, self._tree = node, LinkTree(robot)
        self._lock = threading.Lock()
        self._moving: Any = None
        self._fixed: Any = None
        self._told_ns, self._listeners = -SPACING_NS, 0
        if parameters.publish_tf == "never":
            return
        try:
            self._kind = import_module("tf2_msgs.msg").TFMessage
        except ImportError as error:
            if parameters.publish_tf == "always":
                raise ManipDynError(
                    "parameter 'publish_tf' is 'always', but the package tf2_msgs is not "
                    "installed; expected ros-DISTRO-tf2-msgs, or 'auto'"
                ) from error
            return
        if parameters.publish_tf == "always":
            self._begin()
        else:
            every(node, 1.0, self._look)

    def tell(self, stamp_ns: int, q: Vector) -> None:
        """Publish where the links are at joint positions (n,), if that is due.

        While time stands still, that is once for whoever begins to listen: tf2 warns of the same
        stamp again.
        """
        with self._lock:
            if self._moving is None:
                return
            before, self._listeners = self._listeners, self._moving.get_subscription_count()
            due = not 0 <= stamp_ns - self._told_ns < SPACING_NS
            if self._listeners and (due or self._listeners > before):
                self._moving.publish(self._message(stamp_ns, self._tree.moving(q)))
                self._told_ns = stamp_ns

    def _look(self) -> None:
        others = self._node.count_publishers("tf") - (self._moving is not None)
        if others and self._moving is not None:
            self._end()
        elif not others and self._moving is None:
            self._begin()

    def _begin(self) -> None:
        with self._lock:
            self._moving = self._node.create_publisher(self._kind, "tf", 100)
            self._fixed = self._node.create_publisher(self._kind, "tf_static", LATCHED)
            self._fixed.publish(self._message(0, self._tree.fixed))
        self._node.get_logger().info(
            f"publishing the links of the robot on {self._moving.topic_name}"
        )

    def _end(self) -> None:
        with self._lock:
            for each in (self._moving, self._fixed):
                self._node.destroy_publisher(each)
            self._moving = self._fixed = None
        self._node.get_logger().info("another node publishes tf: this one leaves it to that")

    def _message(self, stamp_ns: int, placements: list[Placement]) -> Any:
        return self._kind(transforms=[_stamped(stamp_ns, each) for each in placements])


def _stamped(stamp_ns: int, placement: Placement) -> TransformStamped:
    x, y, z = map(float, placement.position)
    i, j, k, w = map(float, placement.quaternion)
    return TransformStamped(
        header=header(placement.parent, stamp_ns),
        child_frame_id=placement.child,
        transform=Transform(
            translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(x=i, y=j, z=k, w=w)
        ),
    )
