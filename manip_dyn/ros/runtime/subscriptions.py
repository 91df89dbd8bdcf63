"""Quality of service, and subscriptions that bypass the executor.

rclpy's executor spends 340 us of CPU time on a message, because it collects all entities of its
nodes, builds a wait set and creates a task. Taking the message directly takes 110 us (joint states
of 7 joints at 1 kHz, rclpy 7.1.6). This saves a quarter of a core for each node in a control loop.

rclpy has no public function for this. The names that `DIRECT` checks are the only non-public names
of rclpy that the package uses. If one of them is missing, the executor takes all messages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from manip_dyn.ros.runtime.execution import unless_shut_down
from manip_dyn.ros.runtime.threads import BackgroundThread

try:
    from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy

    _METHODS = ("clear_entities", "add_subscription", "wait", "get_ready_entities")
    DIRECT = hasattr(_rclpy.Subscription, "take_message") and all(
        hasattr(_rclpy.WaitSet, name) for name in _METHODS
    )
    """Whether messages can be taken without an executor."""
except (ImportError, AttributeError):
    DIRECT = False

LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
EVERY_MESSAGE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)
QUEUE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
NEWEST_ONLY = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Profile for a control loop over topics, in which a queue would add a delay."""
REQUESTS = QoSProfile(depth=1000)
"""Profile for services and actions: a queue of the default depth 10 loses a burst of requests."""
STOP_CHECK_NS = 100_000_000
"""Wall time between a thread's checks whether it must stop, ns."""
PAUSE = 0.005
"""Wall time between two callbacks of a `PausingExecutor`, s."""
Take = Callable[[bytes, Mapping[str, Any]], None]


class PolledSubscription:
    """A subscription that is polled with `take` instead of being served by an executor.

    If `DIRECT` is false, the executor serves it, and `take` does nothing.

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
            kind: Message type.
            topic: Name of the topic.
            call: Called with each message and its `MessageInfo`.
            qos: Quality of service.
            raw: Whether `call` receives serialized messages (bytes).
            executed: Returns whether the executor may process messages now, too.
        """
        self._call, self._depth = call, qos.depth
        group = _ExecutorExclusion(executed if DIRECT else lambda: True)

        def call_with_info(message: Any, info: Any) -> None:
            call(message, info)

        self.subscription: Subscription = node.create_subscription(
            kind, topic, call_with_info, qos, callback_group=group, raw=raw
        )

    @property
    def topic_name(self) -> str:
        """Full name of the topic."""
        return self.subscription.topic_name

    def take(self) -> None:
        """Call the callback with each received message, up to the depth of the queue."""
        if not DIRECT:
            return
        subscription = self.subscription
        with subscription.handle:
            for _ in range(self._depth):
                entry = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if entry is None:
                    return
                self._call(*entry)


class SubscriptionThread(BackgroundThread):
    """A thread that processes the messages of one subscription as soon as they arrive."""

    def __init__(self, node: Node, subscription: PolledSubscription):
        """Prepare a daemon thread."""
        super().__init__("subscription")
        self._node, self._subscription = node, subscription

    def _run(self) -> None:
        context = self._node.context
        try:
            while DIRECT and not self._stop.is_set() and context.ok():
                unless_shut_down(self._node, self._pass_on)
        except BaseException:
            context.try_shutdown()  # a node without input must not appear to be running
            raise

    def _pass_on(self) -> None:
        """Process messages until none arrives within `STOP_CHECK_NS`."""
        context, handle = self._node.context, self._subscription.subscription.handle
        with handle, context.handle:
            wait_set = _rclpy.WaitSet(1, 0, 0, 0, 0, 0, context.handle)
            while not self._stop.is_set():
                wait_set.clear_entities()
                wait_set.add_subscription(handle)
                wait_set.wait(STOP_CHECK_NS)
                if not wait_set.get_ready_entities("subscription"):
                    return
                self._subscription.take()


class _ExecutorExclusion(ReentrantCallbackGroup):
    """Hides a subscription and its events from the executor unless `executed` returns True.

    rmw_fastrtps signals events and messages with the same condition. An executor that waits for
    an event would therefore wake with every message (rmw_fastrtps 8.4.3).
    """

    def __init__(self, executed: Callable[[], bool]):
        super().__init__()
        self._executed = executed

    def can_execute(self, entity: object) -> bool:
        return self._executed()


class PausingExecutor(SingleThreadedExecutor):
    """An executor that pauses after each callback, so that messages accumulate.

    In rclpy, waiting for a message takes more time than taking it. A node that need not respond
    immediately saves CPU time if it takes many messages at once.
    """

    def spin_once(self, *arguments: Any, **options: Any) -> None:
        """Execute one callback, then pause."""
        super().spin_once(*arguments, **options)
        time.sleep(PAUSE)


def subscribe_raw(
    node: Node, kind: Any, topic: str, profile: QoSProfile, take: Take
) -> Callable[[], None]:
    """Subscribe to serialized messages. If `DIRECT`, one callback processes the whole queue.

    Args:
        node: The node.
        kind: Message type.
        topic: Name of the topic.
        profile: Quality of service.
        take: Called with each serialized message and its `MessageInfo`.

    Returns:
        A function that processes the remaining messages. Call it when the node shuts down.
    """

    def next_message() -> Any:
        with suppress(RuntimeError), subscription.handle:  # rclpy's errors after a shutdown
            return subscription.handle.take_message(kind, True)
        return None

    def drain() -> None:
        while DIRECT and (entry := next_message()) is not None:
            take(*entry)

    def take_all(data: bytes, info: Mapping[str, Any]) -> None:
        take(data, info)
        drain()

    subscription = node.create_subscription(kind, topic, take_all, profile, raw=True)
    return drain
