"""Definition, serialization and construction of ROS messages without a ROS installation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.core import imports as extras
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot.geometry import Placement


def required_library(module: str) -> Any:
    """Return a module of mcap or rosbags, or raise `ManipDynError` if it is not installed."""
    return extras.required_module(module, "recordings need", "record")


def message(kind: str, **values: Any) -> Any:
    """Create a message of type `kind`, such as ``std_msgs/msg/String``, from its field values.

    Fields with numeric arrays require NumPy arrays.
    """
    return _type_store().types[kind](**values)


def serialize(content: Any) -> bytes:
    """Serialize a message to CDR."""
    return bytes(_type_store().serialize_cdr(content, content.__msgtype__))


def deserialize(data: bytes, kind: str) -> Any:
    """Deserialize a message from CDR.

    The serializer of ROS may append four bytes, the length of an empty sequence, which rosbags
    does not expect.
    """
    error = required_library("rosbags.serde.errors").SerdeError
    try:
        return _type_store().deserialize_cdr(data, kind)
    except error:
        return _type_store().deserialize_cdr(data[:-4], kind)


@cache
def definition(kind: str) -> str:
    """Return the definition of a message type and its field types in the encoding ``ros2msg``.

    Raises:
        ManipDynError: If neither ROS nor an installed package defines the type.
    """
    _register(kind)
    return str(_type_store().generate_msgdef(kind, ros_version=2)[0])


def _register(kind: str) -> None:
    """Register a message type and its field types, if they are new, from installed packages."""
    store = _type_store()
    if kind in store.fielddefs:
        return
    package, _, name = kind.split("/")
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        file = Path(prefix, "share", package, "msg", f"{name}.msg")
        if file.is_file():
            parsed = required_library("rosbags.typesys").get_types_from_msg(file.read_text(), kind)
            for _, fields in parsed.values():
                for field_kind in _message_types(fields):
                    _register(field_kind)
            store.register(parsed)
            return
    raise ManipDynError(f"message type {kind} is not defined by ROS or an installed package.")


def _message_types(fields: Any) -> set[str]:
    """Return the message types of the fields of a definition."""
    if isinstance(fields, str):
        return {fields} if fields.count("/") == 2 else set()
    if isinstance(fields, (list, tuple)):
        return set().union(*map(_message_types, fields))
    return set()


@cache
def _type_store() -> Any:
    types = required_library("rosbags.typesys")
    return types.get_typestore(types.Stores.ROS2_JAZZY)


NONE = np.zeros(0)


def time(nanoseconds: int) -> Any:
    """Create a builtin_interfaces/Time message from nanoseconds."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return message("builtin_interfaces/msg/Time", sec=seconds, nanosec=rest)


def header(frame: str, stamp_ns: int) -> Any:
    """Create a std_msgs/Header message from a frame and a stamp (ns)."""
    return message("std_msgs/msg/Header", frame_id=frame, stamp=time(stamp_ns))


def text(content: str) -> Any:
    """Create a std_msgs/String message from its content."""
    return message("std_msgs/msg/String", data=content)


def joint_state(
    names: Sequence[str], stamp_ns: int, q: Vector, v: Vector, effort: Vector = NONE
) -> Any:
    """Create a JointState from positions, velocities and (optional) efforts (n,) in SI units."""
    return message(
        "sensor_msgs/msg/JointState",
        header=header("", stamp_ns),
        name=list(names),
        position=np.asarray(q, dtype=float),
        velocity=np.asarray(v, dtype=float),
        effort=np.asarray(effort, dtype=float),
    )


def numbers(values: Vector) -> Any:
    """Create a Float64MultiArray from numbers (k,)."""
    layout = message("std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)
    data = np.asarray(values, dtype=float)
    return message("std_msgs/msg/Float64MultiArray", layout=layout, data=data)


def transforms(stamp_ns: int, placements: Iterable[Placement]) -> Any:
    """Create a TFMessage from the placements of links."""
    return message(
        "tf2_msgs/msg/TFMessage",
        transforms=[
            message(
                "geometry_msgs/msg/TransformStamped",
                header=header(placement.parent, stamp_ns),
                child_frame_id=placement.child,
                transform=message(
                    "geometry_msgs/msg/Transform",
                    translation=vector(placement.position),
                    rotation=quaternion(placement.quaternion),
                ),
            )
            for placement in placements
        ],
    )


def vector(values: Vector) -> Any:
    """Create a Vector3 from an array (3,)."""
    return message("geometry_msgs/msg/Vector3", **_named("xyz", values))


def quaternion(values: Vector) -> Any:
    """Create a Quaternion from an array (4,) with the order x, y, z, w."""
    return message("geometry_msgs/msg/Quaternion", **_named("xyzw", values))


def pose(position: Vector, orientation: Vector) -> Any:
    """Create a Pose from a position (3,) in m and a quaternion (4,) with the order x, y, z, w."""
    return message(
        "geometry_msgs/msg/Pose",
        position=message("geometry_msgs/msg/Point", **_named("xyz", position)),
        orientation=quaternion(orientation),
    )


def pose_stamped(frame: str, stamp_ns: int, matrix: Matrix) -> Any:
    """Create a PoseStamped from a homogeneous matrix (4, 4), with lengths in m."""
    from scipy.spatial.transform import Rotation  # slow to load

    turn = Rotation.from_matrix(matrix[:3, :3]).as_quat()
    return message(
        "geometry_msgs/msg/PoseStamped",
        header=header(frame, stamp_ns),
        pose=pose(matrix[:3, 3], turn),
    )


def twist_stamped(frame: str, stamp_ns: int, values: Vector) -> Any:
    """Create a TwistStamped from a twist (6,): linear, m/s, then angular components, rad/s."""
    twist = message(
        "geometry_msgs/msg/Twist", linear=vector(values[:3]), angular=vector(values[3:])
    )
    return message("geometry_msgs/msg/TwistStamped", header=header(frame, stamp_ns), twist=twist)


def pose_array(frame: str, stamp_ns: int, rows: Matrix) -> Any:
    """Create a PoseArray from rows (b, 7): position (m) and Euler parameters, scalar first."""
    poses = [pose(row[:3], np.roll(row[3:], -1)) for row in rows]
    return message("geometry_msgs/msg/PoseArray", header=header(frame, stamp_ns), poses=poses)


def efforts(names: Sequence[str], rows: Iterable[tuple[float, Vector]]) -> Any:
    """Create a JointTrajectory from pairs of a time (s) and efforts (n,).

    Each row of efforts applies from its time to the time of the next row.
    """
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
    """Create a DiagnosticArray with one status, of level OK if `good`, else ERROR."""
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
