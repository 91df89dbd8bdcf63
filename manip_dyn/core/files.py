"""The data files of the package, and strict YAML."""

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
    """Return the folder that holds ``urdf``, ``config`` and ``launch``."""
    package = Path(__file__).resolve().parents[1]
    candidates = [package.parent, *(up / "share" / "manip_dyn" for up in package.parents)]
    for candidate in candidates:
        if (candidate / _LANDMARK).is_file():
            return candidate
    raise ManipDynError(
        f"the data files of manip_dyn are missing: no {_LANDMARK} beside or above {package}; "
        "expected an installation by pip or colcon"
    )


def bundled_robots() -> list[str]:
    """Return the names of the robots that come with the package."""
    return sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf"))


T = TypeVar("T")


def read_yaml(path: Path, build: Callable[[Any], T]) -> T:
    """Return what `build` makes of a file's content.

    Args:
        path: The file.
        build: Takes the content as plain values, None for an empty file, and refuses what it
            cannot use by a `ManipDynError`.

    Raises:
        ManipDynError: If the file cannot be read, is no YAML, has a key twice, or `build` refuses
            its content; the sentence begins with the file.
    """
    try:
        return build(_content(path))
    except ManipDynError as error:
        raise ManipDynError(f"'{path}': {error}") from error


def mapping(
    what: str, value: Any, known: Iterable[str], needed: Iterable[str] = ()
) -> dict[str, Any]:
    """Return `value` if it is a mapping with all `needed` keys and none but the `known`."""
    known = list(known)
    if not isinstance(value, dict):
        raise ManipDynError(f"{what} is {shortened(value)}; expected keys {', '.join(known)}")
    for key in value:
        if key not in known:
            raise ManipDynError(f"{what} has the unknown key '{key}'{closest(str(key), known)}")
    for key in needed:
        if key not in value:
            raise ManipDynError(f"{what} has no '{key}'; expected it among its keys")
    return value


def _content(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ManipDynError(f"not readable YAML: {reason}") from error


class _Loader(yaml.SafeLoader):
    """Refuses keys that stand twice; reads numbers with an exponent as YAML 1.2 does."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        found: list[Any] = []
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":  # what `<<` brings in, the rest overrides
                continue
            name = self.construct_object(key, deep=True)
            if name in found:
                line = key.start_mark.line + 1
                raise ManipDynError(
                    f"line {line}: the key '{name}' stands twice; expected it once"
                )
            found.append(name)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)
