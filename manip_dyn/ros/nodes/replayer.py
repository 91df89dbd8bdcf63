"""The replayer node: publishes a recording on its topics again."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node

from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.reader import Message, MessageReader
from manip_dyn.ros.monitors.progress import print_json
from manip_dyn.ros.nodes.recorder import ReplayerParameters, with_reports
from manip_dyn.ros.parameters.declaration import declare
from manip_dyn.ros.recorded_topics import GLOBAL_TOPICS
from manip_dyn.ros.runtime.execution import run, unless_shut_down
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE, LATCHED

EXCLUDED = ("/rosout", "/parameter_events")
"""Topics that the replayer, as every node, publishes for itself."""


class ReplayerNode:
    """Publishes the recorded bytes, with the recorded stamps.

    Attributes:
        end: Called after the last message.
    """

    name = "replayer"
    report: Callable[..., None] = staticmethod(print_json)

    def __init__(self, node: Node):
        """Read the file, create its publishers and start."""
        self.node = node
        self._parameters = parameters = declare(node, ReplayerParameters)
        if not parameters.file:
            raise ManipDynError("parameter 'file' must be the path of an MCAP file, got ''")
        messages = sorted(MessageReader(parameters.file), key=lambda message: message.time_ns)
        self._messages = [message for message in messages if message.topic not in EXCLUDED]
        self._publishers: dict[str, Any] = {}
        for topic, kind, latched in {(m.topic, m.kind, m.latched) for m in self._messages}:
            self._add(topic, kind, latched)
        self.end: Callable[[], object] = node.context.try_shutdown
        self._ended, self._begun = threading.Event(), threading.Event()
        self.report(progress=0.0)
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop publishing."""
        self._ended.set()
        self._begun.set()
        self._thread.join()

    def begin(self) -> None:
        """Begin without further waiting."""
        self._begun.set()

    def subscriptions(self, topic: str) -> int:
        """Return the number of subscriptions to a topic of the file."""
        return int(self._publishers[topic].get_subscription_count())

    def _add(self, topic: str, kind: str, latched: bool) -> None:
        package, _, name = kind.split("/")
        try:
            message = getattr(import_module(f"{package}.msg"), name)
        except (ImportError, AttributeError):
            self.node.get_logger().warning(f"{topic} is not published: {package} is not installed")
            return
        name = topic if topic in GLOBAL_TOPICS else topic.lstrip("/")
        profile = LATCHED if latched else EVERY_MESSAGE
        self._publishers[topic] = self.node.create_publisher(message, name, profile)

    def _play(self) -> None:
        count, self._count = len(self._messages), 0
        self._begun.wait(self._parameters.wait)
        begin_ns = self._messages[0].time_ns if count else 0
        began, percent = time.monotonic(), 0
        for k, message in enumerate(self._messages, 1):
            due = began + 1e-9 * (message.time_ns - begin_ns) / self._parameters.rate
            if self._ended.wait(max(0.0, due - time.monotonic())):
                return
            unless_shut_down(self.node, partial(self._publish, message))
            if 100 * k // count > percent:
                percent = 100 * k // count
                self.report(progress=percent / 100)
        for publisher in self._publishers.values():
            unless_shut_down(self.node, partial(publisher.wait_for_all_acked, Duration(seconds=1)))
        self.report(published=self._count, seconds=time.monotonic() - began)
        self.end()

    def _publish(self, message: Message) -> None:
        publisher = self._publishers.get(message.topic)
        if publisher is not None:
            publisher.publish(message.data)
            self._count += 1


def main(
    args: list[str] | None = None,
    report: Callable[..., None] = print_json,
    report_error: Callable[[str], None] | None = None,
) -> int:
    """Run the node; see `recorder.main`."""
    return run(with_reports(ReplayerNode, report, report_error), args)


if __name__ == "__main__":
    sys.exit(main())
