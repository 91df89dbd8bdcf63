"""Meshes of URDFs, read from their files."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix
from manip_dyn.core.errors import ManipDynError
from manip_dyn.viewer.scene import Colour


@cache
def mesh_of(file: str) -> tuple[Matrix, Any, Colour | None]:
    """Return vertices (m, 3), m, faces (f, 3) and the colour of a mesh file, if it has one."""
    import trimesh

    try:
        mesh: Any = trimesh.load(file, force="mesh")
        vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    except Exception as error:  # a reader for each format, with errors of its own
        raise ManipDynError(f"mesh '{file}' cannot be read: {error}") from error
    return vertices, faces, _colour(mesh)


def _colour(mesh: Any) -> Colour | None:
    """Return the colour of most of a mesh; None where its file has none."""
    if not getattr(mesh.visual, "defined", False):
        return None
    red, green, blue = (
        int(each) for each in np.median(mesh.visual.to_color().face_colors, axis=0)[:3]
    )
    return red, green, blue
