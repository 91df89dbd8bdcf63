"""A URDF without shapes, whose files other programs would look for."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from xml.etree.ElementTree import Element


def without_shapes(urdf: str) -> Element:
    """Return the root of a URDF without visuals, collision shapes and simulators' plugins."""
    root = ElementTree.fromstring(urdf)
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for shape in link.findall(tag):
                link.remove(shape)
    for tag in ("gazebo", "transmission", "material", "sensor"):
        for element in root.findall(tag):
            root.remove(element)
    return root
