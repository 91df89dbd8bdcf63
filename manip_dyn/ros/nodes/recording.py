"""The recorder writes the messages of a namespace to an MCAP file, and the replayer reads them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording import Recorder
from manip_dyn.recording.messages import definition
from manip_dyn.recording.reader import PARAMETERS, Message, MessageReader
from manip_dyn.ros.monitors.progress import print_json
from manip_dyn.ros.parameters.declaration import declare, parameter
from manip_dyn.ros.recorded_topics import EXPECTED_TOPICS, GLOBAL_TOPICS, recorded_name
from manip_dyn.ros.runtime.environment import lower_priority
from manip_dyn.ros.runtime.execution import create_wall_timer, run, unless_shut_down
from manip_dyn.ros.runtime.subscriptions import (
    EVERY_MESSAGE,
    LATCHED,
    PausingExecutor,
    subscribe_raw,
)


@dataclass(frozen=True)
class RecorderParameters:
    """Parameters of the recorder."""

    file: str = parameter("", "Path of the new MCAP file")
    leave_out: str = parameter(
        "clik_tracker/actual_path, mechanism/markers",
        "Topics of the namespace that are not recorded, separated by commas",
    )
    duration: float = parameter(
        0.0,
        "Wall time after which the recorder exits; 0: it runs until it is stopped",
        "s",
        0.0,
        1e9,
    )


@dataclass(frozen=True)
class ReplayerParameters:
    """Parameters of the replayer."""

    file: str = parameter("", "Path of the MCAP file")
    rate: float = parameter(1.0, "Recorded time per wall time", "", 1e-3, 1e3)
    wait: float = parameter(
        1.0, "Wall time before the first message, for discovery by subscribers", "s", 0.0, 60
    )


NODES_WITH_PARAMETERS = ("simulator", "clik_tracker", "bang_bang_planner", "mechanism")


class ParameterRecorder:
    """Stores the parameters of each node once, as a JSON string for each name."""

    def __init__(self, node: Node, store: Callable[[str, dict[str, str]], None]):
        """Create clients for the nodes in the same namespace.

        Args:
            node: The recorder.
            store: Called with the metadata name of a node and its parameters as JSON strings.
        """
        self._node, self._store = node, store
        namespace = node.get_namespace().rstrip("/")
        self._clients = {
            name: AsyncParameterClient(node, f"{namespace}/{name}")
            for name in NODES_WITH_PARAMETERS
        }

    def poll(self) -> None:
        """Request the parameters of nodes that have appeared since the last call."""
        for name, client in list(self._clients.items()):
            if client.services_are_ready():
                del self._clients[name]
                names = client.list_parameters(depth=0)
                names.add_done_callback(partial(self._on_names, name, client))

    def _on_names(self, node: str, client: AsyncParameterClient, future: Any) -> None:
        names = sorted(future.result().result.names)
        values = client.get_parameters(names)
        values.add_done_callback(partial(self._on_values, node, names))

    def _on_values(self, node: str, names: list[str], future: Any) -> None:
        metadata = {}
        for name, value in zip(names, future.result().values, strict=True):
            plain = parameter_value_to_python(value)
            metadata[name] = json.dumps(list(plain) if hasattr(plain, "tolist") else plain)
        self._store(f"{PARAMETERS}{node}", metadata)


POLL_PERIOD = 0.1
"""Wall time between checks for new topics, s."""
NICE = 5
"""Nice value of the recorder: the recorded nodes have priority."""
DEPTH = 10_000
"""Queue size of a topic."""


class RecorderNode:
    """Writes the messages of the recorded topics as serialized bytes, without decoding them."""

    name = "recorder"
    executor = PausingExecutor
    report: Callable[..., None] = staticmethod(print_json)

    def __init__(self, node: Node):
        """Create the file and subscribe to the expected topics."""
        self.node = node
        self._parameters = parameters = declare(node, RecorderParameters)
        if not parameters.file:
            raise ManipDynError("parameter 'file' must be the path of a new MCAP file, got ''.")
        self._left_out = {name.strip() for name in parameters.leave_out.split(",")}
        self._recorder = Recorder(parameters.file)
        self._subscribed: set[tuple[str, str]] = set()
        self._lost: dict[str, int] = {}
        self._shared: set[str] = set()
        self._drains: list[Callable[[], None]] = []
        self._began = time.monotonic()
        for name, kind, latched in EXPECTED_TOPICS:
            self._subscribe(node.resolve_topic_name(name), kind, _reliable(latched))
        create_wall_timer(node, POLL_PERIOD, self._poll)
        self._parameter_recorder = ParameterRecorder(node, self._recorder.add_note)
        self.report(ready=True)

    def close(self) -> None:
        """Write the remaining messages, complete the file and report its contents."""
        for drain in self._drains:
            drain()
        self._recorder.close()
        counts = self._recorder.counts
        self.report(
            recorded=str(self._recorder.file),
            messages=sum(counts.values()),
            topics={topic: count for topic, count in sorted(counts.items()) if count},
            lost={
                topic: count for topic, count in sorted(self._lost.items()) if self._alone(topic)
            },
        )

    # ------------------------------------------------------------------ topics
    def _alone(self, topic: str) -> bool:
        """Return whether a topic of the namespace has never had more than one publisher."""
        return topic not in GLOBAL_TOPICS and topic not in self._shared

    def _poll(self) -> None:
        """Write due messages, subscribe to new topics, and shut down after the duration."""
        self._recorder.flush_when_due()
        self._parameter_recorder.poll()
        for topic, kinds in self.node.get_topic_names_and_types():
            recorded = self._recorded_name(topic)
            if recorded and self.node.count_publishers(topic) > 1:
                self._shared.add(recorded)
            for kind in kinds:
                if (topic, kind) not in self._subscribed and recorded:
                    self._subscribe(topic, kind, self._offered(topic))
        duration = self._parameters.duration
        if duration and time.monotonic() - self._began >= duration:
            self.node.context.try_shutdown()

    def _recorded_name(self, topic: str) -> str:
        return recorded_name(topic, self.node.get_namespace(), self._left_out)

    def _offered(self, topic: str) -> QoSProfile | None:
        """Return a QoS profile that matches all current publishers, or None if there are none."""
        offers = [info.qos_profile for info in self.node.get_publishers_info_by_topic(topic)]
        if not offers:
            return None
        latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
        profile = _reliable(latched)
        if any(offer.reliability == ReliabilityPolicy.BEST_EFFORT for offer in offers):
            profile.reliability = ReliabilityPolicy.BEST_EFFORT
        return profile

    def _subscribe(self, topic: str, kind: str, profile: QoSProfile | None) -> None:
        if profile is None:
            return
        self._subscribed.add((topic, kind))
        package, _, name = kind.split("/")
        try:
            message = getattr(import_module(f"{package}.msg"), name)
            definition(kind)
        except (ImportError, AttributeError, ManipDynError) as error:
            if (topic, kind) not in {(row.name, row.kind) for row in EXPECTED_TOPICS}:
                self.node.get_logger().warning(f"{topic} is not recorded: {error}")
            return
        latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        write = self._writer(self._recorded_name(topic), kind, latched)
        self._drains.append(subscribe_raw(self.node, message, topic, profile, write))

    def _writer(
        self, topic: str, kind: str, latched: bool
    ) -> Callable[[bytes, Mapping[str, Any]], None]:
        """Return a callback that writes the messages of a topic and counts lost messages.

        Each publisher numbers its messages, but a message does not identify its publisher. The
        count of lost messages is therefore valid only for topics with one publisher.
        """
        recorder, lost, last = self._recorder, self._lost, 0

        def write(data: bytes, info: Mapping[str, Any]) -> None:
            nonlocal last
            sequence = info.get("publication_sequence_number") or 0
            if not last:
                recorder.add_topic(topic, kind, latched)
            elif sequence > last + 1:
                lost[topic] = lost.get(topic, 0) + sequence - last - 1
            last = sequence or -1
            now = info.get("received_timestamp") or time.time_ns()
            sent = info.get("source_timestamp") or now
            recorder.add_raw(topic, kind, data, now, sent, sequence & 0xFFFFFFFF)

        return write


def _reliable(latched: bool) -> QoSProfile:
    profile = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
    if latched:
        profile.durability = DurabilityPolicy.TRANSIENT_LOCAL
    return profile


EXCLUDED = ("/rosout", "/parameter_events")
"""Topics that every node publishes, including the replayer."""


class ReplayerNode:
    """Publishes the recorded messages, except `EXCLUDED`, unchanged with their stamps.

    Attributes:
        end: Called after the last message.
    """

    name = "replayer"
    report: Callable[..., None] = staticmethod(print_json)

    def __init__(self, node: Node):
        """Read the file, create publishers and start the thread that publishes."""
        self.node = node
        self._parameters = parameters = declare(node, ReplayerParameters)
        if not parameters.file:
            raise ManipDynError("parameter 'file' must be the path of an MCAP file, got ''.")
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
        """Start publishing now instead of after the parameter `wait`, s."""
        self._begun.set()

    def subscriptions(self, topic: str) -> int:
        """Return the number of subscriptions to a topic in the file."""
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


NODES: dict[str, type[Any]] = {"recorder": RecorderNode, "replayer": ReplayerNode}


def main(
    name: str,
    args: list[str] | None = None,
    report: Callable[..., None] = print_json,
    report_error: Callable[[str], None] | None = None,
) -> int:
    """Run the recorder or the replayer.

    Args:
        name: "recorder" or "replayer".
        args: The command line.
        report: Called with the progress and the result as keyword arguments.
        report_error: Called with the message if an error ends the node. Default: log it.
    """
    if name == "recorder":
        lower_priority(NICE, prompt=True)
    error = staticmethod(report_error) if report_error else None
    attributes = {"report": staticmethod(report), "report_error": error}
    return run(type(name, (NODES[name],), attributes), args)
