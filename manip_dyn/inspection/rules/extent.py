"""How large links are, as far as a URDF says, and how far its arm reaches."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.inspection.parts.stated import number, origin_of, triple
from manip_dyn.robot.tree import child_of, joints_of, links_of, parent_of

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
