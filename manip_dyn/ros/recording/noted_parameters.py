"""The parameters of the nodes that are recorded, asked for when a node appears."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from manip_dyn.recording.reading import PARAMETERS

NODES = ("simulator", "clik_tracker", "bang_bang_planner", "mechanism")


class NotedParameters:
    """Notes each node's parameters once, as JSON by name."""

    def __init__(self, node: Node, note: Callable[[str, dict[str, str]], None]):
        """Look for the nodes of the same namespace."""
        self._node, self._note = node, note
        space = node.get_namespace().rstrip("/")
        self._clients = {name: AsyncParameterClient(node, f"{space}/{name}") for name in NODES}

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
