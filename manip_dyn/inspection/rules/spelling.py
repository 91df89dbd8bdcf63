"""Numbers that are none, and words that URDF does not know but nearly."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from manip_dyn.inspection.parts.finding import Finding
from manip_dyn.robot.checks import INERTIA_KEYS, NUMBERS

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


def numbers(root: Element) -> Iterator[Finding]:
    """Yield attributes that are not as many finite numbers as they should be."""
    for kind, owner, element in _elements(root):
        for key, count in NUMBERS.get(element.tag, {}).items():
            text = element.get(key)
            if text is None or _readable(text, count):
                continue
            wanted = f"{count} finite number{'s' if count > 1 else ''}"
            yield Finding("error", kind, owner, f"{element.tag} {key}", f"'{text}'", wanted)


def words(root: Element) -> Iterator[Finding]:
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
