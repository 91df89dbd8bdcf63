"""Where the package's data files (urdf/, config/, launch/) are, however it was installed.

`pip install` and `colcon build` put them under ``<prefix>/share/manip_dyn``; an editable
install and a plain checkout keep them beside the Python package.
"""

from __future__ import annotations

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
