"""Who else publishes on a topic of a node that is to be alone there."""

from __future__ import annotations

from rclpy.node import Node


def other_publishers(node: Node, topic: str) -> str:
    """Return the names of the nodes that publish on a topic beside one publisher of `node`."""
    names = [
        f"{each.node_namespace.rstrip('/')}/{each.node_name}"
        for each in node.get_publishers_info_by_topic(topic)
    ]
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return ", ".join(sorted(names))
