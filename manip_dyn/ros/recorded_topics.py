"""Names of the recorded topics, and a function that waits for the recorder to subscribe."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import NamedTuple

from rclpy.node import Node
from rclpy.publisher import Publisher

GLOBAL_TOPICS = ("/diagnostics", "/tf", "/tf_static", "/clock", "/parameter_events", "/rosout")
"""Topics that are recorded in addition to those of the namespace."""
EXCLUDED = ("/_action/", "/_service_event")
"""Substrings of topic names that belong to actions and services."""


class ExpectedTopic(NamedTuple):
    """A topic to which the recorder subscribes in advance, to record its first message."""

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
    """Return the name of a topic in the file, or "" if it is not recorded.

    Args:
        topic: Full name of the topic.
        namespace: The recorded namespace. Names in the file omit it, so that layouts and `read`
            find ``/joint_states`` in any recording.
        left_out: Names in the namespace that are not recorded.
    """
    if any(substring in topic for substring in EXCLUDED):
        return ""
    prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    if topic.startswith(prefix):
        name = topic.removeprefix(prefix)
        return "" if name in left_out else f"/{name}"
    return topic if topic in GLOBAL_TOPICS else ""


RECORDER = "recorder"
POLL_PERIOD = 0.02
"""Wall time between checks for subscriptions of a recorder, s."""


def await_recorder(node: Node, timeout: float) -> None:
    """Wait until a recorder in the node's namespace subscribes to the node's `EXPECTED_TOPICS`.

    The node need not spin, because threads of the middleware discover subscriptions.

    Args:
        node: The node, with its publishers.
        timeout: Wall time, s, after which a warning lists the missing topics. With 0 the call
            returns at once.

    Raises:
        KeyboardInterrupt: If the node is shut down in the meantime.
    """
    expected = {node.resolve_topic_name(topic.name) for topic in EXPECTED_TOPICS}
    publishers = [p for p in node.publishers if p.topic_name in expected]
    deadline = time.monotonic() + timeout
    while timeout and (missing := [p.topic_name for p in publishers if not _matched(node, p)]):
        if not node.context.ok():
            raise KeyboardInterrupt
        if time.monotonic() >= deadline:
            node.get_logger().warning(
                f"no recorder has subscribed to {', '.join(sorted(missing))} within "
                f"{timeout:g} s: the start is not recorded"
            )
            return
        time.sleep(POLL_PERIOD)


def _matched(node: Node, publisher: Publisher) -> bool:
    """Return whether a recorder subscribes and the publisher has matched all subscriptions."""
    endpoints = node.get_subscriptions_info_by_topic(publisher.topic_name)
    recorder = (RECORDER, node.get_namespace())
    subscribed = any((e.node_name, e.node_namespace) == recorder for e in endpoints)
    return subscribed and publisher.get_subscription_count() >= len(endpoints)
