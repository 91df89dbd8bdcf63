"""Where a URDF comes from: a shipped name, a file, a ROS package, xacro, or the text itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from manip_dyn.core.checks import shortened
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.share import share_directory, shipped_robots
from manip_dyn.robot.xacro_file import expand

PACKAGE = "package://"


class Source(NamedTuple):
    """A URDF as it was found.

    Attributes:
        label: What errors call it.
        text: The XML, xacro expanded.
        extras: Where its YAML file would be; None for a text, which lies nowhere.
        stem: The robot's name if the URDF states none.
    """

    label: str
    text: str | bytes
    extras: Path | None
    stem: str


def read_source(source: str | Path, xacro_args: Mapping[str, object] | None = None) -> Source:
    """Return the URDF that `source` means, see `load_robot`.

    Raises:
        ManipDynError: If there is none, it cannot be read or expanded, or it takes no arguments.
    """
    given = _arguments(xacro_args)
    if isinstance(source, str) and source.lstrip().startswith("<"):
        _refuse_arguments("a URDF given as text", given)
        return Source("of the given text", source, None, "robot")
    path = find_urdf(source)
    stem = path.name.removesuffix(".xacro").removesuffix(".urdf").removesuffix(".xml")
    extras = path.with_name(f"{stem}.yaml")
    if path.suffix == ".xacro":
        return Source(f"'{path}'", expand(path, given), extras, stem)
    _refuse_arguments(f"robot '{path}'", given)
    try:
        return Source(f"'{path}'", path.read_bytes(), extras, stem)
    except OSError as error:
        raise ManipDynError(f"robot '{path}' cannot be read: {error.strerror}") from error


def find_urdf(source: str | Path) -> Path:
    """Return the file of a shipped robot's name, of a path or of a ``package://`` address."""
    if not isinstance(source, (str, Path)):
        raise ManipDynError(f"robot is {shortened(source)}; expected a name or the path of a URDF")
    if isinstance(source, str) and source in shipped_robots():
        return share_directory() / "urdf" / f"{source}.urdf"
    if isinstance(source, str) and source.startswith(PACKAGE):
        return _in_package(source)
    path = Path(source).expanduser()
    if str(source) and path.is_dir():
        inside = next((each.name for each in sorted(path.glob("*.urdf"))), "arm.urdf")
        raise ManipDynError(f"robot '{source}' is a folder; expected a file, as {path / inside}")
    if path.suffix in (".urdf", ".xml", ".xacro") or len(path.parts) > 1:
        if path.is_file():
            return path
        raise ManipDynError(f"robot '{source}': no such file; expected a readable URDF")
    raise ManipDynError(f"robot '{source}' is not shipped{closest(str(source), shipped_robots())}")


def _in_package(address: str) -> Path:
    """Return the file of ``package://PACKAGE/PATH`` in a sourced workspace."""
    package, _, inside = address.removeprefix(PACKAGE).partition("/")
    shares = [share_directory()] if package == "manip_dyn" else []
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    shares += [share for each in prefixes if (share := Path(each, "share", package)).is_dir()]
    if not package or not shares:
        raise ManipDynError(
            f"robot '{address}': no package '{package}' below AMENT_PREFIX_PATH; expected it to "
            "be installed and its workspace sourced"
        )
    path = next((share / inside for share in shares if (share / inside).is_file()), None)
    if path is None:
        raise ManipDynError(
            f"robot '{address}': {shares[0]} has no file '{inside}'; expected a readable URDF"
        )
    return path


def _arguments(given: Mapping[str, object] | None) -> dict[str, str]:
    if not isinstance(given or {}, Mapping):
        raise ManipDynError(f"xacro_args is {given!r}; expected argument names with their values")
    values = dict(given or {}).items()
    return {str(name): _as_xacro(value) for name, value in values}


def _as_xacro(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse_arguments(what: str, given: Mapping[str, str]) -> None:
    if given:
        raise ManipDynError(
            f"{what} takes no xacro arguments, given {', '.join(given)}; expected none, or a "
            "file that ends in .xacro"
        )
