"""Where the package's data files (urdf/, config/, launch/) are, however it was installed.

`pip install` and `colcon build` put them under ``<prefix>/share/manip_dyn``; an editable
install and a plain checkout keep them beside the Python package.
"""

from __future__ import annotations

import importlib.metadata
import os
from functools import cache
from pathlib import Path

from manip_dyn.core.errors import ManipDynError

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


def shipped_robots() -> list[str]:
    """Return the names of the robots that come with the package."""
    return sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf"))


def example_robot(urdf: str) -> Path:
    """Return a URDF of the package example-robot-data by its path under ``robots``.

    Raises:
        ManipDynError: If the package, which is optional, is not installed.
    """
    shares = [Path(each) / "share" for each in _prefixes() if each]
    try:
        wheel = importlib.metadata.distribution("example-robot-data")
        shares.append(Path(str(wheel.locate_file("cmeel.prefix/share"))))
    except importlib.metadata.PackageNotFoundError:
        pass
    for share in shares:
        path = share / "example-robot-data" / "robots" / urdf
        if path.is_file():
            return path
    raise ManipDynError(
        f"the robot {urdf} comes with example-robot-data, which is not installed; expected "
        "pip install example-robot-data, or a URDF of your own"
    )


def _prefixes() -> list[str]:
    return os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
