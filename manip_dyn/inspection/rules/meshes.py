"""Files of meshes that are not found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from manip_dyn.inspection.parts.finding import Finding
from manip_dyn.robot.mesh_file import find_mesh


def meshes(root: Element, folder: Path | None) -> Iterator[Finding]:
    """Yield the links with meshes that are not found: from the URDF's folder, and those above.

    Args:
        root: The URDF.
        folder: Where it lies; None for a text.
    """
    folders = [] if folder is None else [folder, *folder.parents]
    for link in root.findall("link"):
        files = sorted({mesh.get("filename", "") for mesh in link.iter("mesh")})
        lost = [file for file in files if not find_mesh(file, folders)]
        if lost:
            remedy = "nothing is computed from meshes; source the workspace to see them"
            name = link.get("name", "")
            yield Finding("note", "link", name, "mesh", ", ".join(lost), "a file", remedy)
