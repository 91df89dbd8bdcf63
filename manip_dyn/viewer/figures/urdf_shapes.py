"""What a URDF draws: its visuals, its collision shapes where a link has none, meshes if found."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Frame, Robot
from manip_dyn.robot.geometry import find_mesh
from manip_dyn.viewer.scene import Colour, Part

Colours = dict[str, tuple[Colour, float]]


def urdf_parts(robot: Robot, meshes: Sequence[str | Path] = ()) -> list[Part]:
    """Return the shapes of all links; what cannot be drawn is left out."""
    root = ElementTree.fromstring(robot.urdf)
    named: Colours = {}
    for material in root.iter("material"):
        named |= _colour(material, {})
    found: list[Part] = []
    for link in root.findall("link"):
        frame = robot.frame(link.get("name", ""))
        for tag in ("visual", "collision"):
            drawn = [_part(each, frame, named, meshes) for each in link.findall(tag)]
            parts = [part for part in drawn if part is not None]
            found += parts
            if parts:
                break
    return found


def _part(
    element: Element, frame: Frame, named: Colours, meshes: Sequence[str | Path]
) -> Part | None:
    shape = element.find("geometry/*")
    if shape is None:
        return None
    file, size = "", np.ones(3)
    if shape.tag == "box":
        size = _numbers(shape, "size", "1 1 1")
    elif shape.tag == "cylinder":
        diameter = 2.0 * float(shape.get("radius", 1.0))
        size = np.array([diameter, diameter, float(shape.get("length", 1.0))])
    elif shape.tag == "sphere":
        size = np.full(3, 2.0 * float(shape.get("radius", 1.0)))
    elif shape.tag == "mesh":
        file = find_mesh(shape.get("filename", ""), meshes)
        size = _numbers(shape, "scale", "1 1 1")
    if shape.tag not in ("box", "cylinder", "sphere") and not file:
        return None
    origin = element.find("origin")
    place = _numbers(origin, "xyz", "0 0 0")
    turn = Rotation.from_euler("xyz", _numbers(origin, "rpy", "0 0 0")).as_matrix()
    colour, opacity = _shade(element.find("material"), named)
    return Part(
        body=frame.body,
        kind=shape.tag,
        position=frame.translation + frame.rotation @ place,
        rotation=frame.rotation @ turn,
        size=size,
        colour=colour,
        opacity=opacity,
        file=file,
    )


def _shade(material: Element | None, named: Colours) -> tuple[Colour | None, float]:
    if material is None:
        return None, 1.0
    own = _colour(material, named)
    return own.get(material.get("name", ""), (None, 1.0))


def _colour(material: Element, named: Colours) -> Colours:
    """Return the colour of a material by its name."""
    name, colour = material.get("name", ""), material.find("color")
    if colour is None:
        return {name: named[name]} if name in named else {}
    red, green, blue, alpha = np.clip(_numbers(colour, "rgba", "0.7 0.7 0.7 1"), 0.0, 1.0)
    return {name: ((round(255 * red), round(255 * green), round(255 * blue)), float(alpha))}


def _numbers(element: Element | None, key: str, without: str) -> Vector:
    text = without if element is None else element.get(key, without)
    return np.array([float(word) for word in text.split()])
