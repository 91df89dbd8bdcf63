"""Mesh files as surfaces with the colours and textures of their materials."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.interruption import run_uninterrupted

Colour = tuple[int, int, int]
"""Red, green and blue from 0 to 255."""
UNIT = re.compile(rb"<unit\b[^>]*\bmeter\s*=\s*[\"']([^\"']+)[\"']")
"""Pattern of the unit of length, m, in a COLLADA file. RViz applies this unit; trimesh does
not."""
HEADER = 20_000
"""Number of bytes of a COLLADA file that are searched for the unit."""


class Surface(NamedTuple):
    """Part of a mesh file with one material.

    Attributes:
        vertices: Vertices (m, 3), m.
        faces: Indices of vertices (f, 3).
        colour: Colour of the material. None: the file has no colours.
        textured: Trimesh mesh with an image, or with a colour per vertex or face. None for a
            surface of a single colour.
    """

    vertices: Matrix
    faces: Any
    colour: Colour | None
    textured: Any = None


@cache
def surfaces_of(file: str) -> tuple[Surface, ...]:
    """Read a mesh file, one surface for each colour.

    Raises:
        ManipDynError: If the file cannot be read or has no triangles.
    """
    try:
        surfaces = run_uninterrupted(_read, file)  # trimesh suppresses KeyboardInterrupt
    except Exception as error:  # the exceptions depend on the format
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ManipDynError(f"mesh '{file}' cannot be read: {reason.rstrip('.')}.") from error
    if not surfaces:
        raise ManipDynError(f"mesh '{file}' must have triangles, got none.")
    return surfaces


def _read(file: str) -> tuple[Surface, ...]:
    import trimesh

    scene: Any = trimesh.load(file, force="scene")
    meshes = [mesh for mesh in scene.dump() if len(getattr(mesh, "faces", ())) > 0]
    unit = _unit(file)
    for mesh in meshes:
        if unit != 1.0:
            mesh.apply_scale(unit)
    return _merged([_surface(mesh) for mesh in meshes])


def _unit(file: str) -> float:
    if Path(file).suffix.lower() != ".dae":
        return 1.0
    with open(file, "rb") as stream:
        match = UNIT.search(stream.read(HEADER))
    return 1.0 if match is None else float(match[1])


def _surface(mesh: Any) -> Surface:
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    visual = mesh.visual
    if not getattr(visual, "defined", False):
        return Surface(vertices, faces, None)
    material = getattr(visual, "material", None)
    if material is None:  # colours of vertices or faces
        colours = np.unique(np.asarray(visual.face_colors), axis=0)
        return Surface(
            vertices, faces, _rgb(visual.main_color), mesh if len(colours) > 1 else None
        )
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    has_image = image is not None and getattr(visual, "uv", None) is not None
    return Surface(vertices, faces, _rgb(material.main_color), mesh if has_image else None)


def _rgb(colour: Any) -> Colour:
    """Convert a colour of trimesh: integers from 0 to 255, or fractions from 0 to 1."""
    channels = np.asarray(colour)[:3]
    if channels.dtype.kind == "f":
        channels = np.round(255.0 * np.clip(channels, 0.0, 1.0))
    red, green, blue = (int(channel) for channel in channels)
    return red, green, blue


def _merged(surfaces: list[Surface]) -> tuple[Surface, ...]:
    """Join surfaces of the same colour."""
    groups: dict[Colour | None, list[Surface]] = {}
    for surface in surfaces:
        if surface.textured is None:
            groups.setdefault(surface.colour, []).append(surface)
    joined = [_joined(group) for group in groups.values()]
    return (*joined, *(surface for surface in surfaces if surface.textured is not None))


def _joined(group: list[Surface]) -> Surface:
    starts = np.cumsum([0, *(len(surface.vertices) for surface in group)])
    return Surface(
        np.concatenate([surface.vertices for surface in group]),
        np.concatenate([s.faces + start for s, start in zip(group, starts, strict=False)]),
        group[0].colour,
    )
