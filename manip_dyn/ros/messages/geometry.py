"""Stamps, points, poses and twists."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Twist, Vector3
from std_msgs.msg import Header

from manip_dyn.core.checks import Vector

if TYPE_CHECKING:
    from manip_dyn import clik


def to_time(nanoseconds: int) -> Time:
    """Return a time message."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


def to_duration(nanoseconds: int) -> Duration:
    """Return a duration message."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Duration(sec=seconds, nanosec=rest)


def to_nanoseconds(stamp: Time | Duration) -> int:
    """Return a time or duration message in nanoseconds."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def serialized_stamp(message: bytes) -> int:
    """Return the stamp of a serialized message that begins with a header, ns.

    A header of four bytes precedes it (OMG, DDS-XTypes, CDR encapsulation). Its second byte is
    odd for little-endian numbers.
    """
    seconds, rest = struct.unpack_from("<iI" if message[1] & 1 else ">iI", message, 4)
    return seconds * 1_000_000_000 + rest


def header(frame: str, stamp_ns: int) -> Header:
    """Return a header."""
    return Header(frame_id=frame, stamp=to_time(stamp_ns))


def point(position: Sequence[float] | Vector) -> Point:
    """Return a point from (3,), m."""
    return Point(**dict(zip("xyz", map(float, position), strict=True)))


def vector(numbers: Sequence[float] | Vector) -> Vector3:
    """Return a vector from (3,)."""
    return Vector3(**dict(zip("xyz", map(float, numbers), strict=True)))


def quaternion(rotation: Vector) -> Quaternion:
    """Return a quaternion from a rotation matrix (3, 3)."""
    from scipy.spatial.transform import Rotation  # slow to load, and few nodes send poses

    x, y, z, w = Rotation.from_matrix(rotation).as_quat().tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def pose(position: Sequence[float] | Vector, orientation: Quaternion) -> Pose:
    """Return a pose from a position (3,), m, and an orientation."""
    return Pose(position=point(position), orientation=orientation)


def pose_stamped(frame: str, stamp_ns: int, tool: clik.Pose) -> PoseStamped:
    """Return the pose of a tool, with frame and stamp."""
    return PoseStamped(
        header=header(frame, stamp_ns), pose=pose(tool.position, quaternion(tool.rotation))
    )


def twist(numbers: Vector) -> Twist:
    """Return a twist from (6,), linear part first."""
    return Twist(linear=vector(numbers[:3]), angular=vector(numbers[3:]))


def pose_numbers(message: Pose) -> list[float]:
    """Return x, y, z of a pose and its quaternion x, y, z, w, (7,)."""
    p, o = message.position, message.orientation
    return [p.x, p.y, p.z, o.x, o.y, o.z, o.w]


def twist_numbers(message: Twist) -> list[float]:
    """Return a twist (6,), linear part first."""
    v, w = message.linear, message.angular
    return [v.x, v.y, v.z, w.x, w.y, w.z]
