"""Where the meshes are that a URDF names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from manip_dyn.core.share import share_directory


def find_mesh(address: str, folders: Sequence[str | Path] = ()) -> str:
    """Return the file of a mesh by its path, ``file://`` or ``package://``; empty: not found."""
    scheme, _, rest = address.partition("://")
    if not rest or scheme == "file":
        paths = [Path(rest or address), *(Path(folder) / address for folder in folders)]
    elif scheme == "package":
        package, _, inside = rest.partition("/")
        prefixes = [Path(each) / "share" for each in _listed("AMENT_PREFIX_PATH")]
        roots = [*prefixes, *map(Path, _listed("ROS_PACKAGE_PATH")), *map(Path, folders)]
        paths = [root / package / inside for root in roots]
        paths += [root / inside for root in roots if root.name == package]
        if package == "manip_dyn":
            paths.append(share_directory() / inside)
    else:
        return ""
    return next((str(path) for path in paths if path.is_file()), "")


def _listed(variable: str) -> list[str]:
    return [each for each in os.environ.get(variable, "").split(os.pathsep) if each]
