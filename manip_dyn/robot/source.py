"""URDF sources: shipped names, files, ROS packages, xacro files and URDF strings."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from manip_dyn.core.checks import shortened
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import bundled_robots, share_directory


class _Noted(dict[str, str]):
    """Arguments of a xacro file that note which of them it declares or reads."""

    def __init__(self, given: Mapping[str, str]):
        super().__init__(given)
        self.met: set[str] = set()

    @property
    def unmet(self) -> list[str]:
        """What was given and is neither declared nor read."""
        return [name for name in self if name not in self.met]

    def __contains__(self, name: object) -> bool:
        self.met.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.met.add(name)
        return super().__getitem__(name)


def expand(path: Path, arguments: Mapping[str, str]) -> str:
    """Return the URDF that a xacro file makes of its arguments.

    Raises:
        ManipDynError: If xacro is not installed, the file is refused by it, or it does not know
            an argument.
    """
    xacro, noted, said = _xacro(), _Noted(arguments), io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            text = xacro.process_file(str(path), mappings=noted).toxml()
    except ImportError as error:  # of a module that $(find ...) or a file's expressions need
        raise ManipDynError(f"robot '{path}': {error}; expected a sourced ROS 2") from error
    except Exception as error:  # a file can raise whatever its expressions raise
        reason = " ".join(str(error).split()) or type(error).__name__
        unmet = "".join(f"; argument '{name}' was not met" for name in noted.unmet)
        raise ManipDynError(f"robot '{path}' is refused by xacro: {reason}{unmet}") from error
    for name in noted.unmet:
        hint = closest(name, sorted(noted.met))
        raise ManipDynError(f"robot '{path}' has no xacro argument '{name}'{hint}")
    return text


def _xacro() -> ModuleType:
    try:
        import xacro
    except ImportError as error:
        raise ManipDynError(
            "a xacro file needs the package xacro, which is not installed; expected "
            "pip install xacro, or apt install ros-jazzy-xacro"
        ) from error
    return xacro


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
    if isinstance(source, str) and source in bundled_robots():
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
    raise ManipDynError(f"robot '{source}' is not shipped{closest(str(source), bundled_robots())}")


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


def lock_from(text: str) -> dict[str, float]:
    """Return positions by joint from ``JOINT=POSITION, JOINT=POSITION``."""
    lock = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        joint, _, position = entry.partition("=")
        try:
            lock[joint.strip()] = float(position)
        except ValueError as error:
            raise ManipDynError(
                f"parameter 'lock' has the entry '{entry}'; expected JOINT=POSITION"
            ) from error
    return lock


def xacro_arguments_from(text: str) -> dict[str, str]:
    """Return values by name from ``NAME:=VALUE NAME:=VALUE``, quoted as for a shell."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ManipDynError(f"xacro_arguments is '{text}': {error}") from error
    arguments = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not (separator and name):
            raise ManipDynError(
                f"xacro_arguments has the entry '{word}'; expected NAME:=VALUE NAME:=VALUE"
            )
        arguments[name] = value
    return arguments
