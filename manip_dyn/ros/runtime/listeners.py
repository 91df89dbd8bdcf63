"""Who listens to a topic, recorders aside: they obey nothing that is said on it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node

RECORDERS = ("recorder", "rosbag2_recorder")
"""Names of nodes that only write down what they hear."""
UNKNOWN = "_NODE_NAME_UNKNOWN_"
"""What a node is called of which only the topics are known yet."""
PATIENCE = 2.0
"""Wall time after which listeners count whose nodes are still unknown, s."""


class Listeners:
    """The listeners of a publisher; they are looked up when their number has changed."""

    def __init__(self, node: Node, publisher: Any):
        """Take the publisher and its node."""
        self._node, self._publisher = node, publisher
        self._count, self._found, self._settled = 0, 0, True
        self._changed = time.monotonic()

    def __call__(self) -> int:
        """Return how many there are."""
        count = self._publisher.get_subscription_count()
        if count != self._count:
            self._count, self._settled, self._changed = count, False, time.monotonic()
        if not self._settled:
            found = self._node.get_subscriptions_info_by_topic(self._publisher.topic_name)
            names = [each.node_name for each in found if each.node_name != UNKNOWN]
            self._use(names, time.monotonic() - self._changed > PATIENCE)
        return self._found

    def _use(self, names: Sequence[str], late: bool) -> None:
        """Count the listeners among the nodes that are known; these may come and go later.

        Who is not known yet is none that would listen, for a while. Where more are known than
        listen, some have gone: recorders, unless it turns out otherwise.
        """
        unknown = max(self._count - len(names), 0)
        listening = sum(name not in RECORDERS for name in names) + (unknown if late else 0)
        self._found = min(listening, self._count)
        self._settled = len(names) == self._count or (late and unknown > 0)
