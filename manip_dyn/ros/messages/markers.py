"""Messages about a moving mechanism: poses of its bodies, and markers to draw it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import PoseArray, Quaternion
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from manip_dyn.core.checks import Vector
from manip_dyn.multibody import Mechanism
from manip_dyn.multibody.model.geometry import body_poses, bumps, lines, shapes
from manip_dyn.ros.messages.geometry import (
    point,
    pose,
    pose_numbers,
    quaternion,
    rotation_matrices,
    vector,
)

COLOURS = {
    "box": (0.55, 0.6, 0.5, 0.5),
    "cylinder": (0.15, 0.15, 0.15, 1.0),
    "spring": (0.9, 0.6, 0.1, 1.0),
    "rod": (0.3, 0.5, 0.8, 1.0),
    "bump": (0.6, 0.3, 0.2, 1.0),
}
LINE_WIDTH = 0.02
"""Width of lines, m."""
LONGEST_BUMP = 0.6
"""Length of a bump across the road, m."""
ALONG_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Rotation (3, 3) from the z axis to the y axis, for cylinders."""


def pose_array(mechanism: Mechanism, header: Header, q: Vector) -> PoseArray:
    """Return the poses of all bodies in the order of `mechanism.bodies` at `q` (7 b,)."""
    positions, turns = body_poses(mechanism, q)
    poses = [
        pose(position, Quaternion(w=w, x=x, y=y, z=z))
        for position, (w, x, y, z) in zip(positions.tolist(), turns.tolist(), strict=True)
    ]
    return PoseArray(header=header, poses=poses)


def coordinates(message: PoseArray) -> Vector:
    """Return the coordinates (7 b,) of b bodies: x, y, z and Euler parameters, scalar first."""
    rows = np.array([pose_numbers(body) for body in message.poses]).reshape(-1, 7)
    return rows[:, [0, 1, 2, 6, 3, 4, 5]].ravel()


class Markers:
    """Markers of a mechanism. All are in one fixed frame, so viewers do not require /tf."""

    def __init__(self, mechanism: Mechanism):
        """Compute the shapes and lines of the mechanism."""
        self._mechanism = mechanism
        self._shapes, self._lines = shapes(mechanism), lines(mechanism)

    def __call__(self, header: Header, q: Vector, t: float) -> MarkerArray:
        """Return all markers at the coordinates `q` (N,) and time `t`, s."""
        positions, turns = body_poses(self._mechanism, q)
        rotations = rotation_matrices(turns[:, [1, 2, 3, 0]])
        markers = [
            *self._bodies(header, positions, rotations),
            *self._connections(header, positions, rotations),
            *self._bumps(header, q, t),
        ]
        for number, marker in enumerate(markers):
            marker.id = number
        return MarkerArray(markers=markers)

    def _bodies(self, header: Header, positions: Vector, rotations: Vector) -> list[Marker]:
        markers = []
        for shape in self._shapes:
            turn = rotations[shape.body]
            kind = Marker.CUBE if shape.kind == "box" else Marker.CYLINDER
            position = positions[shape.body] + turn @ shape.position
            marker = _marker(header, shape.kind, kind, shape.size)
            marker.text = shape.name
            marker.pose = pose(position, quaternion(turn @ shape.rotation))
            markers.append(marker)
        return markers

    def _connections(self, header: Header, positions: Vector, rotations: Vector) -> list[Marker]:
        markers = []
        for kind in ("spring", "rod"):
            marker = _marker(header, kind, Marker.LINE_LIST, (LINE_WIDTH, 0.0, 0.0))
            for line in self._lines:
                if line.kind == kind:
                    for body, end in zip(line.bodies, line.points, strict=True):
                        moved = end if body < 0 else positions[body] + rotations[body] @ end
                        marker.points.append(point(moved))
            if marker.points:
                markers.append(marker)
        return markers

    def _bumps(self, header: Header, q: Vector, t: float) -> list[Marker]:
        markers = []
        for position, radius in bumps(self._mechanism, q, t):
            size = (2.0 * radius, 2.0 * radius, LONGEST_BUMP)
            marker = _marker(header, "bump", Marker.CYLINDER, size)
            marker.pose = pose(position, quaternion(ALONG_Y))
            markers.append(marker)
        return markers


def _marker(header: Header, kind: str, shape: int, size: Sequence[float] | Vector) -> Marker:
    marker = Marker(header=header, ns=kind, type=shape, action=Marker.ADD)
    marker.scale = vector(size)
    marker.color = ColorRGBA(**dict(zip("rgba", COLOURS[kind], strict=True)))
    marker.pose.orientation.w = 1.0
    return marker
