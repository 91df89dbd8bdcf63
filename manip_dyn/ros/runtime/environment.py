"""The environment of a node's process: discovery range, parameters files, priority."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import read_yaml, share_directory

RANGE, LOCAL = "ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"
WIDER = ("ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")
"""Environment variables that ask for something else, too."""
PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""Where Fast DDS finds its profiles: up to version 2, and from version 3."""


def local_discovery(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what to add to an environment so that nothing listens beyond this machine.

    Discovery range ``LOCALHOST`` alone lets Fast DDS listen on all addresses; the shipped profile
    ends that.

    Args:
        environment: Environment variables.

    Returns:
        Variables that are not set yet; none if `environment` asks for another range.
    """
    asked = environment.get(RANGE) or LOCAL
    if asked != LOCAL or any(environment.get(name) for name in WIDER):
        return {}
    added = {RANGE: LOCAL}
    if not any(environment.get(name) for name in PROFILES):
        profile = str(share_directory() / "config" / "discovery.xml")
        added |= dict.fromkeys(PROFILES, profile)
    return added


PARAMETERS = "ros__parameters"


def check_parameter_files(node: str, arguments: Sequence[str]) -> None:
    """Refuse a parameters file none of whose names matches a node.

    Args:
        node: The node's full name, such as ``/arm/simulator``.
        arguments: Its command line, with ``--params-file FILE`` behind ``--ros-args``.

    Raises:
        ManipDynError: If there is such a file; it names the nodes that the file is for.
    """
    for path in _files(arguments):
        names = read_yaml(path, lambda content: list(_names(content)))
        if names and not any(matches(name, node) for name in names):
            raise ManipDynError(
                f"parameters file '{path}' has nothing for node '{node}', but for "
                f"{', '.join(names)}; expected that name, or one with wildcards as "
                f"/**/{node.rpartition('/')[2]}"
            )


def matches(pattern: str, node: str) -> bool:
    """Return whether a name in a parameters file means a node, by the rules of rcl.

    ``*`` stands for one token of the name, ``**`` for any number; a first slash may be left out.
    """
    tokens = pattern.strip("/").split("/")
    text = "".join("(/[^/]+)*" if t == "**" else f"/{_token(t)}" for t in tokens)
    return re.fullmatch(text, node) is not None


def _token(token: str) -> str:
    return "[^/]+" if token == "*" else re.escape(token)


def _files(arguments: Sequence[str]) -> Iterator[Path]:
    """Yield the files that rcl reads, too; what it cannot read it has refused already."""
    inside = False
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        inside = word == "--ros-args" or (inside and word != "--")
        if inside and word == "--params-file" and Path(following).is_file():
            yield Path(following)


def _names(content: Any, space: str = "") -> Iterator[str]:
    """Yield the names of nodes in a file, whose namespaces may be nested."""
    if not isinstance(content, Mapping):
        return
    for key, inside in content.items():
        name = f"{space}/{str(key).strip('/')}"
        if isinstance(inside, Mapping) and PARAMETERS in inside:
            yield name
        else:
            yield from _names(inside, name)


def lower_priority(nice: int, prompt: bool = False) -> None:
    """Take the processor after others: a nice value, and no fixed priority or the lowest.

    One that was inherited, of a demo that was started with `chrt -f` or with a negative nice
    value, is for its nodes. To be called before the process has threads of its own.

    Args:
        nice: The nice value from now on, unless it is a greater one already.
        prompt: Whether a fixed priority that was inherited becomes the lowest one instead of none:
            a listener to reliable topics that is kept waiting makes their publishers repeat. One
            to topics that may be missed disturbs them less where it waits.
    """
    if hasattr(os, "sched_setscheduler"):
        policy = os.sched_getscheduler(0)
        fixed = policy in (os.SCHED_FIFO, os.SCHED_RR)
        kept = policy if fixed and prompt else os.SCHED_OTHER
        with suppress(OSError):
            os.sched_setscheduler(0, kept, os.sched_param(os.sched_get_priority_min(kept)))
    os.nice(max(nice - os.nice(0), 0))
