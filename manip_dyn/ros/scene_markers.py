"""Markers of a scene and of the closest pair, on the latched topic ~/scene_markers."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from manip_dyn.collision import (
    Box,
    Capsule,
    Clearance,
    Cylinder,
    HalfSpace,
    Mesh,
    Scene,
    Sphere,
    clearance,
)
from manip_dyn.collision.scene import SceneObject
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import point, pose, quaternion, vector
from manip_dyn.ros.runtime.subscriptions import LATCHED

PERIOD = 0.5
"""Wall time between messages with the closest pair, s."""
OBJECT = ColorRGBA(r=0.45, g=0.6, b=0.75, a=0.7)
CLEAR, TOUCHING = ColorRGBA(r=0.1, g=0.7, b=0.2, a=1.0), ColorRGBA(r=0.9, g=0.1, b=0.1, a=1.0)
PLANE = 4.0
"""Side of the square that represents a half-space, m."""
THICKNESS = 0.002
"""Thickness of this square and width of the line between the closest points, m."""


class SceneMarkers:
    """Publishes the objects of a scene once, and the closest pair when it is requested."""

    def __init__(self, node: Node, robot: Robot, scene: Scene):
        """Publish the objects. Those attached to a link are in the frame of the link."""
        self._robot, self._scene = robot, scene
        self._publisher = node.create_publisher(MarkerArray, "~/scene_markers", LATCHED)
        self._objects = [
            marker
            for entry in scene.objects.values()
            for marker in object_markers(entry, entry.link or robot.base)
        ]
        for number, marker in enumerate(self._objects):
            marker.id, marker.frame_locked = number, True
        self._publisher.publish(MarkerArray(markers=self._objects))

    def publish_closest(self, q: Vector) -> None:
        """Publish the objects and the closest pair at q (n,), rad or m.

        All markers are in one message, because late subscribers receive only the last one.
        """
        if self._publisher.get_subscription_count():
            closest = closest_markers(clearance(self._robot, q, self._scene), self._robot.base)
            self._publisher.publish(MarkerArray(markers=[*self._objects, *closest]))


def scene_markers(node: Node, robot: Robot, scene: Scene | None) -> SceneMarkers | None:
    """Return the publisher of a scene, or None without a scene."""
    return None if scene is None else SceneMarkers(node, robot, scene)


def object_markers(entry: SceneObject, frame: str) -> list[Marker]:
    """Return the markers of an object without its padding, in the frame of its pose.

    A capsule consists of three markers. A half-space is a square.
    """
    shape, at, turn = entry.shape, entry.position, entry.rotation
    if isinstance(shape, Sphere):
        return [_marker(frame, entry.name, Marker.SPHERE, [2.0 * shape.radius] * 3, at, turn)]
    if isinstance(shape, Box):
        return [_marker(frame, entry.name, Marker.CUBE, shape.size, at, turn)]
    if isinstance(shape, HalfSpace):
        below = at - 0.5 * THICKNESS * turn[:, 2]
        return [_marker(frame, entry.name, Marker.CUBE, [PLANE, PLANE, THICKNESS], below, turn)]
    if isinstance(shape, Mesh):
        marker = _marker(frame, entry.name, Marker.TRIANGLE_LIST, [1.0] * 3, at, turn)
        marker.points = [point(corner) for corner in shape.vertices[shape.triangles.ravel()]]
        return [marker]
    assert isinstance(shape, (Cylinder, Capsule))
    width = 2.0 * shape.radius
    size = [width, width, shape.length]
    markers = [_marker(frame, entry.name, Marker.CYLINDER, size, at, turn)]
    if isinstance(shape, Capsule):
        for side in (-0.5, 0.5):
            end = at + side * shape.length * turn[:, 2]
            markers.append(_marker(frame, entry.name, Marker.SPHERE, [width] * 3, end, turn))
    return markers


def closest_markers(result: Clearance, frame: str) -> list[Marker]:
    """Return a line between the closest points, and names and distance of the pair as text."""
    if result.pair == ("", ""):
        return []
    line = _marker(frame, "closest", Marker.LINE_LIST, [2.0 * THICKNESS, 0.0, 0.0])
    text = _marker(frame, "distance", Marker.TEXT_VIEW_FACING, [0.0, 0.0, 0.05])
    line.points = [point(end) for end in result.points]
    text.text = result.reason
    text.pose.position = point(result.points.mean(axis=0) + np.array([0.0, 0.0, 0.05]))
    line.color = text.color = CLEAR if result.clear else TOUCHING
    return [line, text]


def _marker(
    frame: str,
    name: str,
    kind: int,
    size: Vector | list[float],
    position: Vector | tuple[float, ...] = (0.0, 0.0, 0.0),
    rotation: np.ndarray | None = None,
) -> Marker:
    marker = Marker(header=Header(frame_id=frame), ns=name, type=kind, action=Marker.ADD)
    turn = np.eye(3) if rotation is None else rotation
    marker.pose = pose(np.asarray(position), quaternion(turn))
    marker.scale, marker.color = vector(size), OBJECT
    return marker
