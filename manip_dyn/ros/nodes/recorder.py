"""The recorder node: writes every message of a namespace into an MCAP file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording import Recorder
from manip_dyn.recording.messages import definition
from manip_dyn.recording.reader import PARAMETERS
from manip_dyn.ros.monitors.progress import print_json
from manip_dyn.ros.parameters.declaration import declare, parameter
from manip_dyn.ros.recorded_topics import EXPECTED_TOPICS, GLOBAL_TOPICS, recorded_name
from manip_dyn.ros.runtime.environment import lower_priority
from manip_dyn.ros.runtime.execution import run
from manip_dyn.ros.runtime.subscriptions import PausingExecutor, subscribe_raw


@dataclass(frozen=True)
class RecorderParameters:
    """What is recorded, and where."""

    file: str = parameter("", "Path of the new MCAP file")
    leave_out: str = parameter(
        "clik_tracker/actual_path, mechanism/markers",
        "Topics of the namespace that are not recorded, comma separated",
    )
    duration: float = parameter(
        0.0, "Wall time after which the recorder ends; 0: it is stopped", "s", 0.0, 1e9
    )


@dataclass(frozen=True)
class ReplayerParameters:
    """What is published again, and how fast."""

    file: str = parameter("", "Path of the MCAP file")
    rate: float = parameter(1.0, "Recorded time per wall time", "", 1e-3, 1e3)
    wait: float = parameter(
        1.0, "Wall time before the first message, in which listeners find the topics", "s", 0.0, 60
    )


NODES_WITH_PARAMETERS = ("simulator", "clik_tracker", "bang_bang_planner", "mechanism")


class ParameterNotes:
    """Notes each node's parameters once, as JSON by name."""

    def __init__(self, node: Node, note: Callable[[str, dict[str, str]], None]):
        """Look for the nodes of the same namespace."""
        self._node, self._note = node, note
        space = node.get_namespace().rstrip("/")
        self._clients = {
            name: AsyncParameterClient(node, f"{space}/{name}") for name in NODES_WITH_PARAMETERS
        }

    def look(self) -> None:
        """Ask those that have appeared."""
        for name, client in list(self._clients.items()):
            if client.services_are_ready():
                del self._clients[name]
                listed = client.list_parameters(depth=0)
                listed.add_done_callback(partial(self._ask, name, client))

    def _ask(self, name: str, client: AsyncParameterClient, listed: Any) -> None:
        names = sorted(listed.result().result.names)
        values = client.get_parameters(names)
        values.add_done_callback(partial(self._keep, name, names))

    def _keep(self, name: str, names: list[str], values: Any) -> None:
        texts = {}
        for each, value in zip(names, values.result().values, strict=True):
            plain = parameter_value_to_python(value)
            texts[each] = json.dumps(list(plain) if hasattr(plain, "tolist") else plain)
        self._note(f"{PARAMETERS}{name}", texts)


LOOK = 0.1
"""Wall time between looks for new topics, s."""
NICE = 5
"""It gives way to those it listens to."""
DEPTH = 10_000
"""How many messages of a topic may wait."""


class RecorderNode:
    """Listens to everything; bytes are written as they came, and never decoded."""

    name = "recorder"
    executor = PausingExecutor
    tell: Callable[..., None] = staticmethod(print_json)

    def __init__(self, node: Node):
        """Begin the file, and listen to what is expected."""
        self.node = node
        self._parameters = parameters = declare(node, RecorderParameters)
        if not parameters.file:
            raise ManipDynError("parameter 'file' is empty; expected the path of a new MCAP file")
        self._left_out = {each.strip() for each in parameters.leave_out.split(",")}
        self._recorder = Recorder(parameters.file)
        self._known: set[tuple[str, str]] = set()
        self._lost: dict[str, int] = {}
        self._shared: set[str] = set()
        self._drains: list[Callable[[], None]] = []
        self._began = time.monotonic()
        for name, kind, latched in EXPECTED_TOPICS:
            self._listen(node.resolve_topic_name(name), kind, _reliable(latched))
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(LOOK, self._look, clock=steady)
        self._noted = ParameterNotes(node, self._recorder.add_note)
        self.tell(ready=True)

    def close(self) -> None:
        """Write what has come, end the file and say what is in it."""
        for drain in self._drains:
            drain()
        self._recorder.close()
        counts = self._recorder.counts
        self.tell(
            recorded=str(self._recorder.file),
            messages=sum(counts.values()),
            topics={topic: count for topic, count in sorted(counts.items()) if count},
            lost={
                topic: count for topic, count in sorted(self._lost.items()) if self._alone(topic)
            },
        )

    # ------------------------------------------------------------------ topics
    def _alone(self, topic: str) -> bool:
        """Whether a topic of the file has had one publisher at a time."""
        return topic not in GLOBAL_TOPICS and topic not in self._shared

    def _look(self) -> None:
        """Listen to topics that are new; end when it is time."""
        self._recorder.flush_when_due()
        self._noted.look()
        for topic, kinds in self.node.get_topic_names_and_types():
            if self._wanted(topic) and self.node.count_publishers(topic) > 1:
                self._shared.add(self._wanted(topic))
            for kind in kinds:
                if (topic, kind) not in self._known and self._wanted(topic):
                    self._listen(topic, kind, self._offered(topic))
        duration = self._parameters.duration
        if duration and time.monotonic() - self._began >= duration:
            self.node.context.try_shutdown()

    def _wanted(self, topic: str) -> str:
        return recorded_name(topic, self.node.get_namespace(), self._left_out)

    def _offered(self, topic: str) -> QoSProfile | None:
        """Return how to listen to what is published there now; None where nobody publishes."""
        offers = [each.qos_profile for each in self.node.get_publishers_info_by_topic(topic)]
        if not offers:
            return None
        latched = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offers)
        profile = _reliable(latched)
        if any(each.reliability == ReliabilityPolicy.BEST_EFFORT for each in offers):
            profile.reliability = ReliabilityPolicy.BEST_EFFORT
        return profile

    def _listen(self, topic: str, kind: str, profile: QoSProfile | None) -> None:
        if profile is None:
            return
        self._known.add((topic, kind))
        package, _, name = kind.split("/")
        try:
            message = getattr(import_module(f"{package}.msg"), name)
            definition(kind)
        except (ImportError, AttributeError, ManipDynError) as error:
            if (topic, kind) not in {(each.name, each.kind) for each in EXPECTED_TOPICS}:
                self.node.get_logger().warning(f"{topic} is not recorded: {error}")
            return
        latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        write = self._writer(self._wanted(topic), kind, latched)
        self._drains.append(subscribe_raw(self.node, message, topic, profile, write))

    def _writer(
        self, topic: str, kind: str, latched: bool
    ) -> Callable[[bytes, Mapping[str, Any]], None]:
        """Return what writes the messages of a topic and counts those that did not come.

        Each publisher numbers its messages, but who published one is not told: only where there is
        one publisher can those be counted that did not come.
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


def main(
    args: list[str] | None = None,
    tell: Callable[..., None] = print_json,
    refuse: Callable[[str], None] | None = None,
) -> int:
    """Run the node; `tell` takes what it has to say, by name, `refuse` why it cannot go on."""
    lower_priority(NICE, prompt=True)
    said = {"tell": staticmethod(tell), "refuse": staticmethod(refuse) if refuse else None}
    return run(type("RecorderNode", (RecorderNode,), said), args)


if __name__ == "__main__":
    sys.exit(main())
