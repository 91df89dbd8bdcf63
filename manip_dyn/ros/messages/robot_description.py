"""The robot's description on a topic: heard by a node without one, published by the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from rclpy.node import Node
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

from manip_dyn.robot import Robot
from manip_dyn.ros.messages.topics import LATCHED
from manip_dyn.ros.parameters.robot import TOPIC, RobotParameters

NAME = "robot_description"
P = TypeVar("P", bound=RobotParameters)
"""Parameters of a node with an arm."""


def heard(node: Node, parameters: P) -> P:
    """Return the parameters with the description from the topic, if that is what they ask for.

    Waits until somebody publishes it.

    Raises:
        KeyboardInterrupt: If the node is told to end meanwhile.
    """
    if parameters.robot != TOPIC or parameters.robot_description:
        return parameters
    topic = node.resolve_topic_name(NAME)
    node.get_logger().info(f"waiting for the robot on {topic}")
    came, message = wait_for_message(String, node, NAME, qos_profile=LATCHED)
    if not came:
        raise KeyboardInterrupt
    return replace(parameters, robot_description=message.data)


def publish_description(node: Node, robot: Robot) -> None:
    """Publish the URDF for everybody, who comes later too; log what was noted about it.

    A robot that came from the topic is there already.
    """
    if node.get_parameter("robot").value != TOPIC:
        publisher = node.create_publisher(String, NAME, LATCHED)
        publisher.publish(String(data=robot.urdf))
    for note in robot.notes:
        node.get_logger().warning(note)
