"""Environment of a node's process: discovery range, parameter files and priority."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import read_yaml, share_directory

RANGE, LOCAL = "ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"
WIDER = ("ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")
"""Other environment variables that configure discovery."""
PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""Environment variables for the profile file of Fast DDS: before and since version 3."""
PARAMETERS = "ros__parameters"


def local_discovery(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables to add so that discovery is restricted to this machine.

    With the discovery range ``LOCALHOST`` alone, Fast DDS still listens on all addresses. The
    shipped profile restricts it to the loopback address.

    Args:
        environment: Current environment variables.

    Returns:
        The variables to set, or {} if `environment` configures another range.
    """
    chosen = environment.get(RANGE) or LOCAL
    if chosen != LOCAL or any(environment.get(name) for name in WIDER):
        return {}
    added = {RANGE: LOCAL}
    if not any(environment.get(name) for name in PROFILES):
        profile = str(share_directory() / "config" / "discovery.xml")
        added |= dict.fromkeys(PROFILES, profile)
    return added


def check_parameter_files(node: str, arguments: Sequence[str]) -> None:
    """Check that every parameters file on the command line names the node.

    rcl ignores other files without a warning, for example after a spelling mistake.

    Args:
        node: Full name of the node, such as ``/arm/simulator``.
        arguments: Command line of the node, with ``--params-file FILE`` after ``--ros-args``.

    Raises:
        ManipDynError: If a file names only other nodes.
    """
    for option, value in _options(arguments):
        if option == "--params-file":
            names = [name for name, _ in _sections(_read(value))]
            if names and not any(matches(name, node) for name in names):
                raise ManipDynError(
                    f"parameters file '{value}' must name the node '{node}', got "
                    f"{', '.join(names)}. Use that name, or /**/{node.rpartition('/')[2]}."
                )


def parameter_overrides(node: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the parameters that a command line sets for a node, by the rules of rcl.

    rclpy has no public function that lists undeclared parameters.

    Args:
        node: Full name of the node.
        arguments: Command line of the node.
    """
    overrides: dict[str, Any] = {}
    for option, value in _options(arguments):
        if option == "--params-file":
            for name, parameters in _sections(_read(value)):
                if matches(name, node):
                    overrides |= _flat(parameters)
        else:
            rule, _, number = value.partition(":=")
            target, _, name = rule.rpartition(":")
            if not target or matches(target, node):
                overrides[name] = yaml.safe_load(number)
    return overrides


def matches(pattern: str, node: str) -> bool:
    """Return whether a name in a parameters file matches a node, by the rules of rcl.

    ``*`` matches one token of the name, ``**`` any number of tokens. The first slash is optional.
    """
    tokens = pattern.strip("/").split("/")
    expression = "".join("(/[^/]+)*" if t == "**" else f"/{_token(t)}" for t in tokens)
    return re.fullmatch(expression, node) is not None


def lower_priority(nice: int, prompt: bool = False, process: int = 0) -> None:
    """Lower the priority of a process so that it does not delay control loops.

    A program that was started with `chrt -f` or a negative nice value passes its priority on to
    all its processes. Call this function before the process starts other threads.

    Args:
        nice: New nice value, unless the current one is greater.
        prompt: Whether to retain an inherited real-time policy, with its lowest priority. Set it
            for readers of reliable topics: a slow reader causes publishers to repeat messages.
            A reader of best-effort topics disturbs publishers less without a real-time policy.
        process: Process id. Default: this process.
    """
    if hasattr(os, "sched_setscheduler"):
        policy = os.sched_getscheduler(process)
        real_time = policy in (os.SCHED_FIFO, os.SCHED_RR)
        policy = policy if real_time and prompt else os.SCHED_OTHER
        with suppress(OSError):
            lowest = os.sched_param(os.sched_get_priority_min(policy))
            os.sched_setscheduler(process, policy, lowest)
    inherited = os.getpriority(os.PRIO_PROCESS, process)
    os.setpriority(os.PRIO_PROCESS, process, max(nice, inherited))


def _token(token: str) -> str:
    return "[^/]+" if token == "*" else re.escape(token)


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the command-line options that set parameters, as pairs of option and value."""
    in_ros_arguments = False
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        in_ros_arguments = word == "--ros-args" or (in_ros_arguments and word != "--")
        if in_ros_arguments and word in ("-p", "--param", "--params-file"):
            yield word, following


def _read(file: str) -> Any:
    """Return the content of a parameters file, or {} if it is missing: rcl reports that."""
    return read_yaml(Path(file), lambda content: content) if Path(file).is_file() else {}


def _sections(content: Any, namespace: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the node names and parameters in a parameters file, including nested namespaces."""
    if not isinstance(content, Mapping):
        return
    for key, value in content.items():
        name = f"{namespace}/{str(key).strip('/')}"
        if isinstance(value, Mapping) and PARAMETERS in value:
            yield name, value[PARAMETERS]
        else:
            yield from _sections(value, name)


def _flat(parameters: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested parameters as a flat dictionary with full names, such as ``circle.center``."""
    flat: dict[str, Any] = {}
    for key, value in (parameters or {}).items():
        name = f"{prefix}{key}"
        flat |= _flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return flat
