"""Topics that the recorder stores, and waiting for it to subscribe."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import NamedTuple

from rclpy.node import Node
from rclpy.publisher import Publisher

GLOBAL_TOPICS = ("/diagnostics", "/tf", "/tf_static", "/clock", "/parameter_events", "/rosout")
"""Topics that are recorded beside those of the namespace."""
EXCLUDED = ("/_action/", "/_service_event")
"""Parts of names that belong to actions and services."""


class ExpectedTopic(NamedTuple):
    """A topic that is listened to before it is there, so that its first message is not missed."""

    name: str
    kind: str
    latched: bool = False


JOINTS, NUMBERS = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
EFFORTS, POSE = "trajectory_msgs/msg/JointTrajectory", "geometry_msgs/msg/PoseStamped"
TWIST, STATUS = "geometry_msgs/msg/TwistStamped", "diagnostic_msgs/msg/DiagnosticStatus"
EXPECTED_TOPICS = (
    ExpectedTopic("joint_states", JOINTS),
    ExpectedTopic("robot_description", "std_msgs/msg/String", latched=True),
    ExpectedTopic("clock", "rosgraph_msgs/msg/Clock"),
    ExpectedTopic("simulator/commands", NUMBERS),
    ExpectedTopic("simulator/joint_commands", JOINTS),
    ExpectedTopic("simulator/effort_trajectory", EFFORTS),
    ExpectedTopic("simulator/joint_trajectory", EFFORTS),
    ExpectedTopic("simulator/energy", NUMBERS),
    ExpectedTopic("bang_bang_planner/goal", JOINTS),
    ExpectedTopic("bang_bang_planner/plan", EFFORTS, latched=True),
    ExpectedTopic("bang_bang_planner/status", STATUS, latched=True),
    ExpectedTopic("clik_tracker/target_pose", POSE),
    ExpectedTopic("clik_tracker/target_twist", TWIST),
    ExpectedTopic("clik_tracker/desired_path", "nav_msgs/msg/Path", latched=True),
    ExpectedTopic("clik_tracker/desired_pose", POSE),
    ExpectedTopic("clik_tracker/error", TWIST),
    ExpectedTopic("clik_tracker/joint_error", JOINTS),
    ExpectedTopic("mechanism/poses", "geometry_msgs/msg/PoseArray"),
    ExpectedTopic("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
    ExpectedTopic("/parameter_events", "rcl_interfaces/msg/ParameterEvent"),
    ExpectedTopic("/tf", "tf2_msgs/msg/TFMessage"),
    ExpectedTopic("/tf_static", "tf2_msgs/msg/TFMessage", latched=True),
)


def recorded_name(topic: str, namespace: str, left_out: Collection[str]) -> str:
    """Return what a topic is called in the file; empty if it is not recorded.

    Args:
        topic: Its full name.
        namespace: Whose topics are recorded; it is left out of their names, so that layouts and
            `read` find ``/joint_states`` whatever namespace it had.
        left_out: Names in the namespace that are not recorded.
    """
    if any(part in topic for part in EXCLUDED):
        return ""
    place = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    if topic.startswith(place):
        name = topic.removeprefix(place)
        return "" if name in left_out else f"/{name}"
    return topic if topic in GLOBAL_TOPICS else ""


RECORDER = "recorder"
LOOK = 0.02
"""Wall time between looks who listens, s."""


def await_recorder(node: Node, patience: float) -> None:
    """Wait until a recorder in the node's namespace hears all that it records of the node.

    Discovery goes on in threads of the middleware: the node need not spin.

    Args:
        node: The node; its publishers are there.
        patience: Most wall time, s, after which the log says what is not heard; 0: none.

    Raises:
        KeyboardInterrupt: If the node is told to end meanwhile.
    """
    expected = {node.resolve_topic_name(each.name) for each in EXPECTED_TOPICS}
    waited_for = [each for each in node.publishers if each.topic_name in expected]
    deadline = time.monotonic() + patience
    while patience and (unheard := [e.topic_name for e in waited_for if not _hears(node, e)]):
        if not node.context.ok():
            raise KeyboardInterrupt
        if time.monotonic() >= deadline:
            node.get_logger().warning(
                f"no recorder hears {', '.join(sorted(unheard))} after {patience:g} s: the begin "
                "is not recorded"
            )
            return
        time.sleep(LOOK)


def _hears(node: Node, publisher: Publisher) -> bool:
    """Whether a recorder is among those who subscribe, all of whom the publisher has found."""
    there = node.get_subscriptions_info_by_topic(publisher.topic_name)
    own = (RECORDER, node.get_namespace())
    named = any((each.node_name, each.node_namespace) == own for each in there)
    return named and publisher.get_subscription_count() >= len(there)
