"""Rules that find impossible and implausible masses and inertias.

Plausible values depend on the size of a link, which is derived from its shapes and child joints.
If it has none, or if a shape is a mesh file, the reach of the arm is used instead.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.inspection.findings import Finding
from manip_dyn.inspection.readings import Mass, mass_of, number, origin_of, triple
from manip_dyn.robot.source import VIEW
from manip_dyn.robot.urdf import (
    child_of,
    joints_of,
    links_of,
    movable_joints_of,
    parent_of,
    path_to,
    principal_inertias,
    resting_position,
    root_links_of,
)

SMALLEST = 0.1
"""Minimum size of a link, m."""


class Extent(NamedTuple):
    """Bounding box of a link's origin, shapes and child joints, in the frame of the link.

    Attributes:
        low: Lower corner (3,), m.
        high: Upper corner (3,), m.
        complete: Whether the link has shapes or child joints, and no shape is a mesh file.
    """

    low: Vector
    high: Vector
    complete: bool

    @property
    def size(self) -> float:
        """Length of the diagonal in m, at least `SMALLEST`."""
        return max(math.hypot(*(self.high - self.low)), SMALLEST)

    def distance(self, point: Vector) -> float:
        """Return the distance (m) of a point (3,) from the bounding box, or 0 inside."""
        return math.hypot(*(point - np.clip(point, self.low, self.high)))


def extent_of(root: Element, link: str) -> Extent:
    """Return the bounding box of a link."""
    points, files = [np.zeros(3)], False
    for shape in (*links_of(root)[link].iter("visual"), *links_of(root)[link].iter("collision")):
        corners = _corners(shape)
        files |= corners is None
        points += [] if corners is None else corners
    children = (joint for joint in joints_of(root).values() if parent_of(joint) == link)
    points += [origin_of(joint)[1] for joint in children]
    finite = np.array([point for point in points if np.all(np.isfinite(point))])
    return Extent(finite.min(axis=0), finite.max(axis=0), not files and len(points) > 1)


def reach_of(root: Element) -> float:
    """Return the length (m) of the longest chain of joints, including prismatic strokes.

    The result is at least `SMALLEST`.
    """
    lengths: dict[str, float] = {}
    children = defaultdict(list)
    for joint in joints_of(root).values():
        children[parent_of(joint)].append(joint)

    def longest(link: str) -> float:
        if link not in lengths:
            lengths[link] = 0.0  # stops the recursion in a cycle, which another rule reports
            lengths[link] = max(
                (_step(joint) + longest(child_of(joint)) for joint in children[link]), default=0
            )
        return lengths[link]

    return max([SMALLEST, *map(longest, links_of(root))])


def _step(joint: Element) -> float:
    limit, stroke = joint.find("limit"), 0.0
    if joint.get("type") == "prismatic":
        stroke = max(abs(number(limit, "lower")), abs(number(limit, "upper")))
    length = math.hypot(*origin_of(joint)[1]) + stroke
    return length if np.isfinite(length) else 0.0


def _corners(shape: Element) -> list[Vector] | None:
    """Return the corners (3,) of the bounding box of a shape, in the frame of its link.

    The caps of a capsule are ignored. The result is None for other shapes, such as mesh files, and
    empty without a geometry.
    """
    body = shape.find("geometry/*")
    if body is None:
        return []
    if body.tag == "box":
        half = 0.5 * triple(body, "size")
    elif body.tag in ("cylinder", "sphere", "capsule"):
        radius = number(body, "radius")
        half = np.full(3, radius)
        half[2] = radius if body.tag == "sphere" else 0.5 * number(body, "length")
    else:
        return None
    rotation, origin = origin_of(shape)
    signs = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
    return [origin + rotation @ (sign * half) for sign in signs]


DENSEST = 22590.0
"""Density of osmium, the densest element, kg/m^3 (Arblaster 1995)."""


def inertia_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for impossible masses and inertias, and for implausible moving links.

    A link is implausible if its inertia or its centre of mass does not match its mass and size.
    """
    moving, reach = _moving(root), cache(lambda: reach_of(root))
    for name, link in links_of(root).items():
        mass = mass_of(link)
        if mass is None:
            continue
        if name in moving:
            impossible = list(_impossible(name, mass, "error"))
            yield from impossible or _implausible(root, name, mass, reach)
        else:
            yield from _impossible(name, mass, "note")


def missing_mass_findings(root: Element) -> Iterator[Finding]:
    """Yield findings for joints that move no mass, and for links without <inertial>.

    The latter are notes, and only for moving links with a visual shape.
    """
    masses = {name: _mass_value(link) for name, link in links_of(root).items()}
    massless = []
    for joint in movable_joints_of(root).values():
        group = rigid_group(root, child_of(joint))
        values = [masses[link] for link in group]
        if group and sum(values) <= 0.0 <= min(values):  # another rule reports negative masses
            massless.append(joint)
    shown_only = len(massless) == len(movable_joints_of(root))
    for joint in massless:
        name = joint.get("name")
        lock = f"or lock the joint: --lock {name}={resting_position(joint):g}"
        yield Finding(
            *("error", "link", child_of(joint), "mass", "none, also of links fixed to it"),
            "an <inertial> with a mass above 0",
            f"it moves with joint '{name}': add mass and inertia, "
            + (f"or show the robot without them: {VIEW}" if shown_only else lock),
        )
    for name in _moving(root):
        link = links_of(root)[name]
        if link.find("inertial") is None and link.find("visual") is not None:
            yield Finding(
                "note", "link", name, "inertial", "none, but the link has a shape", "", ""
            )


def root_mass_findings(root: Element) -> Iterator[Finding]:
    """Yield notes for root links with mass, which has no effect at a fixed base."""
    for name in root_links_of(root):
        mass = mass_of(links_of(root)[name])
        if mass is not None and mass.mass > 0.0:
            value = f"{mass.mass:g} kg at the fixed base"
            remedy = "without effect; for KDL, add a massless root link"
            yield Finding("note", "link", name, "root mass", value, "", remedy)


def rigid_group(root: Element, link: str) -> list[str]:
    """Return a link and its descendants through fixed joints; [] if there is no such link."""
    if link not in links_of(root):
        return []
    fixed = [j for j in joints_of(root).values() if j.get("type") == "fixed"]
    children = [child_of(joint) for joint in fixed if parent_of(joint) == link]
    return [link, *(name for child in children for name in rigid_group(root, child))]


def _mass_value(link: Element) -> float:
    """Return the mass of a link: 0 without <inertial>, NaN if the mass is missing or invalid."""
    default = 0.0 if link.find("inertial") is None else math.nan
    return number(link.find("inertial/mass"), "value", default)


def _moving(root: Element) -> list[str]:
    movable = movable_joints_of(root)
    return [name for name in links_of(root) if any(j in movable for j in path_to(root, name))]


def _impossible(name: str, mass: Mass, level: str) -> Iterator[Finding]:
    """Yield findings for an impossible mass or inertia, including an inertia without mass."""
    moments, slack = principal_inertias(mass.inertia)
    value = f"principal moments {_listed(moments)} kg m^2"
    if mass.mass < 0.0:
        yield Finding(level, "link", name, "mass", f"{mass.mass:g} kg", "0 or more")
    if moments[0] < -slack:
        remedy = "check signs, order and units of ixx to izz"
        yield Finding(level, "link", name, "inertia", value, "none below 0", remedy)
    elif moments[2] > moments[0] + moments[1] + slack:
        remedy = "no mass distribution has these; compute them from the shape again"
        expected = "none above the sum of the other two (triangle inequality)"
        level = "warning" if level == "error" else level
        yield Finding(level, "link", name, "inertia", value, expected, remedy)
    elif mass.mass == 0.0 and moments[2] > 0.0:
        level = "warning" if level == "error" else level
        remedy = "add its mass, or remove the inertia"
        yield Finding(level, "link", name, "mass", "0 kg with an inertia", "above 0", remedy)


def _implausible(
    root: Element, name: str, mass: Mass, reach: Callable[[], float]
) -> Iterator[Finding]:
    """Yield findings for an inertia or centre of mass that does not match the mass and size."""
    if mass.mass == 0.0:
        return
    moments = np.linalg.eigvalsh(mass.inertia)
    summary = f"principal moments {_listed(moments)} kg m^2 for {mass.mass:g} kg"
    extent = extent_of(root, name)
    size = 2.0 * extent.size if extent.complete else reach()
    radius, ball = math.sqrt(moments[2] / mass.mass), _smallest_ball(mass.mass)
    if radius > size:
        value = f"{summary}: a radius of gyration of {radius:.3g} m"
        remedy = "check units (kg m^2 and kg), or replace the placeholder"
        expected = f"at most {size:.2g} m, by its shapes and joints"
        yield Finding("warning", "link", name, "inertia", value, expected, remedy)
    elif 0.5 * np.sum(moments) < ball:
        kind = "denser than any metal" if moments[2] > 0.0 else "a point mass"
        remedy = "check units, or add the inertia, unless a point mass is intended"
        expected = f"half their sum at least {ball:.2g} (a ball of osmium)"
        value = f"{summary}: {kind}"
        yield Finding("warning", "link", name, "inertia", value, expected, remedy)
    distance = extent.distance(mass.com)
    if distance > size:
        value = f"{_listed(mass.com)} m, {distance:.3g} m outside the link"
        remedy = "check the unit (m) and the frame (that of the link)"
        expected = f"within {size:.3g} m"
        yield Finding("warning", "link", name, "centre of mass", value, expected, remedy)


def _smallest_ball(mass: float) -> float:
    """Return the smallest possible integral of r^2 dm (kg m^2) for a mass (kg).

    It is that of a ball of the densest material, 3/5 m R^2. The integral is half the trace of the
    inertia.
    """
    radius = (3.0 * mass / (4.0 * math.pi * DENSEST)) ** (1.0 / 3.0)
    return 0.6 * mass * radius**2


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
