"""Listening to thousands of messages a second at little cost: many at a time.

Waiting for a message costs rclpy more than taking it: a node that is in no hurry lets some come
together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile

PAUSE = 0.005
"""Wall time between two looks for messages, s."""
Take = Callable[[bytes, Mapping[str, Any]], None]


class UnhurriedExecutor(SingleThreadedExecutor):
    """Pauses after each callback."""

    def spin_once(self, *arguments: Any, **options: Any) -> None:
        """Let one callback run, then pause."""
        super().spin_once(*arguments, **options)
        time.sleep(PAUSE)


def subscribe_raw(
    node: Node, kind: Any, topic: str, profile: QoSProfile, take: Take
) -> Callable[[], None]:
    """Let `take` have the bytes of all messages that have come, with what rclpy tells of them.

    Returns:
        What takes those that have come since, for the end of the node.
    """

    def drain() -> None:
        with suppress(RCLError), subscription.handle:  # after a shutdown there may be none
            while (more := subscription.handle.take_message(kind, True)) is not None:
                take(*more)

    def all_of_them(data: bytes, info: Mapping[str, Any]) -> None:
        take(data, info)
        drain()

    subscription = node.create_subscription(kind, topic, all_of_them, profile, raw=True)
    return drain
