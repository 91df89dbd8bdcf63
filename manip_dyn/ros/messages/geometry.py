"""Conversions of stamps, points, poses and twists."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Twist, Vector3
from std_msgs.msg import Header

from manip_dyn.core.checks import Matrix, Vector

if TYPE_CHECKING:
    from manip_dyn import clik


def to_time(nanoseconds: int) -> Time:
    """Convert nanoseconds to a time message."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


def to_duration(nanoseconds: int) -> Duration:
    """Convert nanoseconds to a duration message."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Duration(sec=seconds, nanosec=rest)


def to_nanoseconds(stamp: Time | Duration) -> int:
    """Convert a time or duration message to nanoseconds."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def serialized_stamp(message: bytes) -> int:
    """Return the stamp (ns) of a serialized message whose first field is a header.

    The serialized message starts with four bytes of CDR encapsulation (OMG, DDS-XTypes). The
    second byte is odd for little-endian numbers.
    """
    seconds, rest = struct.unpack_from("<iI" if message[1] & 1 else ">iI", message, 4)
    return seconds * 1_000_000_000 + rest


def header(frame: str, stamp_ns: int) -> Header:
    """Return a message header with a frame and a stamp, ns."""
    return Header(frame_id=frame, stamp=to_time(stamp_ns))


def point(position: Sequence[float] | Vector) -> Point:
    """Convert a position (3,), m, to a point message."""
    return Point(**dict(zip("xyz", map(float, position), strict=True)))


def vector(numbers: Sequence[float] | Vector) -> Vector3:
    """Convert three numbers to a vector message."""
    return Vector3(**dict(zip("xyz", map(float, numbers), strict=True)))


def quaternion(rotation: Vector) -> Quaternion:
    """Convert a rotation matrix (3, 3) to a quaternion message.

    The formula depends on the largest component, to avoid cancellation (Shepperd, 1978).
    """
    trace = np.trace(rotation)
    i = int(np.argmax([*np.diag(rotation), trace]))
    components = np.empty(4)
    if i == 3:
        antisymmetric = rotation - rotation.T
        components[:3] = antisymmetric[2, 1], antisymmetric[0, 2], antisymmetric[1, 0]
        components[3] = 1.0 + trace
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        components[i] = 1.0 - trace + 2.0 * rotation[i, i]
        components[j] = rotation[j, i] + rotation[i, j]
        components[k] = rotation[k, i] + rotation[i, k]
        components[3] = rotation[k, j] - rotation[j, k]
    x, y, z, w = (components / np.linalg.norm(components)).tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def rotation_matrices(quaternions: Vector) -> Matrix:
    """Convert quaternions x, y, z, w (..., 4) to rotation matrices (..., 3, 3)."""
    lengths = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    x, y, z, w = np.moveaxis(quaternions / lengths, -1, 0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def pose(position: Sequence[float] | Vector, orientation: Quaternion) -> Pose:
    """Return a pose message with a position (3,), m, and an orientation."""
    return Pose(position=point(position), orientation=orientation)


def pose_stamped(frame: str, stamp_ns: int, tool: clik.Pose) -> PoseStamped:
    """Convert the pose of a tool to a message with a frame and a stamp, ns."""
    return PoseStamped(
        header=header(frame, stamp_ns), pose=pose(tool.position, quaternion(tool.rotation))
    )


def twist(numbers: Vector) -> Twist:
    """Convert a twist (6,), linear part (m/s) before angular part (rad/s), to a message."""
    return Twist(linear=vector(numbers[:3]), angular=vector(numbers[3:]))


def pose_numbers(message: Pose) -> list[float]:
    """Return the seven numbers of a pose: position x, y, z and quaternion x, y, z, w."""
    p, o = message.position, message.orientation
    return [p.x, p.y, p.z, o.x, o.y, o.z, o.w]


def twist_numbers(message: Twist) -> list[float]:
    """Return the six numbers of a twist, linear part (m/s) before angular part (rad/s)."""
    v, w = message.linear, message.angular
    return [v.x, v.y, v.z, w.x, w.y, w.z]
