"""A mechanism as the viewer hears it: the shapes of its markers, where each is now."""

from __future__ import annotations

import threading

import numpy as np
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from manip_dyn.core.checks import Vector
from manip_dyn.ros.messages.geometry import pose_numbers
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.viewing.heard_robot import NEWEST
from manip_dyn.viewer.scene import Figure, Part, Poses, Rod, Snapshot

KINDS = {Marker.CUBE: "box", Marker.CYLINDER: "cylinder", Marker.SPHERE: "sphere"}


class HeardMarkers:
    """The newest markers of a mechanism; its coordinates are their poses."""

    def __init__(self, node: Node):
        """Subscribe."""
        self._lock = threading.Lock()
        self._newest: MarkerArray | None = None
        self._origin_ns: int | None = None
        node.create_subscription(MarkerArray, "mechanism/markers", self._on_markers, NEWEST)

    def figure(self) -> Figure | None:
        """Return what the markers draw; None before the first ones."""
        with self._lock:
            return None if self._newest is None else figure_of(self._newest.markers)

    def newest(self) -> Snapshot | None:
        """Return where everything is now."""
        with self._lock:
            if self._newest is None:
                return None
            markers = self._newest.markers
        stamp = to_nanoseconds(markers[0].header.stamp)
        if self._origin_ns is None or stamp < self._origin_ns:
            self._origin_ns = stamp
        return Snapshot((stamp - self._origin_ns) * 1e-9, coordinates(markers))

    def _on_markers(self, message: MarkerArray) -> None:
        if message.markers:
            with self._lock:
                self._newest = message


def figure_of(markers: list[Marker]) -> Figure:
    """Return what markers draw: a body for each shape, and one for each end of a line."""
    parts, rods = [], []
    for place, marker in enumerate(_solid(markers)):
        size = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
        kind = KINDS[marker.type]
        parts.append(
            Part(place, kind, np.zeros(3), np.eye(3), size, _colour(marker), marker.color.a)
        )
    place = len(parts)
    for marker in _lines(markers):
        for _ in range(len(marker.points) // 2):
            rods.append(Rod((place, place + 1), np.zeros((2, 3)), _colour(marker)))
            place += 2
    rows = coordinates(markers).reshape(-1, 7)
    spread = float(np.ptp(rows[:, :3], axis=0).max()) if len(rows) else 1.0
    return Figure("mechanism", tuple(parts), _poses, max(spread, 0.1), rods=tuple(rods))


def coordinates(markers: list[Marker]) -> Vector:
    """Return x, y, z and the quaternion x, y, z, w of all shapes, then of all ends of lines."""
    rows = [pose_numbers(marker.pose) for marker in _solid(markers)]
    for marker in _lines(markers):
        rows += [[end.x, end.y, end.z, 0.0, 0.0, 0.0, 1.0] for end in marker.points]
    return np.array(rows).ravel()


def _poses(numbers: Vector) -> Poses:
    rows = numbers.reshape(-1, 7)
    return Poses(rows[:, :3], rows[:, [6, 3, 4, 5]])


def _solid(markers: list[Marker]) -> list[Marker]:
    return [marker for marker in markers if marker.type in KINDS]


def _lines(markers: list[Marker]) -> list[Marker]:
    return [marker for marker in markers if marker.type == Marker.LINE_LIST]


def _colour(marker: Marker) -> tuple[int, int, int]:
    color = marker.color
    return round(255 * color.r), round(255 * color.g), round(255 * color.b)
