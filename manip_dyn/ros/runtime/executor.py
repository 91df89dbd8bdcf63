"""Waiting for messages at little cost: what is waited for is gathered when it changes.

rclpy's executors gather every entity of their nodes, build a wait set and an asynchronous task for
each callback, and wake themselves after it: 0.3 ms of CPU for each message. rclpy's experimental
`EventsExecutor` costs less, but it takes what callback groups keep from executors, and cannot call
what wants `MessageInfo` (seen with rclpy 7.1.6).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.task import Future, Task
from rclpy.waitable import NumberOfEntities

KINDS = ("timer", "subscription", "guard_condition", "client", "service")
"""Of entities, as wait sets call them, in the order in which those that are ready are run."""
LISTS = ("timers", "subscriptions", "guards", "clients", "services")
"""The attributes of nodes that have them."""
OPEN = (MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup)
"""Groups that let anything run in a single thread; others are asked at each wait."""


class NodeExecutor(SingleThreadedExecutor):
    """Runs callbacks in the thread that spins, as `SingleThreadedExecutor` does.

    A callback that awaits something does not keep others of its group from running meanwhile.
    """

    def __init__(self, *, context: Context | None = None):
        """Take a context, or the default one."""
        self._held = ExitStack()
        self._changed, self._is_waiting = True, False
        self._unfinished: list[Task] = []
        self._ready: deque[tuple[Any, Callable[[Any], Any]]] = deque()
        super().__init__(context=context)

    def wake(self) -> None:
        """Stop waiting, and look at what there is to wait for anew."""
        self._changed = True
        super().wake()

    def add_node(self, node: Node) -> bool:
        """Let callbacks of a node run, too; return whether they did not yet."""
        added = bool(super().add_node(node))
        self.wake()
        return added

    def remove_node(self, node: Node) -> None:
        """Let callbacks of a node run no more."""
        super().remove_node(node)
        self.wake()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Let no callback run any more."""
        done = bool(super().shutdown(timeout_sec))
        if not self._is_waiting:  # in another thread, which wakes
            self._release()
        return done

    def create_task(self, callback: Any, *arguments: Any, **options: Any) -> Task:
        """Let a function or coroutine run when this executor spins next."""
        task = Task(callback, arguments, options, executor=self)
        self._call_task_in_next_spin(task)
        return task

    def _call_task_in_next_spin(self, task: Task) -> None:
        """Go on with a task; tasks of later versions of rclpy ask for it."""
        self._unfinished.append(task)
        super().wake()

    def spin(self) -> None:
        """Let callbacks run until the context or this executor is shut down."""
        try:
            super().spin()
        finally:
            self._release()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Let one callback run; wait for it for so many s, for ever without or below 0.

        It may return early, without one, when what there is to wait for has changed.
        """
        if self._run_tasks():
            return
        if self._changed or not self._ready:
            endless = timeout_sec is None or timeout_sec < 0.0
            self._wait(-1 if endless else round(1e9 * (timeout_sec or 0.0)))
        if self._ready:
            entity, take = self._ready.popleft()
            if entity.callback_group.can_execute(entity):
                self._run(take(entity))

    def spin_once_until_future_complete(self, future: Future, timeout_sec: Any = None) -> None:
        """Let one callback run unless a future is done before."""
        future.add_done_callback(lambda _: self.wake())
        if not future.done():
            self.spin_once(getattr(timeout_sec, "timeout", timeout_sec))

    def _run(self, call: Callable[[], Coroutine[Any, Any, Any]] | None) -> None:
        """Run what rclpy makes of an entity that it took."""
        if call is None:
            return
        coroutine = call()
        try:
            coroutine.send(None)
        except StopIteration:
            return
        self.create_task(coroutine)  # it awaits something

    def _run_tasks(self) -> bool:
        """Go on with all tasks; return whether one ended."""
        if not self._unfinished:
            return False
        tasks, self._unfinished = self._unfinished, []
        for task in tasks:
            task()
        self._unfinished += [each for each in tasks if not each.done()]
        ended = [each for each in tasks if each.done()]
        for each in ended:
            if (error := each.exception()) is not None:
                raise error
        return bool(ended)

    def _release(self) -> None:
        """Let go of what is waited for: entities that were destroyed end only then."""
        self._changed = True
        self._ready.clear()
        self._held.close()

    def _hold(self, entities: list[Any]) -> list[Any]:
        """Keep entities from ending while they are waited for; return those that have not."""
        kept = []
        for each in entities:
            try:
                self._held.enter_context(getattr(each, "handle", each))
            except InvalidHandle:
                continue
            kept.append(each)
        return kept

    def _gather(self) -> None:
        """Find all that there is to wait for."""
        self._release()
        self._changed = False
        nodes = self.get_nodes()
        takes = (
            self._take_timer,
            self._take_subscription,
            self._take_guard_condition,
            self._take_client,
            self._take_service,
        )
        found = [self._hold([e for node in nodes for e in getattr(node, name)]) for name in LISTS]
        self._waitables = self._hold([each for node in nodes for each in node.waitables])
        self._held.enter_context(self.context.handle)
        own = [each for each in (self._guard, self._sigint_gc) if each]
        count = sum((each.get_num_entities() for each in self._waitables), NumberOfEntities())
        timers, subscriptions, guards, clients, services = map(len, found)
        waits = self._waits = rclpy_implementation.WaitSet(
            subscriptions + count.num_subscriptions,
            guards + len(own) + count.num_guard_conditions,
            timers + count.num_timers,
            clients + count.num_clients,
            services + count.num_services,
            count.num_events,
            self.context.handle,
        )
        self._entities = [
            (getattr(waits, f"add_{kind}"), each.handle, each, type(each.callback_group) in OPEN)
            for kind, entities in zip(KINDS, found, strict=True)
            for each in entities
        ]
        self._own = [each.handle for each in own]
        self._by_pointer = {
            kind: {each.handle.pointer: (each, take) for each in entities}
            for kind, entities, take in zip(KINDS, found, takes, strict=True)
        }

    def _wait(self, timeout_ns: int) -> None:
        """Wait until callbacks are ready."""
        if self._is_shutdown:
            return
        if self._changed:
            self._gather()
        waits = self._waits
        waits.clear_entities()
        for add, handle, entity, is_open in self._entities:
            if is_open or entity.callback_group.can_execute(entity):
                add(handle)
        for handle in self._own:
            waits.add_guard_condition(handle)
        waited = [each for each in self._waitables if each.callback_group.can_execute(each)]
        for each in waited:
            each.add_to_wait_set(waits)
        self._is_waiting = True
        try:
            waits.wait(timeout_ns)
        finally:
            self._is_waiting = False
        if self._is_shutdown:
            self._release()
            return
        if not self.context.ok():
            raise ExternalShutdownException()
        self._ready += [(each, self._take_waitable) for each in waited if each.is_ready(waits)]
        for kind, entities in self._by_pointer.items():
            if entities:
                found = map(entities.get, waits.get_ready_entities(kind))
                self._ready += [each for each in found if each and _due(each[0])]


def _due(entity: Any) -> bool:
    """Return whether an entity that woke a wait is ready: a cancelled timer is not."""
    check = getattr(entity.handle, "is_timer_ready", None)
    return check is None or bool(check())
