"""Nodes that begin when a recorder hears them, so that it has their first message, too."""

from __future__ import annotations

import time

from rclpy.node import Node
from rclpy.publisher import Publisher

from manip_dyn.ros.recording.names import EXPECTED

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
    expected = {node.resolve_topic_name(each.name) for each in EXPECTED}
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
