"""Rules for the elements of a URDF: structure, spelling, meshes, joint limits and friction."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from manip_dyn.inspection import mass_rules
from manip_dyn.inspection.findings import Finding
from manip_dyn.inspection.readings import number, origin_of, triple
from manip_dyn.robot.geometry import find_mesh
from manip_dyn.robot.urdf import (
    INERTIA_KEYS,
    MOVABLE,
    NUMBERS,
    child_of,
    joints_of,
    links_of,
    movable_joints_of,
    parent_of,
    root_links_of,
)


def name_findings(root: Element) -> Iterator[Finding]:
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


def joint_end_findings(root: Element) -> Iterator[Finding]:
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


def tree_findings(root: Element) -> Iterator[Finding]:
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


def joint_type_findings(root: Element) -> Iterator[Finding]:
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


KNOWN = {
    "link": ("inertial", "visual", "collision"),
    "joint": (
        *("origin", "parent", "child", "axis", "calibration", "dynamics", "limit", "mimic"),
        "safety_controller",
    ),
    "inertial": ("origin", "mass", "inertia"),
}
"""Elements of an element that URDF defines; others are extensions, unless nearly one of these."""

NEEDED = {"mass": ("value",), "inertia": INERTIA_KEYS}
"""Attributes without which an element of <inertial> says nothing, or zero."""


def number_findings(root: Element) -> Iterator[Finding]:
    """Yield attributes that are not as many finite numbers as they should be."""
    for kind, owner, element in _elements(root):
        for key, count in NUMBERS.get(element.tag, {}).items():
            text = element.get(key)
            if text is None or _readable(text, count):
                continue
            wanted = f"{count} finite number{'s' if count > 1 else ''}"
            yield Finding("error", kind, owner, f"{element.tag} {key}", f"'{text}'", wanted)


def spelling_findings(root: Element) -> Iterator[Finding]:
    """Yield elements and attributes that are misspelt, and those that are missing."""
    for kind, owner, element in _elements(root):
        known = KNOWN.get(element.tag, ())
        for child in element if known else ():
            near = _near(child.tag, known)
            if near and element.find(near) is None:
                value = f"<{child.tag}>, which every reader skips"
                yield Finding("warning", kind, owner, "element", value, f"<{near}>")
        keys = tuple(NUMBERS.get(element.tag, {}))
        for key in element.attrib if keys else ():
            near = _near(key, keys)
            if near and near not in element.attrib:
                value = f"'{key}' of <{element.tag}>, which every reader skips"
                yield Finding("warning", kind, owner, "attribute", value, f"'{near}'")
        yield from _missing(kind, owner, element)


def _missing(kind: str, owner: str, element: Element) -> Iterator[Finding]:
    """Yield what an <inertial> lacks: readers fill in zeros, or refuse."""
    if element.tag == "inertial":
        for tag in ("mass", "inertia"):
            if element.find(tag) is None:
                yield Finding("error", kind, owner, "inertial", f"no <{tag}>", f"<{tag} .../>")
    lacking = [key for key in NEEDED.get(element.tag, ()) if key not in element.attrib]
    if lacking:
        level = "error" if element.tag == "mass" else "warning"
        value = f"no {', '.join(lacking)}"
        wanted = ", ".join(NEEDED[element.tag])
        yield Finding(level, kind, owner, element.tag, value, wanted, "none is taken for zero")


def _elements(root: Element) -> Iterator[tuple[str, str, Element]]:
    """Yield kind and name of each link and joint with each element inside."""
    for kind in ("link", "joint"):
        for owner in root.findall(kind):
            for element in owner.iter():
                yield kind, owner.get("name", ""), element


def _readable(text: str, count: int) -> bool:
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        return False
    return len(values) == count and all(map(math.isfinite, values))


def _near(word: object, known: tuple[str, ...]) -> str:
    """Return what a word, which is not known, is nearly."""
    if not isinstance(word, str) or word in known:
        return ""
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.75)), "")


def mesh_findings(root: Element, folder: Path | None) -> Iterator[Finding]:
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


DEGREES = (12.7, 1000.0)
"""Limits of hinges between these are taken for degrees: above two turns, below what is none."""
LONGEST = 5.0
"""Distance from joint to joint, m, above which the unit is doubted."""


def limit_findings(root: Element) -> Iterator[Finding]:
    """Yield limits that are missing, zero, in the wrong order or, most likely, in degrees."""
    for name, joint in movable_joints_of(root).items():
        limit = joint.find("limit")
        if limit is None:
            if joint.get("type") != "continuous":
                wanted = "lower, upper, effort and velocity"
                yield Finding("error", "joint", name, "limit", "none", wanted, "state them")
            continue
        for key in ("effort", "velocity"):
            yield from _amount(name, joint, limit, key)
        if joint.get("type") != "continuous":
            yield from _range(name, joint, limit)


def axis_findings(root: Element) -> Iterator[Finding]:
    """Yield axes that are none, not of length 1, or not stated."""
    for name, joint in movable_joints_of(root).items():
        element = joint.find("axis")
        length = float(np.linalg.norm(triple(element, "xyz", "1 0 0")))
        if element is None or element.get("xyz") is None:
            remedy = "state it, if that is not what is meant"
            yield Finding("note", "joint", name, "axis", "none: x by default", "", remedy)
        elif length < 1e-9:
            yield Finding("error", "joint", name, "axis", f"'{element.get('xyz')}'", "a direction")
        elif abs(length - 1.0) > 1e-3:
            value = f"'{element.get('xyz')}', of length {length:.4g}"
            remedy = "taken as a direction here; some readers scale the joint by it"
            yield Finding("warning", "joint", name, "axis", value, "length 1", remedy)


def origin_findings(root: Element) -> Iterator[Finding]:
    """Yield joints that are far from the one before."""
    for name, joint in joints_of(root).items():
        length = math.hypot(*origin_of(joint)[1])
        if length > LONGEST:
            value = f"{length:.4g} m from the parent's"
            remedy = "check the unit: m"
            yield Finding("warning", "joint", name, "origin", value, "below 5 m", remedy)


def _amount(name: str, joint: Element, limit: Element, key: str) -> Iterator[Finding]:
    """Yield an effort or velocity limit that is missing, negative or zero."""
    value, wanted = number(limit, key, math.nan), f"the {key} that it has"
    if limit.get(key) is None:
        if joint.get("type") != "continuous":
            yield Finding("error", "joint", name, f"{key} limit", "none", wanted, "state it")
    elif -math.inf < value < 0.0:
        yield Finding("error", "joint", name, f"{key} limit", f"{value:g}", "above 0")
    elif value == 0.0:
        without = {
            "effort": "no effort can act on it, and no plan move it",
            "velocity": "no plan or track can move it",
        }
        yield Finding("warning", "joint", name, f"{key} limit", "0", wanted, without[key])


def _range(name: str, joint: Element, limit: Element) -> Iterator[Finding]:
    """Yield a position range that is empty, a point or in degrees."""
    lower, upper = number(limit, "lower"), number(limit, "upper")
    value = f"lower {lower:g}, upper {upper:g}"
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return  # told as numbers that are none
    if lower > upper:
        yield Finding("error", "joint", name, "position limits", value, "lower below upper")
    elif lower == upper:
        stated = {"lower", "upper"} & set(limit.attrib)
        value = value if stated else "none, which means 0 to 0"
        remedy = "state the range; a joint without one is continuous, one that is locked fixed"
        yield Finding("warning", "joint", name, "position limits", value, "a range", remedy)
    elif joint.get("type") == "revolute" and any(
        DEGREES[0] < abs(each) < DEGREES[1] for each in (lower, upper)
    ):
        remedy = "these look like degrees"
        yield Finding("warning", "joint", name, "position limits", value, "radians", remedy)


MEANING = {
    "damping": "part of all dynamics here; pinocchio's own algorithms leave it out",
    "friction": "Coulomb friction: simulated and compensated here, not in M, ID and derivatives; "
    "plan_minimum_time refuses it; Drake and pinocchio leave it out",
}


def friction_findings(root: Element) -> Iterator[Finding]:
    """Yield damping and friction that are stated, and what they mean."""
    for name, joint in movable_joints_of(root).items():
        for key, meaning in MEANING.items():
            value = number(joint.find("dynamics"), key)
            unit = _unit(joint, key)
            if not math.isfinite(value):
                continue  # told as a number that is none
            if value < 0.0:
                wanted = "0 or more"
                yield Finding("error", "joint", name, key, f"{value:g} {unit}", wanted)
            elif value > 0.0:
                yield Finding("note", "joint", name, key, f"{value:g} {unit}", "", meaning)


def mimic_findings(root: Element) -> Iterator[Finding]:
    """Yield joints that follow others."""
    known = joints_of(root)
    for name, joint in known.items():
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        leader = mimic.get("joint", "")
        value = f"of '{leader}'"
        if leader not in known:
            wanted = "the name of a joint"
            yield Finding("error", "joint", name, "mimic", f"{value}, which is not there", wanted)
        elif joint.get("type") == "fixed":
            yield Finding("note", "joint", name, "mimic", f"{value}, but it is fixed", "", "")
        else:
            remedy = f"not modelled: lock '{leader}' (and so this one), or set a tip before it"
            yield Finding("error", "joint", name, "mimic", value, "a joint of its own", remedy)


def _unit(joint: Element, key: str) -> str:
    slides = joint.get("type") == "prismatic"
    return {"damping": ("N m s/rad", "N s/m"), "friction": ("N m", "N")}[key][slides]


TREE_RULES = (joint_end_findings, tree_findings)
"""Rules without which a URDF is no tree."""
CONTENT_RULES = (
    name_findings,
    number_findings,
    joint_type_findings,
    spelling_findings,
    mass_rules.missing_mass_findings,
    mass_rules.inertia_findings,
    mass_rules.root_mass_findings,
    limit_findings,
    axis_findings,
    origin_findings,
    friction_findings,
    mimic_findings,
)


def rule_findings(root: Element, folder: Path | None) -> list[Finding]:
    """Return what all rules say of a URDF; of one that is no tree, only why.

    Args:
        root: Its XML.
        folder: Where it lies; None for a text.
    """
    for rule in TREE_RULES:
        broken = list(rule(root))
        if broken:
            return [*name_findings(root), *broken]
    found = [finding for rule in CONTENT_RULES for finding in rule(root)]
    return [*found, *mesh_findings(root, folder)]
