"""Rules for masses and inertias: impossible and implausible values."""

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
from manip_dyn.robot.urdf import (
    child_of,
    joints_of,
    links_of,
    movable_joints_of,
    parent_of,
    path_to,
    root_links_of,
)

SMALLEST = 0.1
"""No part of a robot is taken for smaller than this, m."""


class Extent(NamedTuple):
    """What a link's shapes and the joints on it span, in its own axes.

    Attributes:
        low: Lower corner (3,), m.
        high: Upper corner (3,), m.
        known: Whether that is all: no shape is in a file, and there is one or a joint.
    """

    low: Vector
    high: Vector
    known: bool

    @property
    def size(self) -> float:
        """The diagonal, at least `SMALLEST`, m."""
        return max(math.hypot(*(self.high - self.low)), SMALLEST)

    def distance(self, point: Vector) -> float:
        """Return how far outside a point (3,) is, m."""
        return math.hypot(*(point - np.clip(point, self.low, self.high)))


def extent_of(root: Element, link: str) -> Extent:
    """Return a link's extent."""
    points, files = [np.zeros(3)], False
    for shape in (*links_of(root)[link].iter("visual"), *links_of(root)[link].iter("collision")):
        corners = _corners(shape)
        files |= corners is None
        points += [] if corners is None else corners
    points += [origin_of(each)[1] for each in joints_of(root).values() if parent_of(each) == link]
    spread = np.array([point for point in points if np.all(np.isfinite(point))])
    return Extent(spread.min(axis=0), spread.max(axis=0), not files and len(points) > 1)


def reach_of(root: Element) -> float:
    """Return the length of the longest chain, from joint to joint, strokes included, m."""
    lengths: dict[str, float] = {}
    on = defaultdict(list)
    for joint in joints_of(root).values():
        on[parent_of(joint)].append(joint)

    def longest(link: str) -> float:
        if link not in lengths:
            lengths[link] = 0.0  # of a ring, which is told elsewhere
            lengths[link] = max(
                (_step(each) + longest(child_of(each)) for each in on[link]), default=0
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
    """Return corners (3,) of a visual or collision in the link's axes; None: in a file."""
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
    turn, place = origin_of(shape)
    signs = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
    return [place + turn @ (sign * half) for sign in signs]


DENSEST = 22590.0
"""Density of osmium, which no material exceeds, kg/m^3 (Arblaster 1995)."""


def inertia_findings(root: Element) -> Iterator[Finding]:
    """Yield inertias of moving links that no body has, or none of that size and mass."""
    moving, reach = _moving(root), cache(lambda: reach_of(root))
    for name, link in links_of(root).items():
        mass = mass_of(link)
        if mass is None:
            continue
        if name in moving:
            found = list(_impossible(name, mass, "error"))
            yield from found or _doubtful(root, name, mass, reach)
        else:
            yield from _impossible(name, mass, "note")


def missing_mass_findings(root: Element) -> Iterator[Finding]:
    """Yield joints behind which nothing has mass, and shapes without mass."""
    masses = {name: _stated(link) for name, link in links_of(root).items()}
    for joint in movable_joints_of(root).values():
        group = rigid_group(root, child_of(joint))
        stated = [masses[link] for link in group]
        if group and sum(stated) <= 0.0 <= min(stated):  # one below zero is told by itself
            yield Finding(
                *("error", "link", child_of(joint), "mass", "none, nor has what is fixed to it"),
                "an <inertial> with a mass above 0",
                f"it moves with joint '{joint.get('name')}': give it its mass and inertia",
            )
    for name in _moving(root):
        link = links_of(root)[name]
        if link.find("inertial") is None and link.find("visual") is not None:
            yield Finding("note", "link", name, "inertial", "none, but it has a shape", "", "")


def root_mass_findings(root: Element) -> Iterator[Finding]:
    """Yield a root link with mass, which never moves."""
    for name in root_links_of(root):
        mass = mass_of(links_of(root)[name])
        if mass is not None and mass.mass > 0.0:
            value = f"{mass.mass:g} kg at the fixed base"
            remedy = "without effect; KDL warns of it: put a link without mass before it"
            yield Finding("note", "link", name, "root mass", value, "", remedy)


def rigid_group(root: Element, link: str) -> list[str]:
    """Return a link and all that is rigidly fixed to it."""
    if link not in links_of(root):
        return []
    fixed = [j for j in joints_of(root).values() if j.get("type") == "fixed"]
    below = [child_of(each) for each in fixed if parent_of(each) == link]
    return [link, *(name for each in below for name in rigid_group(root, each))]


def _stated(link: Element) -> float:
    """Return the mass that a link states: zero without <inertial>, NaN if that says nothing."""
    without = 0.0 if link.find("inertial") is None else math.nan
    return number(link.find("inertial/mass"), "value", without)


def _moving(root: Element) -> list[str]:
    movable = movable_joints_of(root)
    return [name for name in links_of(root) if any(j in movable for j in path_to(root, name))]


def _impossible(name: str, mass: Mass, level: str) -> Iterator[Finding]:
    """Yield what no body can be."""
    moments = np.linalg.eigvalsh(mass.inertia)
    slack = 1e-3 * float(np.abs(moments).max()) + 1e-12
    told = f"principal moments {_listed(moments)} kg m^2"
    if mass.mass < 0.0:
        yield Finding(level, "link", name, "mass", f"{mass.mass:g} kg", "0 or more")
    if moments[0] < -slack:
        remedy = "check signs, order and units of ixx to izz"
        yield Finding(level, "link", name, "inertia", told, "none below 0", remedy)
    elif moments[2] > moments[0] + moments[1] + slack:
        remedy = "no distribution of mass has these; compute them from the shape again"
        wanted = "none above the sum of the other two (triangle inequality)"
        yield Finding(level, "link", name, "inertia", told, wanted, remedy)
    elif mass.mass == 0.0 and moments[2] > 0.0:
        level = "warning" if level == "error" else level
        remedy = "add its mass, or take the inertia away"
        yield Finding(level, "link", name, "mass", "0 kg with an inertia", "above 0", remedy)


def _doubtful(
    root: Element, name: str, mass: Mass, reach: Callable[[], float]
) -> Iterator[Finding]:
    """Yield what a body of that mass and size hardly is."""
    if mass.mass == 0.0:
        return
    moments = np.linalg.eigvalsh(mass.inertia)
    told = f"principal moments {_listed(moments)} kg m^2 for {mass.mass:g} kg"
    extent = extent_of(root, name)
    size = 2.0 * extent.size if extent.known else reach()
    wide, ball = math.sqrt(moments[2] / mass.mass), _smallest_ball(mass.mass)
    if wide > size:
        value = f"{told}: a radius of gyration of {wide:.3g} m"
        remedy = "check units: kg m^2, and kg; or is it a placeholder?"
        wanted = f"at most {size:.2g} m, by its shapes and joints"
        yield Finding("warning", "link", name, "inertia", value, wanted, remedy)
    elif 0.5 * np.sum(moments) < ball:
        value = f"{told}: denser than any metal" if moments[2] > 0.0 else f"{told}: a point"
        remedy = "fine for a point mass that is meant; else check units, or fill the inertia in"
        wanted = f"half their sum at least {ball:.2g} (a ball of osmium)"
        yield Finding("warning", "link", name, "inertia", value, wanted, remedy)
    away = extent.distance(mass.com)
    if away > size:
        value = f"{_listed(mass.com)} m, {away:.3g} m outside the link"
        remedy = "check units (m) and the frame: that of the link"
        wanted = f"within {size:.3g} m"
        yield Finding("warning", "link", name, "centre of mass", value, wanted, remedy)


def _smallest_ball(mass: float) -> float:
    """Return the integral of r^2 dm of the densest ball: no body of that mass has less, kg m^2.

    Half the trace of the inertia is that integral, 3/5 m R^2 for a ball of radius R.
    """
    radius = (3.0 * mass / (4.0 * math.pi * DENSEST)) ** (1.0 / 3.0)
    return 0.6 * mass * radius**2


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{each:.4g}" for each in values)
