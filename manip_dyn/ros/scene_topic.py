"""Topic ~/scene, on which nodes receive the objects around the arm."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from rclpy.node import Node

from manip_dyn.collision import Scene
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.moveit_scene import MoveItScene
from manip_dyn.ros.runtime.execution import ThrottledWarning
from manip_dyn.ros.runtime.subscriptions import QUEUE

TOPIC = "~/scene"


class SceneTopic:
    """Subscription to planning scenes of MoveIt, if moveit_msgs is installed."""

    def __init__(
        self,
        node: Node,
        robot: Robot,
        scene: Scene,
        positions: Callable[[], Vector | None],
        use: Callable[[Scene], None],
    ):
        """Subscribe.

        Args:
            node: The node.
            robot: The arm.
            scene: The scene that the messages change.
            positions: Returns the joint positions (n,), or None if unknown.
            use: Called with each new scene.
        """
        self._scene, self._positions, self._use = MoveItScene(robot, scene), positions, use
        self._info, self._warn = node.get_logger().info, ThrottledWarning(node, "dropped: ")
        try:
            kind = import_module("moveit_msgs.msg").PlanningScene
        except ImportError:
            self._info("moveit_msgs is not installed: the scene is that of the parameter 'scene'")
            return
        node.create_subscription(kind, TOPIC, self._on_message, QUEUE)

    def _on_message(self, message: Any) -> None:
        before = self._scene.scene
        try:
            scene = self._scene.update(message, self._positions())
        except ManipDynError as error:
            self._warn(f"planning scene: {error}")
            return
        if scene is not before:
            self._use(scene)
            self._info(f"new scene with {len(scene.objects)} objects")
