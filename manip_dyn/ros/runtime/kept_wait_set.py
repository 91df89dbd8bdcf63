"""What an executor waits for: gathered once, waited for many times."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.waitable import NumberOfEntities

KINDS = {
    "timer": "timers",
    "subscription": "subscriptions",
    "guard_condition": "guards",
    "client": "clients",
    "service": "services",
}
"""Of entities, as wait sets call them, by the attribute of nodes that has them."""
OPEN = (MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup)
"""Groups that let anything run in a single thread; others are asked at each wait."""


class KeptWaitSet:
    """All entities of nodes. While they are held, those that are destroyed do not end."""

    def __init__(self, context: Context):
        """Take the context of the nodes."""
        self._context, self._held = context, ExitStack()

    def release(self) -> None:
        """Let go of all entities."""
        self._held.close()

    def gather(self, nodes: Iterable[Node], guards: Iterable[Any]) -> None:
        """Hold the entities of nodes, and guard conditions whose only work it is to end a wait."""
        self.release()
        nodes, own = list(nodes), [each.handle for each in guards]
        found = {
            kind: self._hold(each for node in nodes for each in getattr(node, name))
            for kind, name in KINDS.items()
        }
        self._waitables = self._hold(each for node in nodes for each in node.waitables)
        self._held.enter_context(self._context.handle)
        count = {kind: len(entities) for kind, entities in found.items()}
        more = sum((each.get_num_entities() for each in self._waitables), NumberOfEntities())
        waits = self._waits = rclpy_implementation.WaitSet(
            count["subscription"] + more.num_subscriptions,
            count["guard_condition"] + len(own) + more.num_guard_conditions,
            count["timer"] + more.num_timers,
            count["client"] + more.num_clients,
            count["service"] + more.num_services,
            more.num_events,
            self._context.handle,
        )
        self._own = own
        self._entities = [
            (getattr(waits, f"add_{kind}"), each.handle, each, type(each.callback_group) in OPEN)
            for kind, entities in found.items()
            for each in entities
        ]
        self._by_pointer = {
            kind: {each.handle.pointer: each for each in entities}
            for kind, entities in found.items()
            if entities
        }

    def wait(self, timeout_ns: int) -> None:
        """Wait until an entity is ready, or for so long, ns; below 0 for ever."""
        waits = self._waits
        waits.clear_entities()
        for add, handle, entity, is_open in self._entities:
            if is_open or entity.callback_group.can_execute(entity):
                add(handle)
        for handle in self._own:
            waits.add_guard_condition(handle)
        self._waited = [w for w in self._waitables if w.callback_group.can_execute(w)]
        for each in self._waited:
            each.add_to_wait_set(waits)
        waits.wait(timeout_ns)

    def ready(self) -> list[tuple[str, Any]]:
        """Return kind and entity of those that were ready when the wait ended."""
        found = [("waitable", each) for each in self._waited if each.is_ready(self._waits)]
        for kind, entities in self._by_pointer.items():
            woke = map(entities.get, self._waits.get_ready_entities(kind))
            found += [(kind, each) for each in woke if each is not None and _due(each)]
        return found

    def _hold(self, entities: Iterable[Any]) -> list[Any]:
        """Keep entities from ending; return those that have not ended."""
        kept = []
        for each in entities:
            try:
                self._held.enter_context(getattr(each, "handle", each))
            except InvalidHandle:
                continue
            kept.append(each)
        return kept


def _due(entity: Any) -> bool:
    """Return whether an entity that woke a wait is ready: a cancelled timer is not."""
    check = getattr(entity.handle, "is_timer_ready", None)
    return check is None or bool(check())
