"""Rules for URDFs: structure, spelling, meshes, and limits, axes, origins and friction of joints.

The rules also include those of `mass_rules`.
"""

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
from manip_dyn.robot.source import VIEW
from manip_dyn.robot.urdf import (
    INERTIA_KEYS,
    MOVABLE,
    NUMBERS,
    child_of,
    joints_of,
    links_of,
    movable_joints_of,
    parent_of,
    resting_position,
    root_links_of,
)


def name_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for missing and duplicate names, and for a robot without links."""
    for kind in ("link", "joint"):
        counts = Counter(element.get("name", "") for element in root.findall(kind))
        for name, count in counts.items():
            if not name:
                yield Finding("error", kind, "", "name", "none", "a name")
            elif count > 1:
                value = f"{count} {kind}s with this name"
                yield Finding("error", kind, name, "name", value, "one", "rename them")
    if not root.findall("link"):
        yield Finding("error", "robot", root.get("name", ""), "links", "none", "one or more")


def joint_end_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for joints with missing links, and for links with two parent joints."""
    links, parents = links_of(root), dict[str, str]()
    for name, joint in joints_of(root).items():
        for role, link in (("parent", parent_of(joint)), ("child", child_of(joint))):
            if link not in links:
                yield Finding("error", "joint", name, role, f"'{link}'", "the name of a link")
        child = child_of(joint)
        if child in parents:
            value = f"'{parents[child]}' and '{name}'"
            remedy = "a closed loop is a mechanism: see md.load_mechanism"
            yield Finding("error", "link", child, "parent joints", value, "one", remedy)
        parents[child] = name


def tree_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for multiple roots, and for links in cycles."""
    roots = root_links_of(root)
    name = root.get("name", "")
    if len(roots) > 1:
        remedy = "connect all but one to other links by fixed joints"
        yield Finding("error", "robot", name, "root links", ", ".join(roots), "one", remedy)
    reachable, waiting = set[str](), list(roots)
    while waiting:
        reachable.update(waiting)
        waiting = [
            child_of(joint)
            for joint in joints_of(root).values()
            if parent_of(joint) in waiting and child_of(joint) not in reachable
        ]
    cycle = sorted(set(links_of(root)) - reachable)
    if cycle:
        value = f"{', '.join(cycle)} form a cycle"
        yield Finding("error", "robot", name, "tree", value, "a tree with one root")


def joint_type_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for joints of unsupported types, and robots without movable joints."""
    supported = (*MOVABLE, "fixed")
    for name, joint in joints_of(root).items():
        kind = joint.get("type", "none")
        if kind not in supported:
            remedy = "make it fixed, or set a tip before it"
            if kind in ("floating", "planar"):
                remedy = f"only robots with a fixed base are supported: {remedy}"
            yield Finding("error", "joint", name, "type", kind, ", ".join(supported), remedy)
    if root.findall("link") and not any(
        joint.get("type") in MOVABLE for joint in root.findall("joint")
    ):
        name = root.get("name", "")
        remedy = f"show the robot without dynamics: {VIEW}"
        yield Finding("error", "robot", name, "movable joints", "none", "one or more", remedy)


ELEMENTS = {
    "link": ("inertial", "visual", "collision"),
    "joint": (
        *("origin", "parent", "child", "axis", "calibration", "dynamics", "limit", "mimic"),
        "safety_controller",
    ),
    "inertial": ("origin", "mass", "inertia"),
}
"""Child elements that URDF defines, by parent. Other elements are extensions or misspelt."""

REQUIRED = {"mass": ("value",), "inertia": INERTIA_KEYS}
"""Required attributes in <inertial>. Most parsers drop the mass of a link without them."""


def number_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for attributes without the required number of finite numbers."""
    for kind, owner, element in _elements(root):
        for key, count in NUMBERS.get(element.tag, {}).items():
            text = element.get(key)
            if text is None or _is_valid(text, count):
                continue
            expected = f"{count} finite number{'s' if count > 1 else ''}"
            yield Finding("error", kind, owner, f"{element.tag} {key}", f"'{text}'", expected)


def spelling_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for misspelt elements and attributes, and for those missing in <inertial>."""
    for kind, owner, element in _elements(root):
        names = ELEMENTS.get(element.tag, ())
        for child in element if names else ():
            match = _close_match(child.tag, names)
            if match and element.find(match) is None:
                value = f"<{child.tag}>, which parsers ignore"
                yield Finding("warning", kind, owner, "element", value, f"<{match}>")
        keys = tuple(NUMBERS.get(element.tag, {}))
        for key in element.attrib if keys else ():
            match = _close_match(key, keys)
            if match and match not in element.attrib:
                value = f"'{key}' of <{element.tag}>, which parsers ignore"
                yield Finding("warning", kind, owner, "attribute", value, f"'{match}'")
        yield from _missing(kind, owner, element)


def _missing(kind: str, owner: str, element: Element) -> Iterator[Finding]:
    if element.tag == "inertial":
        for tag in ("mass", "inertia"):
            if element.find(tag) is None:
                yield Finding("error", kind, owner, "inertial", f"no <{tag}>", f"<{tag} .../>")
    missing = [key for key in REQUIRED.get(element.tag, ()) if key not in element.attrib]
    if missing:
        value = f"no {', '.join(missing)}"
        expected = ", ".join(REQUIRED[element.tag])
        remedy = "most parsers drop the mass"
        yield Finding("error", kind, owner, element.tag, value, expected, remedy)


def _elements(root: Element) -> Iterator[tuple[str, str, Element]]:
    """Yield each element of each link and joint, with the kind and name of its owner."""
    for kind in ("link", "joint"):
        for owner in root.findall(kind):
            for element in owner.iter():
                yield kind, owner.get("name", ""), element


def _is_valid(text: str, count: int) -> bool:
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        return False
    return len(values) == count and all(map(math.isfinite, values))


def _close_match(word: object, names: tuple[str, ...]) -> str:
    """Return the name that is closest to a misspelt word.

    Return "" if none is close or the word is one of the names.
    """
    if not isinstance(word, str) or word in names:
        return ""
    return next(iter(difflib.get_close_matches(word, names, n=1, cutoff=0.75)), "")


def mesh_findings(root: Element, folder: Path | None) -> Iterator[Finding]:
    """Yield notes for links with missing mesh files.

    Args:
        root: Root element of the URDF.
        folder: Folder of the URDF, or None for a URDF string. This folder and its parents are also
            searched for meshes.
    """
    folders = [] if folder is None else [folder, *folder.parents]
    for link in root.findall("link"):
        files = sorted({mesh.get("filename", "") for mesh in link.iter("mesh")})
        missing = [file for file in files if not find_mesh(file, folders)]
        if missing:
            remedy = "meshes are used for display only; source the workspace to find them"
            name = link.get("name", "")
            yield Finding("note", "link", name, "mesh", ", ".join(missing), "a file", remedy)


DEGREES = (12.7, 1000.0)
"""Revolute limits in this range (rad) are probably in degrees."""
PLACEHOLDER = {"effort": 1e5, "velocity": 1e3}
"""Effort (N m or N) and velocity (rad/s or m/s) at and above which a limit is probably a
placeholder."""
MAXIMUM_DISTANCE = 5.0
"""Distance between joints (m) above which the unit is probably wrong."""


def limit_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for limits that are missing, negative, zero, huge, reversed or in degrees."""
    for name, joint in movable_joints_of(root).items():
        limit = joint.find("limit")
        if limit is None:
            if joint.get("type") != "continuous":
                expected = "lower, upper, effort and velocity"
                yield Finding("error", "joint", name, "limit", "none", expected)
            continue
        for key in ("effort", "velocity"):
            yield from _amount(name, joint, limit, key)
        if joint.get("type") != "continuous":
            yield from _range(name, joint, limit)


def axis_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for axes that are zero, not normalized, or missing."""
    for name, joint in movable_joints_of(root).items():
        element = joint.find("axis")
        length = float(np.linalg.norm(triple(element, "xyz", "1 0 0")))
        if element is None or element.get("xyz") is None:
            remedy = "add the axis unless x is intended"
            yield Finding("note", "joint", name, "axis", "none: x by default", "", remedy)
        elif length < 1e-9:
            yield Finding("error", "joint", name, "axis", f"'{element.get('xyz')}'", "a direction")
        elif abs(length - 1.0) > 1e-3:
            value = f"'{element.get('xyz')}', of length {length:.4g}"
            remedy = "normalized here; some parsers scale the joint by its length"
            yield Finding("warning", "joint", name, "axis", value, "length 1", remedy)


def origin_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for joints that are far from the origin of their parent link."""
    for name, joint in joints_of(root).items():
        length = math.hypot(*origin_of(joint)[1])
        if length > MAXIMUM_DISTANCE:
            value = f"{length:.4g} m from the parent"
            remedy = "check the unit (m)"
            yield Finding("warning", "joint", name, "origin", value, "below 5 m", remedy)


def _amount(name: str, joint: Element, limit: Element, key: str) -> Iterator[Finding]:
    """Yield a finding for a limit that is missing, negative, zero or a placeholder."""
    value, expected = number(limit, key, math.nan), f"the {key} of the drive"
    if limit.get(key) is None:
        if joint.get("type") != "continuous":
            yield Finding("error", "joint", name, f"{key} limit", "none", expected)
    elif -math.inf < value < 0.0:
        yield Finding("error", "joint", name, f"{key} limit", f"{value:g}", "above 0")
    elif value == 0.0:
        consequences = {
            "effort": "no effort can act on the joint",
            "velocity": "no plan can move the joint",
        }
        yield Finding("warning", "joint", name, f"{key} limit", "0", expected, consequences[key])
    elif math.inf > value >= PLACEHOLDER[key]:
        remedy = "probably a placeholder: plans are then limited by the other joints only"
        yield Finding("warning", "joint", name, f"{key} limit", f"{value:g}", expected, remedy)


def _range(name: str, joint: Element, limit: Element) -> Iterator[Finding]:
    """Yield a finding if a position range is reversed, a single point, or probably in degrees."""
    lower, upper = number(limit, "lower"), number(limit, "upper")
    value = f"lower {lower:g}, upper {upper:g}"
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return  # reported by number_findings
    if lower > upper:
        yield Finding("error", "joint", name, "position limits", value, "lower below upper")
    elif lower == upper:
        exists = {"lower", "upper"} & set(limit.attrib)
        value = value if exists else "none, which means 0 to 0"
        remedy = "add the range, or make the joint continuous or fixed"
        yield Finding("warning", "joint", name, "position limits", value, "a range", remedy)
    elif joint.get("type") == "revolute" and any(
        DEGREES[0] < abs(bound) < DEGREES[1] for bound in (lower, upper)
    ):
        remedy = "probably degrees"
        yield Finding("warning", "joint", name, "position limits", value, "radians", remedy)


MEANINGS = {
    "damping": "part of all dynamics here; pinocchio's algorithms omit it",
    "friction": "Coulomb friction: simulated and compensated here, not in M, ID and derivatives; "
    "not supported by plan_minimum_time; Drake and pinocchio omit it",
}


def friction_findings(root: Element) -> Iterator[Finding]:
    """Yield notes about damping and friction with their interpretation, and errors if negative."""
    for name, joint in movable_joints_of(root).items():
        for key, meaning in MEANINGS.items():
            value = number(joint.find("dynamics"), key)
            unit = _unit(joint, key)
            if not math.isfinite(value):
                continue  # reported by number_findings
            if value < 0.0:
                yield Finding("error", "joint", name, key, f"{value:g} {unit}", "0 or more")
            elif value > 0.0:
                yield Finding("note", "joint", name, key, f"{value:g} {unit}", "", meaning)


def mimic_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for mimic joints: errors without a leader, notes, warnings about limits."""
    movable = movable_joints_of(root)
    for name, joint in joints_of(root).items():
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        leader = mimic.get("joint", "")
        ratio, offset = number(mimic, "multiplier", 1.0), number(mimic, "offset")
        if joint.get("type") == "fixed":
            value = f"of '{leader}', but the joint is fixed"
            yield Finding("note", "joint", name, "mimic", value, "")
        elif leader not in movable:
            value = f"of '{leader}', which is not a movable joint"
            position = f"{resting_position(joint):g}"
            remedy = f"lock it: --lock {name}={position}"
            yield Finding("error", "joint", name, "mimic", value, "a movable joint", remedy)
        elif not (math.isfinite(ratio) and math.isfinite(offset)):
            continue  # reported by number_findings
        else:
            value = f"{ratio:g} q + {offset:g}, where q is the position of '{leader}'"
            yield Finding("note", "joint", name, "mimic", value, "", "not an independent joint")
            yield from _mimic_limits(joint, movable[leader], ratio, offset)


def _mimic_limits(
    joint: Element, leader: Element, ratio: float, offset: float
) -> Iterator[Finding]:
    """Yield a finding if a mimic joint leaves its limits within those of its leader."""
    limit, range_of = joint.find("limit"), leader.find("limit")
    if (
        limit is None
        or range_of is None
        or "continuous" in (joint.get("type"), leader.get("type"))
    ):
        return
    ends = sorted(ratio * number(range_of, key) + offset for key in ("lower", "upper"))
    lower, upper = number(limit, "lower"), number(limit, "upper")
    slack = 1e-3 * max(upper - lower, 0.0) + 1e-6
    if ends[0] < lower - slack or ends[1] > upper + slack:
        value = f"moves from {ends[0]:.4g} to {ends[1]:.4g}"
        expected = f"within its limits, {lower:.4g} to {upper:.4g}"
        remedy = "limits of mimic joints are not used"
        name = joint.get("name", "")
        yield Finding("warning", "joint", name, "position limits", value, expected, remedy)


def _unit(joint: Element, key: str) -> str:
    is_prismatic = joint.get("type") == "prismatic"
    return {"damping": ("N m s/rad", "N s/m"), "friction": ("N m", "N")}[key][is_prismatic]


TREE_RULES = (joint_end_findings, tree_findings)
"""Rules for the tree structure."""
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
    """Return the findings of all rules. If the URDF is not a tree, apply only structural rules.

    Args:
        root: Root element of the URDF.
        folder: Folder of the URDF, or None for a URDF string.
    """
    for rule in TREE_RULES:
        errors = list(rule(root))
        if errors:
            return [*name_findings(root), *errors]
    findings = [finding for rule in CONTENT_RULES for finding in rule(root)]
    return [*findings, *mesh_findings(root, folder)]
