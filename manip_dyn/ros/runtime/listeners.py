"""Who listens to a topic, recorders aside: they obey nothing that is said on it."""

from __future__ import annotations

import time
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
        self._count, self._recorders, self._settled = 0, 0, True
        self._changed = time.monotonic()

    def __call__(self) -> int:
        """Return how many there are."""
        count = self._publisher.get_subscription_count()
        if count != self._count:
            self._count, self._settled, self._changed = count, False, time.monotonic()
        if not self._settled:
            self._look()
        return max(self._count - self._recorders, 0)

    def _look(self) -> None:
        """Find the recorders; who is not known yet is none that would listen, for a while."""
        found = self._node.get_subscriptions_info_by_topic(self._publisher.topic_name)
        names = [each.node_name for each in found if each.node_name != UNKNOWN]
        late = time.monotonic() - self._changed > PATIENCE
        self._settled = late or len(names) >= self._count
        unknown = 0 if self._settled else self._count - len(names)
        self._recorders = sum(name in RECORDERS for name in names) + unknown
