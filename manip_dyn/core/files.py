"""Data files of the package, strict YAML, and generated sections of pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from manip_dyn.core.errors import ManipDynError, closest, shortened

_LANDMARK = Path("urdf") / "pa10.urdf"


@cache
def share_directory() -> Path:
    """Return the folder that contains ``urdf``, ``config`` and ``launch``.

    Raises:
        ManipDynError: If the folder is not found.
    """
    package = Path(__file__).resolve().parents[1]
    candidates = [package.parent, *(up / "share" / "manip_dyn" for up in package.parents)]
    for candidate in candidates:
        if (candidate / _LANDMARK).is_file():
            return candidate
    raise ManipDynError(
        f"the data files of manip_dyn are missing: there is no {_LANDMARK} next to or above "
        f"{package}. Install the package with pip or colcon."
    )


def bundled_robots() -> list[str]:
    """Return the sorted names of the robots that come with the package."""
    return sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf"))


T = TypeVar("T")


def read_yaml(path: Path, build: Callable[[Any], T]) -> T:
    """Return the object that `build` creates from the content of a YAML file.

    Args:
        path: The file.
        build: Function of the content as plain values (None for an empty file). It raises
            `ManipDynError` for invalid content.

    Raises:
        ManipDynError: If the file cannot be read, is not YAML, has a duplicate key or has invalid
            content. The message begins with the path.
    """
    try:
        return build(_content(path))
    except ManipDynError as error:
        raise ManipDynError(f"'{path}': {error}") from error


def with_section(page: str, name: str, content: str) -> str:
    """Return a page with new content between ``<!-- NAME -->`` and the next ``<!-- end -->``.

    Args:
        page: The page in Markdown.
        name: Name of the section.
        content: New lines of the section, with a line break at the end.

    Raises:
        ManipDynError: If the page does not have exactly one such section.
    """
    pattern = re.compile(rf"(<!-- {name} -->\n\n).*?(\n<!-- end -->)", re.DOTALL)
    matches = [*pattern.finditer(page)]
    if len(matches) != 1:
        raise ManipDynError(
            f"page must have one section from <!-- {name} --> to <!-- end -->, got {len(matches)}."
        )
    (match,) = matches
    return page[: match.end(1)] + content + page[match.start(2) :]


def mapping(
    name: str, value: Any, allowed: Iterable[str], required: Iterable[str] = ()
) -> dict[str, Any]:
    """Return a dictionary after a check of its keys.

    Args:
        name: Name of the dictionary in messages.
        value: The dictionary.
        allowed: All valid keys.
        required: Keys that must be present.

    Raises:
        ManipDynError: If `value` is not a dictionary, lacks a required key or has an unknown key.
    """
    allowed = list(allowed)
    if not isinstance(value, dict):
        raise ManipDynError(f"{name} must have keys {', '.join(allowed)}, got {shortened(value)}.")
    for key in value:
        if key not in allowed:
            raise ManipDynError(f"{name} has the unknown key '{key}'{closest(str(key), allowed)}")
    for key in required:
        if key not in value:
            raise ManipDynError(f"{name} must have the key '{key}', got {shortened(list(value))}.")
    return value


def _content(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ManipDynError(f"not readable YAML: {reason}.") from error


class _Loader(yaml.SafeLoader):
    """YAML loader that rejects duplicate keys and reads numbers such as 1e-3 as floats."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        names: list[Any] = []
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":  # other keys override the keys of `<<`
                continue
            name = self.construct_object(key, deep=True)
            if name in names:
                line = key.start_mark.line + 1
                raise ManipDynError(f"line {line}: each key must be unique, got '{name}' twice.")
            names.append(name)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)
