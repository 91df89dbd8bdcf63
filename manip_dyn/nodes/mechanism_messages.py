"""Messages of a moving mechanism: poses, markers, joint states."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, PoseArray, Quaternion, Vector3
from scipy.spatial.transform import Rotation
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from manip_dyn.multibody import Mechanism
from manip_dyn.multibody.model.shapes import bumps, lines, shapes
from manip_dyn.multibody.poses import body_poses
from manip_dyn.validate import Vector

COLOURS = {
    "box": (0.55, 0.6, 0.5, 0.5),
    "cylinder": (0.15, 0.15, 0.15, 1.0),
    "spring": (0.9, 0.6, 0.1, 1.0),
    "rod": (0.3, 0.5, 0.8, 1.0),
    "bump": (0.6, 0.3, 0.2, 1.0),
}
LINE_WIDTH = 0.02
"""m."""
LONGEST_BUMP = 0.6
"""Length of a bump across the road, m."""


def pose_array(mechanism: Mechanism, header: Header, q: Vector) -> PoseArray:
    """Return the poses of all bodies, in their order; Euler parameters as they are."""
    positions, turns = body_poses(mechanism, q)
    poses = [_pose(p, e) for p, e in zip(positions.tolist(), turns.tolist(), strict=True)]
    return PoseArray(header=header, poses=poses)


def coordinates(message: PoseArray) -> Vector:
    """Return the coordinates (7 b,) of a pose array."""
    rows = [
        (p.x, p.y, p.z, o.w, o.x, o.y, o.z)
        for p, o in ((pose.position, pose.orientation) for pose in message.poses)
    ]
    return np.array(rows).ravel()


class Markers:
    """Draws a mechanism; every marker stands for itself in the fixed frame, so none needs /tf."""

    def __init__(self, mechanism: Mechanism):
        """Find what there is to draw."""
        self._mechanism = mechanism
        self._shapes, self._lines = shapes(mechanism), lines(mechanism)

    def __call__(self, header: Header, q: Vector, t: float) -> MarkerArray:
        """Return all markers at the coordinates q (N,) and the time t, s."""
        positions, turns = body_poses(self._mechanism, q)
        found = []
        rotations = Rotation.from_quat(turns[:, [1, 2, 3, 0]]).as_matrix()
        for shape in self._shapes:
            turn = rotations[shape.body]
            kind = Marker.CUBE if shape.kind == "box" else Marker.CYLINDER
            place = positions[shape.body] + turn @ shape.position
            marker = _marker(header, shape.kind, len(found), kind, shape.size)
            marker.text = shape.name
            marker.pose = _pose(place.tolist(), _turn(turn @ shape.rotation))
            found.append(marker)
        for kind in ("spring", "rod"):
            marker = _marker(header, kind, len(found), Marker.LINE_LIST, [LINE_WIDTH, 0.0, 0.0])
            for line in self._lines:
                if line.kind == kind:
                    for body, point in zip(line.bodies, line.points, strict=True):
                        end = point if body < 0 else positions[body] + rotations[body] @ point
                        marker.points.append(_point(end.tolist()))
            if marker.points:
                found.append(marker)
        along_y = _turn(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]))
        for place, radius in bumps(self._mechanism, q, t):
            size = [2.0 * radius, 2.0 * radius, LONGEST_BUMP]
            marker = _marker(header, "bump", len(found), Marker.CYLINDER, size)
            marker.pose = _pose(place.tolist(), along_y)
            found.append(marker)
        return MarkerArray(markers=found)


def header_of(frame: str, stamp: Time) -> Header:
    """Return a header."""
    return Header(frame_id=frame, stamp=stamp)


def _marker(header: Header, kind: str, number: int, shape: int, size) -> Marker:
    marker = Marker(header=header, ns=kind, id=number, type=shape, action=Marker.ADD)
    marker.scale = Vector3(**dict(zip("xyz", map(float, size), strict=True)))
    marker.color = ColorRGBA(**dict(zip("rgba", COLOURS[kind], strict=True)))
    marker.pose.orientation.w = 1.0
    return marker


def _pose(position: list[float], e: list[float]) -> Pose:
    w, x, y, z = e
    return Pose(position=_point(position), orientation=Quaternion(w=w, x=x, y=y, z=z))


def _point(place: list[float]) -> Point:
    return Point(x=place[0], y=place[1], z=place[2])


def _turn(matrix: Vector) -> list[float]:
    x, y, z, w = Rotation.from_matrix(matrix).as_quat().tolist()
    return [w, x, y, z]
