"""Contact points of a refined motion with a limit that is held indirectly.

If another joint's effort holds a joint only through the speed of that other joint, it enters the
third derivative of the held position, and the limit is of third order. Before or after the joint
rests at the limit, it may have contact points with it, or several contact points instead of an arc
(Robbins 1980, Journal of Optimization Theory and Applications 31). At contact points the
multipliers on a fine grid have peaks. Next to a boundary arc the effort is singular.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector

APART = 8
"""Minimum number of nodes between two peaks."""
VALLEY = 0.7
"""Largest multiplier between two contact points as a fraction of the lower peak."""
ROOM = 0.15
"""Time between a boundary arc and a contact point or full effort, relative to that between
peaks."""


class ContactPattern(IntEnum):
    """Pattern of contact points and boundary arcs at a limit.

    `ARC` is a boundary arc wherever the multiplier is active.
    """

    ARC = 0
    CONTACTS = 1
    ARC_THEN_CONTACT = 2
    CONTACT_THEN_ARC = 3
    ARC_BETWEEN = 4


class Contacts(NamedTuple):
    """Nodes of contact points, and a boundary arc: first node, and node after the last."""

    contacts: list[int]
    arc: tuple[int, int] | None


def contacts_of(push: Vector, first: int, last: int, pattern: ContactPattern) -> Contacts:
    """Return the contacts between two nodes, from the multipliers of a limit (nodes,)."""
    peaks = _peaks(push, first, last)
    if pattern == ContactPattern.CONTACTS or len(peaks) < 2:
        return Contacts(_separate(push, peaks), None)
    begin, end = peaks[0], peaks[-1]
    margin = round(ROOM * (end - begin))
    if pattern == ContactPattern.ARC_THEN_CONTACT:
        return Contacts([end], (begin, end - margin))
    if pattern == ContactPattern.CONTACT_THEN_ARC:
        return Contacts([begin], (begin + margin, end))
    return Contacts([], (begin + margin, end - margin))


def _peaks(push: Vector, first: int, last: int) -> list[int]:
    """Return the nodes at which the multiplier has a local maximum, at least one."""
    peaks = [
        node
        for node in range(first, last + 1)
        if push[node] == push[max(node - APART, first) : min(node + APART, last) + 1].max()
        and first < node < last
    ]
    return peaks or [first + int(np.argmax(push[first : last + 1]))]


def _separate(push: Vector, peaks: list[int]) -> list[int]:
    """Return the peaks that are separated by valleys."""
    separate = peaks[:1]
    for node in peaks[1:]:
        lower = min(push[node], push[separate[-1]])
        if push[separate[-1] : node + 1].min() < VALLEY * lower:
            separate.append(node)
        elif push[node] > push[separate[-1]]:
            separate[-1] = node
    return separate
