"""Which topics are recorded: those of a namespace, and those that all namespaces share."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

GLOBAL = ("/diagnostics", "/tf", "/tf_static", "/clock", "/parameter_events", "/rosout")
"""Topics that are recorded beside those of the namespace."""
FOREIGN = ("/_action/", "/_service_event")
"""Parts of names that belong to actions and services."""


class Expected(NamedTuple):
    """A topic that is listened to before it is there, so that its first message is not missed."""

    name: str
    kind: str
    latched: bool = False


JOINTS, NUMBERS = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
EFFORTS, POSE = "trajectory_msgs/msg/JointTrajectory", "geometry_msgs/msg/PoseStamped"
TWIST, STATUS = "geometry_msgs/msg/TwistStamped", "diagnostic_msgs/msg/DiagnosticStatus"
EXPECTED = (
    Expected("joint_states", JOINTS),
    Expected("robot_description", "std_msgs/msg/String", latched=True),
    Expected("clock", "rosgraph_msgs/msg/Clock"),
    Expected("simulator/commands", NUMBERS),
    Expected("simulator/joint_commands", JOINTS),
    Expected("simulator/effort_trajectory", EFFORTS),
    Expected("simulator/joint_trajectory", EFFORTS),
    Expected("simulator/energy", NUMBERS),
    Expected("bang_bang_planner/goal", JOINTS),
    Expected("bang_bang_planner/plan", EFFORTS, latched=True),
    Expected("bang_bang_planner/status", STATUS, latched=True),
    Expected("clik_tracker/target_pose", POSE),
    Expected("clik_tracker/target_twist", TWIST),
    Expected("clik_tracker/desired_path", "nav_msgs/msg/Path", latched=True),
    Expected("clik_tracker/desired_pose", POSE),
    Expected("clik_tracker/error", TWIST),
    Expected("clik_tracker/joint_error", JOINTS),
    Expected("mechanism/poses", "geometry_msgs/msg/PoseArray"),
    Expected("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
    Expected("/parameter_events", "rcl_interfaces/msg/ParameterEvent"),
    Expected("/tf", "tf2_msgs/msg/TFMessage"),
    Expected("/tf_static", "tf2_msgs/msg/TFMessage", latched=True),
)


def recorded_name(topic: str, namespace: str, left_out: Collection[str]) -> str:
    """Return what a topic is called in the file; empty if it is not recorded.

    Args:
        topic: Its full name.
        namespace: Whose topics are recorded; it is left out of their names, so that layouts and
            `read` find ``/joint_states`` whatever namespace it had.
        left_out: Names in the namespace that are not recorded.
    """
    if any(part in topic for part in FOREIGN):
        return ""
    place = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    if topic.startswith(place):
        name = topic.removeprefix(place)
        return "" if name in left_out else f"/{name}"
    return topic if topic in GLOBAL else ""
