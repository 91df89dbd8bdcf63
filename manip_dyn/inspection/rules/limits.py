"""Limits of joints, and the directions that they move in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import numpy as np

from manip_dyn.inspection.parts.finding import Finding
from manip_dyn.inspection.parts.stated import number, origin_of, triple
from manip_dyn.robot.tree import joints_of, movable_joints_of

DEGREES = (12.7, 1000.0)
"""Limits of hinges between these are taken for degrees: above two turns, below what is none."""
LONGEST = 5.0
"""Distance from joint to joint, m, above which the unit is doubted."""


def limits(root: Element) -> Iterator[Finding]:
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


def axes(root: Element) -> Iterator[Finding]:
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


def origins(root: Element) -> Iterator[Finding]:
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
