"""The description of the robot that a node moves, for whoever shows it."""

from __future__ import annotations

from rclpy.node import Node
from std_msgs.msg import String

from manip_dyn.robot import Robot
from manip_dyn.ros.messages.topics import LATCHED


def publish_description(node: Node, robot: Robot) -> None:
    """Publish the URDF for everybody, who comes later too; log what was noted about it."""
    publisher = node.create_publisher(String, "robot_description", LATCHED)
    publisher.publish(String(data=robot.urdf))
    for note in robot.notes:
        node.get_logger().warning(note)
