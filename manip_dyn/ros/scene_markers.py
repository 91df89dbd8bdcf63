"""Markers of a scene and of the closest pair, on the latched topic ~/scene_markers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import numpy as np
from rclpy.node import Node
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from manip_dyn.collision import Scene
from manip_dyn.collision.model import Geometry
from manip_dyn.collision.scene import SceneObject
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import point, pose, quaternion, vector
from manip_dyn.ros.runtime.execution import unless_shut_down
from manip_dyn.ros.runtime.subscriptions import LATCHED
from manip_dyn.ros.runtime.threads import PeriodicThread
from manip_dyn.viewer.collisions import ABOVE, CLEAR, TOUCHING, ClosestPair, shape_parts
from manip_dyn.viewer.scene import Closest, Colour, Part

TOPIC = "~/scene_markers"
PERIOD = 0.1
"""Wall time between messages with the closest pair, s."""
CLOSEST, DISTANCE = "closest", "distance"
"""Namespaces of the line between the closest points and of its text."""
LINE, TEXT = 0.004, 0.05
"""Width of the line and height of the text, m."""
KINDS: Mapping[str, int] = {
    "box": Marker.CUBE,
    "cylinder": Marker.CYLINDER,
    "sphere": Marker.SPHERE,
    "mesh": Marker.TRIANGLE_LIST,
}
"""Types of the markers by kind of `Part`."""


class SceneMarkers:
    """Publishes the objects of a scene, and the closest pair while the topic has subscribers.

    A thread computes and publishes the markers, so that no callback of the node is delayed.
    """

    def __init__(
        self, node: Node, robot: Robot, scene: Scene, positions: Callable[[], Vector | None]
    ):
        """Publish the objects, and prepare the thread, which `start` starts.

        Args:
            node: The node.
            robot: The arm.
            scene: The scene.
            positions: Returns the joint positions (n,), or None if unknown. The thread calls it.
        """
        self._node, self._robot, self._positions = node, robot, positions
        self._publisher = node.create_publisher(MarkerArray, TOPIC, LATCHED)
        self._lock = threading.Lock()
        self.use(scene)
        self._pair(np.zeros(robot.n))  # compiles before the motion starts
        self._thread = PeriodicThread(self._cycle, PERIOD)

    def use(self, scene: Scene) -> None:
        """Publish the objects of a scene in place of the previous ones."""
        objects = [
            marker
            for entry in scene.objects.values()
            for marker in object_markers(entry, entry.link or self._robot.base)
        ]
        for number, marker in enumerate(objects):
            marker.id, marker.frame_locked = number, True
        pair = ClosestPair(self._robot, scene)
        with self._lock:
            self._pair, self._objects = pair, objects
            self._publish(objects)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        self._thread.stop()

    def _cycle(self) -> None:
        with self._lock:
            unless_shut_down(self._node, self._publish_closest)

    def _publish_closest(self) -> None:
        if not self._publisher.get_subscription_count():
            return
        q = self._positions()
        closest = None if q is None else self._pair(q)
        if closest is not None:
            # All markers are in one message, because late subscribers receive only the last one.
            self._publish([*self._objects, *closest_markers(closest, self._robot.base)])

    def _publish(self, markers: list[Marker]) -> None:
        """Publish markers in place of all others, because a slow subscriber may miss messages."""
        self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL), *markers]))


def object_markers(entry: SceneObject, frame: str) -> list[Marker]:
    """Return the markers of an object without its padding, in the frame of its pose."""
    geometry = Geometry(entry.name, -1, entry.rotation, entry.position, entry.shape, 0.0)
    return [_part_marker(frame, entry.name, part) for part in shape_parts(geometry)]


def closest_markers(closest: Closest, frame: str) -> list[Marker]:
    """Return a line between the closest points, and names and distance of the pair as text."""
    colour = _rgba(CLEAR if closest.clear else TOUCHING)
    line = _marker(frame, CLOSEST, Marker.LINE_LIST, [LINE, 0.0, 0.0], colour)
    text = _marker(frame, DISTANCE, Marker.TEXT_VIEW_FACING, [0.0, 0.0, TEXT], colour)
    line.points = [point(end) for end in closest.points]
    text.text = closest.text
    text.pose.position = point(closest.points.mean(axis=0) + np.array([0.0, 0.0, ABOVE]))
    return [line, text]


def _part_marker(frame: str, name: str, part: Part) -> Marker:
    assert part.colour is not None
    marker = _marker(frame, name, KINDS[part.kind], part.size, _rgba(part.colour, part.opacity))
    marker.pose = pose(part.position, quaternion(part.rotation))
    if part.triangles is not None:
        vertices, triangles = part.triangles
        marker.points = [point(corner) for corner in vertices[triangles.ravel()]]
    return marker


def _marker(
    frame: str, name: str, kind: int, size: Vector | list[float], colour: ColorRGBA
) -> Marker:
    marker = Marker(header=Header(frame_id=frame), ns=name, type=kind, action=Marker.ADD)
    marker.pose.orientation.w = 1.0
    marker.scale, marker.color = vector(size), colour
    return marker


def _rgba(colour: Colour, opacity: float = 1.0) -> ColorRGBA:
    red, green, blue = (channel / 255.0 for channel in colour)
    return ColorRGBA(r=red, g=green, b=blue, a=opacity)
