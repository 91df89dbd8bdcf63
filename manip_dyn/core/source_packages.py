"""ROS packages in source folders: xacro files find them without a colcon build."""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MANIFEST = "package.xml"
PREFIXES = "AMENT_PREFIX_PATH"


def source_packages(file: Path) -> dict[str, Path]:
    """Return the folders of ROS packages by package name.

    The packages are those in the folders of ``ROS_PACKAGE_PATH``, the package of `file`, and the
    packages in the two folders above it.
    """
    above = list(file.resolve().parents)
    own = next((k for k, folder in enumerate(above) if (folder / MANIFEST).is_file()), None)
    folders = [Path(path) for path in os.environ.get("ROS_PACKAGE_PATH", "").split(":") if path]
    if own is not None:
        folders += above[own : own + 3]
    packages: dict[str, Path] = {}
    for folder in folders:
        for manifest in [folder / MANIFEST, *sorted(folder.glob(f"*/{MANIFEST}"))]:
            if name := package_name(manifest.parent):
                packages.setdefault(name, manifest.parent.resolve())
    return packages


def package_name(folder: Path) -> str:
    """Return the name of the ROS package in a folder, or "" if there is no valid manifest."""
    try:
        return (ElementTree.parse(folder / MANIFEST).findtext("name") or "").strip()
    except (OSError, ElementTree.ParseError):
        return ""


@contextmanager
def installed(packages: dict[str, Path]) -> Iterator[dict[str, str]]:
    """Return a context manager in which the ament index contains source packages.

    Packages that are already in the index have priority. The context manager yields a dictionary
    with the folder of each package by its temporary path, which replaces ``$(find PACKAGE)``.
    """
    before = os.environ.get(PREFIXES)
    with tempfile.TemporaryDirectory(prefix="manip_dyn_") as prefix:
        share = Path(prefix, "share")
        index = share / "ament_index" / "resource_index" / "packages"
        index.mkdir(parents=True)
        for name, folder in packages.items():
            (index / name).touch()
            (share / name).symlink_to(folder)
        os.environ[PREFIXES] = os.pathsep.join(filter(None, [before, prefix]))
        try:
            yield {str(share / name): str(folder) for name, folder in packages.items()}
        finally:
            if before is None:
                del os.environ[PREFIXES]
            else:
                os.environ[PREFIXES] = before
