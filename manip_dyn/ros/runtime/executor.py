"""Waiting for messages at little cost: what is waited for is gathered when it changes.

rclpy's executors gather every entity of their nodes, build a wait set and an asynchronous task for
each callback, and wake themselves after it: 0.3 ms of CPU for each message. rclpy's experimental
`EventsExecutor` costs less, but it takes what callback groups keep from executors, and cannot call
what wants `MessageInfo` (seen with rclpy 7.1.6).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future, Task

from manip_dyn.ros.runtime.kept_wait_set import KeptWaitSet


class NodeExecutor(SingleThreadedExecutor):
    """Runs callbacks in the thread that spins, as `SingleThreadedExecutor` does.

    A callback that awaits something does not keep others of its group from running meanwhile.
    """

    def __init__(self, *, context: Context | None = None):
        """Take a context, or the default one."""
        self._changed, self._is_waiting = True, False
        self._unfinished: list[Task] = []
        self._ready: deque[tuple[str, Any]] = deque()
        super().__init__(context=context)
        self._kept = KeptWaitSet(self.context)
        self._takes: dict[str, Callable[[Any], Any]] = {
            "waitable": self._take_waitable,
            "timer": self._take_timer,
            "subscription": self._take_subscription,
            "guard_condition": self._take_guard_condition,
            "client": self._take_client,
            "service": self._take_service,
        }

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
            kind, entity = self._ready.popleft()
            if entity.callback_group.can_execute(entity):
                self._run(self._takes[kind](entity))

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
        self._kept.release()

    def _wait(self, timeout_ns: int) -> None:
        """Wait until callbacks are ready."""
        if self._is_shutdown:
            return
        if self._changed:
            self._release()
            self._changed = False
            guards = [each for each in (self._guard, self._sigint_gc) if each]
            self._kept.gather(self.get_nodes(), guards)
        self._is_waiting = True
        try:
            self._kept.wait(timeout_ns)
        finally:
            self._is_waiting = False
        if self._is_shutdown:
            self._release()
            return
        if not self.context.ok():
            raise ExternalShutdownException()
        self._ready += self._kept.ready()
