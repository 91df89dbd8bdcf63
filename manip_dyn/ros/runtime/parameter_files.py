"""Parameters files that say nothing to the node they were given to: a misspelt name is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.yaml_file import read_yaml

PARAMETERS = "ros__parameters"


def refuse_unread(node: str, arguments: Sequence[str]) -> None:
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
