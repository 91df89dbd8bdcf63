"""The replayer node: publishes a recording on its topics again."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node

from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.reader import Message, MessageReader
from manip_dyn.ros.monitors.progress import print_json
from manip_dyn.ros.nodes.recorder import ReplayerParameters
from manip_dyn.ros.parameters.declaration import declare
from manip_dyn.ros.recorded_topics import GLOBAL_TOPICS
from manip_dyn.ros.runtime.execution import run, unless_shut_down
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE, LATCHED

OWN = ("/rosout", "/parameter_events")
"""Topics on which every node speaks for itself."""


class ReplayerNode:
    """Publishes the bytes that were recorded; stamps are as they were.

    Attributes:
        end: Called when everything is published.
    """

    name = "replayer"
    tell: Callable[..., None] = staticmethod(print_json)

    def __init__(self, node: Node):
        """Read the file, make its topics and begin."""
        self.node = node
        self._parameters = parameters = declare(node, ReplayerParameters)
        if not parameters.file:
            raise ManipDynError("parameter 'file' is empty; expected the path of an MCAP file")
        found = sorted(MessageReader(parameters.file), key=lambda each: each.time_ns)
        self._messages = [each for each in found if each.topic not in OWN]
        self._publishers: dict[str, Any] = {}
        for topic, kind, latched in {(m.topic, m.kind, m.latched) for m in self._messages}:
            self._add(topic, kind, latched)
        self.end: Callable[[], object] = node.context.try_shutdown
        self._ended, self._begun = threading.Event(), threading.Event()
        self.tell(progress=0.0)
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End, wherever it is."""
        self._ended.set()
        self._begun.set()
        self._thread.join()

    def begin(self) -> None:
        """Begin at once, however long it was to wait."""
        self._begun.set()

    def listeners(self, topic: str) -> int:
        """Return how many listen to a topic of the file."""
        return int(self._publishers[topic].get_subscription_count())

    def _add(self, topic: str, kind: str, latched: bool) -> None:
        package, _, name = kind.split("/")
        try:
            message = getattr(import_module(f"{package}.msg"), name)
        except (ImportError, AttributeError):
            self.node.get_logger().warning(f"{topic} is not published: {package} is not installed")
            return
        place = topic if topic in GLOBAL_TOPICS else topic.lstrip("/")
        quality = LATCHED if latched else EVERY_MESSAGE
        self._publishers[topic] = self.node.create_publisher(message, place, quality)

    def _play(self) -> None:
        count, self._count = len(self._messages), 0
        self._begun.wait(self._parameters.wait)
        begin_ns = self._messages[0].time_ns if count else 0
        began, told = time.monotonic(), 0
        for k, each in enumerate(self._messages, 1):
            due = began + 1e-9 * (each.time_ns - begin_ns) / self._parameters.rate
            if self._ended.wait(max(0.0, due - time.monotonic())):
                return
            unless_shut_down(self.node, lambda each=each: self._publish(each))  # type: ignore[misc]
            if 100 * k // count > told:
                told = 100 * k // count
                self.tell(progress=told / 100)
        for publisher in self._publishers.values():
            unless_shut_down(
                self.node,
                lambda p=publisher: p.wait_for_all_acked(Duration(seconds=1)),  # type: ignore[misc]
            )
        self.tell(published=self._count, seconds=time.monotonic() - began)
        self.end()

    def _publish(self, message: Message) -> None:
        publisher = self._publishers.get(message.topic)
        if publisher is not None:
            publisher.publish(message.data)
            self._count += 1


def main(
    args: list[str] | None = None,
    tell: Callable[..., None] = print_json,
    refuse: Callable[[str], None] | None = None,
) -> int:
    """Run the node; `tell` takes what it has to say, by name, `refuse` why it cannot go on."""
    said = {"tell": staticmethod(tell), "refuse": staticmethod(refuse) if refuse else None}
    return run(type("ReplayerNode", (ReplayerNode,), said), args)


if __name__ == "__main__":
    sys.exit(main())
