"""The YAML files in which studies state their choices."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.share import share_directory


def read_yaml(study: str, path: str | Path | None = None) -> tuple[Path, Any]:
    """Return a study's file, the shipped one if `path` is None, and its content."""
    file = Path(path) if path else share_directory() / "config" / f"{study}.yaml"
    try:
        return file, yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ManipDynError(f"'{file}' is not readable YAML: {reason}") from error


def mapping(
    what: str, content: Any, needed: Collection[str], known: Collection[str] | None = None
) -> dict[str, Any]:
    """Return `content` if it is a mapping with all `needed` keys and none but the `known`.

    By default all that is known is needed.
    """
    known = needed if known is None else known
    if not isinstance(content, dict):
        raise ManipDynError(f"{what} is {content!r}; expected a mapping")
    for key in content:
        if key not in known:
            raise ManipDynError(f"{what} has no '{key}'{closest(str(key), known)}")
    for key in needed:
        if key not in content:
            raise ManipDynError(f"{what} lacks '{key}'; expected {', '.join(needed)}")
    return content


def count(what: str, value: Any) -> int:
    """Return `value` if it is a whole number above 0."""
    if not isinstance(value, int) or value < 1:
        raise ManipDynError(f"{what} has {value!r}; expected a whole number above 0")
    return value
