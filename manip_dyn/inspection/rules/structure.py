"""Whether links and joints have names and make one tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from manip_dyn.inspection.parts.finding import Finding
from manip_dyn.robot.tree import MOVABLE, child_of, joints_of, links_of, parent_of, root_links_of


def names(root: Element) -> Iterator[Finding]:
    """Yield what has no name, or that of another."""
    for kind in ("link", "joint"):
        counts = Counter(each.get("name", "") for each in root.findall(kind))
        for name, count in counts.items():
            if not name:
                yield Finding("error", kind, "", "name", "none", "a name", "name it")
            elif count > 1:
                value = f"{count} {kind}s have it"
                yield Finding("error", kind, name, "name", value, "one", "rename the others")
    if not root.findall("link"):
        yield Finding("error", "robot", root.get("name", ""), "links", "none", "one or more")


def ends(root: Element) -> Iterator[Finding]:
    """Yield joints between links that are not there, and links that two joints carry."""
    known, carried = links_of(root), dict[str, str]()
    for name, joint in joints_of(root).items():
        for role, link in (("parent", parent_of(joint)), ("child", child_of(joint))):
            if link not in known:
                yield Finding("error", "joint", name, role, f"'{link}'", "the name of a link")
        child = child_of(joint)
        if child in carried:
            value = f"'{carried[child]}' and '{name}'"
            remedy = "a closed loop is a mechanism: see md.load_mechanism"
            yield Finding("error", "link", child, "parent joints", value, "one", remedy)
        carried[child] = name


def one_tree(root: Element) -> Iterator[Finding]:
    """Yield further roots, and links that no root carries."""
    roots, known = root_links_of(root), links_of(root)
    name = root.get("name", "")
    if len(roots) > 1:
        remedy = "fix all but one of them to others"
        yield Finding("error", "robot", name, "root links", ", ".join(roots), "one", remedy)
    reached, waiting = set[str](), list(roots)
    while waiting:
        reached.update(waiting)
        waiting = [
            child_of(joint)
            for joint in joints_of(root).values()
            if parent_of(joint) in waiting and child_of(joint) not in reached
        ]
    ring = sorted(set(known) - reached)
    if ring:
        value = f"{', '.join(ring)} carry one another"
        yield Finding("error", "robot", name, "tree", value, "a root that carries all links")


def joint_types(root: Element) -> Iterator[Finding]:
    """Yield joints that are not modelled, and a robot that cannot move."""
    modelled = (*MOVABLE, "fixed")
    for name, joint in joints_of(root).items():
        kind = joint.get("type", "none")
        if kind not in modelled:
            remedy = "a tip before it cuts it off, or make it fixed"
            if kind in ("floating", "planar"):
                remedy = f"the base is fixed here: make it fixed, or {remedy.split(',')[0]}"
            yield Finding("error", "joint", name, "type", kind, ", ".join(modelled), remedy)
    if root.findall("link") and not any(
        each.get("type") in MOVABLE for each in root.findall("joint")
    ):
        name = root.get("name", "")
        yield Finding("error", "robot", name, "movable joints", "none", "one or more")
