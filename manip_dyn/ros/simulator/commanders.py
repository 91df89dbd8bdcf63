"""Who sends commands: the nodes that publish on the command topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rclpy.node import Node


def commanders(node: Node, topics: Iterable[str]) -> tuple[str, ...]:
    """Return the names of those that publish on any of the topics, by publisher identity.

    A node that has one publisher on each topic is one; two nodes of one name, or two publishers of
    one node on one topic, are two.
    """
    most: Counter[str] = Counter()
    for topic in topics:
        found = Counter(
            f"{each.node_namespace.rstrip('/')}/{each.node_name}"
            for each in node.get_publishers_info_by_topic(topic)
        )
        most |= found
    return tuple(sorted(most.elements()))
