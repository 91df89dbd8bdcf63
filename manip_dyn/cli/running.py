"""A node as a command: recorder and replayer."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from manip_dyn.cli.terminal import error_line
from manip_dyn.core.errors import ManipDynError

NAMESPACE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
"""As rcl takes them, without the first /."""


def run_node(
    name: str, namespace: str, parameters: Mapping[str, Any], tell: Callable[..., None]
) -> int:
    """Run a node of `manip_dyn.ros.nodes` in this process; return its exit code.

    Args:
        name: The node.
        namespace: Where it runs.
        parameters: Its parameters.
        tell: Takes what it has to say, by name.

    Raises:
        ManipDynError: If there is no ROS 2, or no namespace of this name.
    """
    place = namespace.strip("/")
    if place and not NAMESPACE.fullmatch(place):
        raise ManipDynError(
            f"--namespace is '{namespace}'; expected names of letters, digits and underscores "
            "that begin with no digit, joined by /"
        )
    if find_spec("rclpy") is None:
        raise ManipDynError(
            f"the {name} needs rclpy; expected a sourced ROS 2 or pip install 'manip_dyn[ros]'"
        )
    arguments = ["manip_dyn", "--ros-args"]
    if place:
        arguments += ["-r", f"__ns:=/{place}"]
    for key, value in parameters.items():
        arguments += ["-p", f"{key}:={value}"]
    main = import_module(f"manip_dyn.ros.nodes.{name}").main
    return int(main(arguments, tell, _refuse))


def _refuse(sentence: str) -> None:
    print(error_line(sentence), file=sys.stderr)
