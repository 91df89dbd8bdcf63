"""The elements of a URDF by name, and how joints connect links."""

from __future__ import annotations

from xml.etree.ElementTree import Element

MOVABLE = ("revolute", "continuous", "prismatic")
"""Joint types with one degree of freedom."""


def links_of(root: Element) -> dict[str, Element]:
    """Return the links by name, in document order."""
    return {link.get("name", ""): link for link in root.findall("link")}


def joints_of(root: Element) -> dict[str, Element]:
    """Return the joints by name, in document order."""
    return {joint.get("name", ""): joint for joint in root.findall("joint")}


def movable_joints_of(root: Element) -> dict[str, Element]:
    """Return the joints that move."""
    return {name: j for name, j in joints_of(root).items() if j.get("type") in MOVABLE}


def parent_of(joint: Element) -> str:
    """Return the name of the joint's parent link."""
    parent = joint.find("parent")
    return "" if parent is None else parent.get("link", "")


def child_of(joint: Element) -> str:
    """Return the name of the joint's child link."""
    child = joint.find("child")
    return "" if child is None else child.get("link", "")


def root_links_of(root: Element) -> list[str]:
    """Return the links that are no joint's child."""
    children = {child_of(joint) for joint in joints_of(root).values()}
    return [name for name in links_of(root) if name not in children]


def path_to(root: Element, link: str) -> list[str]:
    """Return the joint names from the base to `link`."""
    joints = joints_of(root)
    above = {child_of(joint): name for name, joint in joints.items()}
    path: list[str] = []
    while link in above:
        path.insert(0, above[link])
        link = parent_of(joints[path[0]])
    return path
