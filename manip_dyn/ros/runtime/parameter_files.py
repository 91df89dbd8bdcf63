"""Parameter files that a node was given: each has to have something for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from manip_dyn.core.errors import ManipDynError


def files_in(arguments: Sequence[str]) -> list[str]:
    """Return the parameter files that a command line names."""
    pairs = pairwise(arguments)
    return [file for option, file in pairs if option == "--params-file"]


def check_files(files: Sequence[str], node: str) -> None:
    """Refuse a file that has parameters, but none for a node: ROS would ignore it silently.

    Args:
        files: Paths of parameter files.
        node: The node's name with its namespace, as /left/simulator.

    Raises:
        ManipDynError: With the names that the file has.
    """
    for file in files:
        names = sorted(names_in(yaml.safe_load(Path(file).read_text(encoding="utf-8"))))
        if names and not any(matches(name, node) for name in names):
            raise ManipDynError(
                f"parameters file '{file}' has nothing for node '{node}', but for "
                f"{', '.join(names)}; expected its name, or one with wildcards as "
                f"/**/{node.rpartition('/')[2]}"
            )


def names_in(content: Any, above: str = "") -> Iterator[str]:
    """Yield the node names in a parameters file, those of nested namespaces in full."""
    if not isinstance(content, dict):
        return
    for name, below in content.items():
        whole = f"{above}/{str(name).strip('/')}"
        if isinstance(below, dict) and "ros__parameters" in below:
            yield whole
        else:
            yield from names_in(below, whole)


def matches(name: str, node: str) -> bool:
    """Return whether a name in a file, * for one part of it and ** for any, means a node."""
    parts = name.strip("/").split("/")
    wild = {"*": "/[^/]+", "**": "(/[^/]+)*"}
    pattern = "".join(wild.get(part, "/" + re.escape(part)) for part in parts)
    return re.fullmatch(pattern, node) is not None
