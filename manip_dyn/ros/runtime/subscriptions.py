"""Quality of service, and subscriptions that bypass the executor."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rclpy._rclpy_pybind11 import RCLError
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from manip_dyn.ros.runtime.execution import unless_shut_down
from manip_dyn.ros.runtime.threads import BackgroundThread

LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
EVERY_MESSAGE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)
QUEUE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
NEWEST_ONLY = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""For a loop that is closed over topics, where a queue would be a delay."""


STOP_CHECK_NS = 100_000_000
"""Wall time after which a thread without messages looks whether to end, ns."""


class PolledSubscription:
    """A subscription that an executor leaves alone unless it is told to take part.

    Attributes:
        subscription: The ROS subscription.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        call: Callable[..., None],
        qos: QoSProfile,
        *,
        raw: bool = False,
        executed: Callable[[], bool] = lambda: False,
    ):
        """Subscribe.

        Args:
            node: The node.
            kind: Type of the messages.
            topic: Their topic.
            call: Takes a message and what rclpy tells of it (`MessageInfo`).
            qos: How the topic is kept.
            raw: Whether `call` takes serialized messages, bytes.
            executed: Whether the executor takes messages, too, at present.
        """
        self._call, self._most = call, qos.depth

        def told(message: Any, info: Any) -> None:
            call(message, info)

        group = _ExecutorExclusion(executed)
        self.subscription: Subscription = node.create_subscription(
            kind, topic, told, qos, callback_group=group, raw=raw
        )

    @property
    def topic_name(self) -> str:
        """The topic's full name."""
        return self.subscription.topic_name

    def take(self) -> None:
        """Call for each message that is there, at most as many as the topic keeps."""
        subscription = self.subscription
        with subscription.handle:
            for _ in range(self._most):
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    return
                self._call(*taken)


class SubscriptionThread(BackgroundThread):
    """A thread that waits for the messages of one subscription."""

    def __init__(self, node: Node, heard: PolledSubscription):
        """Prepare a daemon thread."""
        super().__init__("listener")
        self._node, self._heard = node, heard

    def _run(self) -> None:
        context = self._node.context
        try:
            while not self._stop.is_set() and context.ok():
                unless_shut_down(self._node, self._listen)
        except BaseException:
            context.try_shutdown()  # a node that hears nothing any more is not to seem alive
            raise

    def _listen(self) -> None:
        """Answer messages until none comes for a while."""
        context, heard = self._node.context, self._heard
        with heard.subscription.handle, context.handle:
            waiting = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, context.handle)
            while not self._stop.is_set():
                waiting.clear_entities()
                waiting.add_subscription(heard.subscription.handle)
                waiting.wait(STOP_CHECK_NS)
                if not waiting.get_ready_entities("subscription"):
                    return
                heard.take()


class _ExecutorExclusion(ReentrantCallbackGroup):
    """Keeps executors from a subscription, and from its events.

    An event of rmw_fastrtps is waited for by the condition that says that there are messages, too:
    one that is waited for wakes the executor with every message (seen with rmw_fastrtps 8.4.3).
    """

    def __init__(self, executed: Callable[[], bool]):
        super().__init__()
        self._executed = executed

    def can_execute(self, entity: object) -> bool:
        return self._executed()


PAUSE = 0.005
"""Wall time between two looks for messages, s."""
Take = Callable[[bytes, Mapping[str, Any]], None]


class PausingExecutor(SingleThreadedExecutor):
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
