"""Topics of a robot: its URDF description and the transforms of its links."""

from __future__ import annotations

import threading
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar

from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.robot.geometry import LinkTree, Placement
from manip_dyn.ros.messages.geometry import header
from manip_dyn.ros.parameters.common import (
    TOPIC,
    RobotParameters,
    SceneParameters,
    TransformParameters,
)
from manip_dyn.ros.runtime.execution import create_wall_timer
from manip_dyn.ros.runtime.subscriptions import LATCHED

ROBOT_DESCRIPTION = "robot_description"
SEMANTIC_DESCRIPTION = "robot_description_semantic"
SIGNAL_PERIOD = 0.1
"""Longest wall time from a signal, such as SIGINT, until a waiting node exits, s."""
P = TypeVar("P", bound=RobotParameters)
"""Parameters of a node with an arm."""


def with_description(node: Node, parameters: P) -> P:
    """Return the parameters with the URDF and the SRDF from their topics.

    Blocks until they are published: the URDF if `robot` is "topic" and there is no description in
    the parameters, and the SRDF if `srdf` is "topic". Without `scene`, nothing uses the SRDF, and
    `srdf` "topic" becomes empty.

    Raises:
        ManipDynError: If a received text is empty.
        ExternalShutdownException: If ROS is shut down in the meantime.
    """
    if parameters.robot == TOPIC and not parameters.robot_description:
        text = _received(node, ROBOT_DESCRIPTION, "robot")
        parameters = replace(parameters, robot_description=text)
    if isinstance(parameters, SceneParameters) and parameters.srdf == TOPIC:
        text = _received(node, SEMANTIC_DESCRIPTION, "SRDF") if parameters.scene else ""
        parameters = replace(parameters, srdf=text)
    return parameters


def _received(node: Node, name: str, content: str) -> str:
    """Return the first text on a topic; raise ManipDynError if it is empty."""
    node.get_logger().info(f"waiting for the {content} on {node.resolve_topic_name(name)}")
    messages: list[String] = []
    subscription = node.create_subscription(String, name, messages.append, LATCHED)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        while not messages:
            executor.spin_once(SIGNAL_PERIOD)
    finally:
        executor.remove_node(node)
        executor.shutdown()
        node.destroy_subscription(subscription)
    text = str(messages[0].data)
    if not text.strip():
        topic = node.resolve_topic_name(name)
        raise ManipDynError(f"{content} on {topic} must be a description, got an empty text.")
    return text


def publish_description(node: Node, robot: Robot) -> None:
    """Publish the URDF, latched, unless `robot` is "topic"; log the notes on the robot."""
    if node.get_parameter("robot").value != TOPIC:
        publisher = node.create_publisher(String, ROBOT_DESCRIPTION, LATCHED)
        publisher.publish(String(data=robot.urdf))
    for note in robot.notes:
        node.get_logger().warning(note)


SPACING_NS = 20_000_000
"""Smallest difference of the stamps of two messages on tf, ns."""


class Transforms:
    """Publishes the transforms of a robot on tf and tf_static in the node's namespace.

    With `publish_tf` auto, nothing is published without tf2_msgs, or while another node, such as a
    robot_state_publisher, publishes tf.
    """

    def __init__(self, node: Node, robot: Robot, parameters: TransformParameters):
        """Start publishing as the parameter `publish_tf` requires.

        always: start now. auto: check once per second whether another node publishes tf. never:
        do not publish.

        Raises:
            ManipDynError: If `publish_tf` is always and tf2_msgs is not installed.
        """
        self._node, self._tree = node, LinkTree(robot)
        self._lock = threading.Lock()
        self._moving: Any = None
        self._fixed: Any = None
        self._published_ns, self._listeners = -SPACING_NS, 0
        if parameters.publish_tf == "never":
            return
        try:
            self._kind = import_module("tf2_msgs.msg").TFMessage
        except ImportError as error:
            if parameters.publish_tf == "always":
                raise ManipDynError(
                    "parameter 'publish_tf' must be 'auto' or 'never' without the package "
                    "tf2_msgs, got 'always'. Install ros-DISTRO-tf2-msgs."
                ) from error
            return
        if parameters.publish_tf == "always":
            self._begin()
        else:
            create_wall_timer(node, 1.0, self._check_others)

    def publish(self, stamp_ns: int, q: Vector) -> None:
        """Publish the transforms at the joint positions `q` (n,) if a message is due.

        A message is due `SPACING_NS` after the previous one, after a step back in time, and for
        each new subscription. Other stamps are not repeated, because tf2 warns about them.
        """
        with self._lock:
            if self._moving is None:
                return
            previous, self._listeners = self._listeners, self._moving.get_subscription_count()
            due = not 0 <= stamp_ns - self._published_ns < SPACING_NS
            if self._listeners and (due or self._listeners > previous):
                self._moving.publish(self._message(stamp_ns, self._tree.moving(q)))
                self._published_ns = stamp_ns

    def _check_others(self) -> None:
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
            for publisher in (self._moving, self._fixed):
                self._node.destroy_publisher(publisher)
            self._moving = self._fixed = None
        self._node.get_logger().info("another node publishes tf: this node stops publishing it")

    def _message(self, stamp_ns: int, placements: list[Placement]) -> Any:
        return self._kind(transforms=[_stamped(stamp_ns, placement) for placement in placements])


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
