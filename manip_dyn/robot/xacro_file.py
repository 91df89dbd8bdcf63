"""A xacro file to URDF text, by the package xacro, which is imported when one is met."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from manip_dyn.core.errors import ManipDynError, closest


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
