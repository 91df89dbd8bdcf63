"""The standard messages that results are written as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.recording.schemas import message
from manip_dyn.robot.geometry import Placement

NONE = np.zeros(0)


def time(nanoseconds: int) -> Any:
    """Return a stamp."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return message("builtin_interfaces/msg/Time", sec=seconds, nanosec=rest)


def header(frame: str, stamp_ns: int) -> Any:
    """Return a header."""
    return message("std_msgs/msg/Header", frame_id=frame, stamp=time(stamp_ns))


def text(content: str) -> Any:
    """Return a String."""
    return message("std_msgs/msg/String", data=content)


def joint_state(
    names: Sequence[str], stamp_ns: int, q: Vector, v: Vector, effort: Vector = NONE
) -> Any:
    """Return a JointState; positions rad or m, efforts N m or N."""
    return message(
        "sensor_msgs/msg/JointState",
        header=header("", stamp_ns),
        name=list(names),
        position=np.asarray(q, dtype=float),
        velocity=np.asarray(v, dtype=float),
        effort=np.asarray(effort, dtype=float),
    )


def numbers(values: Vector) -> Any:
    """Return a Float64MultiArray."""
    layout = message("std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)
    data = np.asarray(values, dtype=float)
    return message("std_msgs/msg/Float64MultiArray", layout=layout, data=data)


def transforms(stamp_ns: int, placements: Iterable[Placement]) -> Any:
    """Return a TFMessage."""
    return message(
        "tf2_msgs/msg/TFMessage",
        transforms=[
            message(
                "geometry_msgs/msg/TransformStamped",
                header=header(each.parent, stamp_ns),
                child_frame_id=each.child,
                transform=message(
                    "geometry_msgs/msg/Transform",
                    translation=vector(each.position),
                    rotation=quaternion(each.quaternion),
                ),
            )
            for each in placements
        ],
    )


def vector(values: Vector) -> Any:
    """Return a Vector3 from (3,)."""
    return message("geometry_msgs/msg/Vector3", **_named("xyz", values))


def quaternion(values: Vector) -> Any:
    """Return a Quaternion from (4,): x, y, z, w."""
    return message("geometry_msgs/msg/Quaternion", **_named("xyzw", values))


def pose(place: Vector, orientation: Vector) -> Any:
    """Return a Pose from a place (3,), m, and a quaternion (4,): x, y, z, w."""
    return message(
        "geometry_msgs/msg/Pose",
        position=message("geometry_msgs/msg/Point", **_named("xyz", place)),
        orientation=quaternion(orientation),
    )


def pose_stamped(frame: str, stamp_ns: int, matrix: Matrix) -> Any:
    """Return a PoseStamped from a homogeneous matrix (4, 4)."""
    turn = Rotation.from_matrix(matrix[:3, :3]).as_quat()
    return message(
        "geometry_msgs/msg/PoseStamped",
        header=header(frame, stamp_ns),
        pose=pose(matrix[:3, 3], turn),
    )


def twist_stamped(frame: str, stamp_ns: int, values: Vector) -> Any:
    """Return a TwistStamped from (6,), linear part first."""
    twist = message(
        "geometry_msgs/msg/Twist", linear=vector(values[:3]), angular=vector(values[3:])
    )
    return message("geometry_msgs/msg/TwistStamped", header=header(frame, stamp_ns), twist=twist)


def pose_array(frame: str, stamp_ns: int, rows: Matrix) -> Any:
    """Return a PoseArray from rows (b, 7): place, Euler parameters with the scalar first."""
    poses = [pose(row[:3], np.roll(row[3:], -1)) for row in rows]
    return message("geometry_msgs/msg/PoseArray", header=header(frame, stamp_ns), poses=poses)


def efforts(names: Sequence[str], rows: Iterable[tuple[float, Vector]]) -> Any:
    """Return a JointTrajectory of times, s, and efforts (n,), each held until the next."""
    points = []
    for t, effort in rows:
        seconds, rest = divmod(round(t * 1e9), 1_000_000_000)
        points.append(
            message(
                "trajectory_msgs/msg/JointTrajectoryPoint",
                positions=NONE,
                velocities=NONE,
                accelerations=NONE,
                effort=np.asarray(effort, dtype=float),
                time_from_start=message(
                    "builtin_interfaces/msg/Duration", sec=seconds, nanosec=rest
                ),
            )
        )
    return message(
        "trajectory_msgs/msg/JointTrajectory",
        header=header("", 0),
        joint_names=list(names),
        points=points,
    )


def diagnostics(stamp_ns: int, name: str, good: bool, reason: str, values: dict[str, str]) -> Any:
    """Return a DiagnosticArray with one status."""
    status = message(
        "diagnostic_msgs/msg/DiagnosticStatus",
        level=0 if good else 2,
        name=name,
        message=reason,
        hardware_id="",
        values=[
            message("diagnostic_msgs/msg/KeyValue", key=key, value=value)
            for key, value in values.items()
        ],
    )
    return message(
        "diagnostic_msgs/msg/DiagnosticArray", header=header("", stamp_ns), status=[status]
    )


def _named(names: str, values: Vector) -> dict[str, float]:
    return dict(zip(names, map(float, values), strict=True))
