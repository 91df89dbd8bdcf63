"""URDF sources: shipped names, files, ROS packages, xacro files and URDF strings."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from manip_dyn.core.checks import shortened
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import bundled_robots, share_directory
from manip_dyn.core.source_packages import installed, source_packages


class _RecordedArguments(dict[str, str]):
    """Xacro arguments that record which of them a file declares or reads."""

    def __init__(self, arguments: Mapping[str, str]):
        super().__init__(arguments)
        self.used: set[str] = set()

    @property
    def unused(self) -> list[str]:
        """Names of arguments that are neither declared nor read."""
        return [name for name in self if name not in self.used]

    def __contains__(self, name: object) -> bool:
        self.used.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.used.add(name)
        return super().__getitem__(name)


def expand(path: Path, arguments: Mapping[str, str]) -> str:
    """Process a xacro file with arguments and return the URDF.

    ``$(find PACKAGE)`` finds installed packages, and those of `source_packages`.

    Raises:
        ManipDynError: If xacro is not installed, cannot process the file, or an argument is not
            used by the file.
    """
    xacro, recorded = _xacro(), _RecordedArguments(arguments)
    folders: dict[str, str] = {}
    try:
        with (
            contextlib.redirect_stderr(io.StringIO()),
            installed(source_packages(path)) as folders,
        ):
            text = xacro.process_file(str(path), mappings=recorded).toxml()
    except ImportError as error:  # $(find ...) and expressions may import ROS 2 modules
        raise ManipDynError(
            f"robot '{path}': {error}. Source ROS 2, or pip install 'manip_dyn[ros]'."
        ) from error
    except Exception as error:  # expressions in a file may raise any exception
        reason = " ".join(str(error).split()).partition(" [Errno")[0].rstrip(".")
        reason = _with_folders(reason, folders) or type(error).__name__
        if match := re.search(r"package '\w+' not found", reason):
            reason = match[0]
        unused = "".join(f"; argument '{name}' was not used" for name in recorded.unused)
        hint = _hint(reason, recorded)
        raise ManipDynError(
            f"robot '{path}' cannot be processed by xacro: {reason}{unused}.{hint}"
        ) from error
    text = _with_folders(text, folders)
    for name in recorded.unused:
        hint = closest(name, sorted(recorded.used))
        raise ManipDynError(f"robot '{path}' has no xacro argument '{name}'{hint}")
    return text


def _with_folders(text: str, folders: Mapping[str, str]) -> str:
    """Replace the temporary paths of packages in a text by their folders."""
    for temporary in sorted(folders, key=len, reverse=True):  # a path may begin with a shorter one
        text = text.replace(temporary, folders[temporary])
    return text


def _hint(reason: str, arguments: Mapping[str, str]) -> str:
    """Return a hint for the user about an error of xacro with these arguments, or ""."""
    if match := re.search(r"ndefined substitution argument '?(\w+)", reason):
        return f" Set the argument by --xacro {match[1]}:=VALUE, or by xacro_args in Python."
    if match := re.search(r"package '(\w+)' not found", reason):
        return f" Run export ROS_PACKAGE_PATH=FOLDER, where FOLDER contains '{match[1]}'."
    if "No such file" in reason:  # its path may contain the default of an argument
        words = ("", *reason.split("/"))
        names = [name for name, value in arguments.items() if value in words]
        return "".join(f" Set {name} by --xacro {name}:=VALUE." for name in names)
    return ""


def _xacro() -> ModuleType:
    try:
        import xacro
    except ImportError as error:
        raise ManipDynError(
            "xacro must be installed to load a xacro file: pip install xacro, or apt install "
            "ros-jazzy-xacro."
        ) from error
    return xacro


PACKAGE = "package://"


VIEW = "manip_dyn view FILE"
"""Command that shows the robot of a URDF string, after the string is stored in a file."""


class Source(NamedTuple):
    """A URDF and its origin.

    Attributes:
        label: Name of the source in error messages.
        text: The XML after xacro processing.
        extras: Path of the optional YAML file with the same name; None for a URDF string.
        stem: Name of the robot if the URDF has none.
        view: Command that shows the robot, also if it has no dynamics.
    """

    label: str
    text: str | bytes
    extras: Path | None
    stem: str
    view: str = VIEW


def read_source(source: str | Path, xacro_args: Mapping[str, object] | None = None) -> Source:
    """Read the URDF of a source, see `load_robot`.

    Raises:
        ManipDynError: If the source does not exist, cannot be read or processed, or arguments are
            passed for a plain URDF.
    """
    arguments = _arguments(xacro_args)
    if isinstance(source, str) and source.lstrip().startswith("<"):
        _check_no_arguments("a URDF string", arguments)
        return Source("from a string", source, None, "robot")
    path = find_urdf(source)
    stem = path.name.removesuffix(".xacro").removesuffix(".urdf").removesuffix(".xml")
    extras = path.with_name(f"{stem}.yaml")
    options = [f"--xacro={name}:={value}" for name, value in arguments.items()]
    view = f"manip_dyn view {shlex.join([str(path), *options])}"
    if path.suffix == ".xacro":
        return Source(f"'{path}'", expand(path, arguments), extras, stem, view)
    _check_no_arguments(f"robot '{path}'", arguments)
    try:
        return Source(f"'{path}'", path.read_bytes(), extras, stem, view)
    except OSError as error:
        raise ManipDynError(f"robot '{path}' cannot be read: {error.strerror}.") from error


def read_srdf(source: str | Path | None) -> str:
    """Return the text of an SRDF from a path, ``package://`` URI or string, or "" for None.

    Raises:
        ManipDynError: If the file cannot be read or is not an SRDF.
    """
    if source is None:
        return ""
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    label = "from a string" if is_text else f"'{source}'"
    if isinstance(source, str) and source.startswith(PACKAGE):
        source = _in_package(source, "srdf", "SRDF")
    try:
        text = str(source) if is_text else Path(source).expanduser().read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
    except (OSError, UnicodeDecodeError, ElementTree.ParseError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ManipDynError(f"srdf must be a readable SRDF, got {label}: {reason}.") from error
    if root.tag != "robot":
        raise ManipDynError(f"srdf must have the root <robot>, got <{root.tag}>.")
    if root.find("link") is not None or root.find("joint") is not None:
        raise ManipDynError(f"srdf must be an SRDF, got the URDF {label}.")
    for entry in root.iter("disable_collisions"):
        if not (entry.get("link1") and entry.get("link2")):
            raise ManipDynError(
                f"<disable_collisions> of the srdf must have link1 and link2, got {entry.attrib}."
            )
    return text


def find_urdf(source: str | Path) -> Path:
    """Return the path of a URDF or xacro file.

    Args:
        source: Name of a robot that comes with the package, path of a file, or ``package://`` URI.

    Raises:
        ManipDynError: If there is no such file.
    """
    if not isinstance(source, (str, Path)):
        raise ManipDynError(
            f"robot must be a name or the path of a URDF, got {shortened(source)}."
        )
    if isinstance(source, str) and source in bundled_robots():
        return share_directory() / "urdf" / f"{source}.urdf"
    if isinstance(source, str) and source.startswith(PACKAGE):
        return _in_package(source, "robot", "URDF")
    path = Path(source).expanduser()
    if str(source) and path.is_dir():
        file = next(iter(sorted(path.glob("*.urdf"))), path / "arm.urdf")
        raise ManipDynError(f"robot must be a file such as {file}, got the folder '{source}'.")
    if path.suffix in (".urdf", ".xml", ".xacro") or len(path.parts) > 1:
        if path.is_file():
            return path
        raise ManipDynError(f"robot must be a readable URDF, got '{source}': no such file.")
    raise ManipDynError(f"robot '{source}' is not shipped{closest(str(source), bundled_robots())}")


def _in_package(address: str, name: str, kind: str) -> Path:
    """Return the file for ``package://PACKAGE/PATH`` in a sourced workspace."""
    package, _, inside = address.removeprefix(PACKAGE).partition("/")
    shares = [share_directory()] if package == "manip_dyn" else []
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    shares += [share for path in prefixes if (share := Path(path, "share", package)).is_dir()]
    if not package or not shares:
        raise ManipDynError(
            f"{name} '{address}': there is no package '{package}' below AMENT_PREFIX_PATH. Source "
            "the workspace in which it is installed."
        )
    path = next((share / inside for share in shares if (share / inside).is_file()), None)
    if path is None:
        raise ManipDynError(
            f"{name} must be a readable {kind}, got '{address}': {shares[0]} has no file "
            f"'{inside}'."
        )
    return path


def _arguments(xacro_args: Mapping[str, object] | None) -> dict[str, str]:
    if not isinstance(xacro_args or {}, Mapping):
        raise ManipDynError(
            f"xacro_args must be a mapping of names to values, got {xacro_args!r}."
        )
    values = dict(xacro_args or {}).items()
    return {str(name): _as_xacro(value) for name, value in values}


def _as_xacro(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_no_arguments(label: str, arguments: Mapping[str, str]) -> None:
    if arguments:
        raise ManipDynError(
            f"xacro arguments require a file that ends in .xacro, got {label} with arguments "
            f"{', '.join(arguments)}."
        )


def lock_from(text: str) -> dict[str, float]:
    """Parse ``JOINT=POSITION, JOINT=POSITION`` into positions (rad or m) by joint.

    Raises:
        ManipDynError: If an entry does not have this form.
    """
    lock = {}
    for entry in filter(None, (word.strip() for word in text.split(","))):
        joint, _, position = entry.partition("=")
        try:
            lock[joint.strip()] = float(position)
        except ValueError as error:
            raise ManipDynError(
                f"Entries of 'lock' must be JOINT=POSITION, got '{entry}'."
            ) from error
    return lock


def xacro_arguments_from(text: str) -> dict[str, str]:
    """Parse ``NAME:=VALUE NAME:=VALUE``, quoted as for a shell, into values by name.

    Raises:
        ManipDynError: If an entry does not have this form.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ManipDynError(
            f"xacro_arguments must be NAME:=VALUE NAME:=VALUE, got '{text}': {error}."
        ) from error
    arguments = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not (separator and name):
            raise ManipDynError(f"Entries of xacro_arguments must be NAME:=VALUE, got '{word}'.")
        arguments[name] = value
    return arguments
