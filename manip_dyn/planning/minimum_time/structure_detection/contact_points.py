"""Where a refined motion touches a limit of position at which another effort keeps a joint.

Where that effort acts by its own joint's speed only, it enters the third derivative of the kept
joint's position, and the limit is one of third order: before or after the joint rests there it may
touch the limit at contact points, or touch it several times instead (Robbins 1980, Journal of
Optimization Theory and Applications 31). At contact points the multipliers of a fine grid have
peaks. Beside a boundary arc the effort is singular.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector

APART = 8
"""Nodes between two peaks at least."""
VALLEY = 0.7
"""Between two contact points the multiplier falls to this share of the lower peak at least."""
ROOM = 0.15
"""Time between a boundary arc and a contact point, or a full effort, over that between peaks."""


class ContactPattern(IntEnum):
    """What a joint does from its first to its last contact point with a limit.

    `ARC` is on a boundary arc as long as the multiplier is seen.
    """

    ARC = 0
    CONTACTS = 1
    ARC_THEN_CONTACT = 2
    CONTACT_THEN_ARC = 3
    ARC_BETWEEN = 4


class Contacts(NamedTuple):
    """Nodes of contact points, and first node and node after the last of a boundary arc."""

    contacts: list[int]
    arc: tuple[int, int] | None


def contacts_of(push: Vector, first: int, last: int, touching: ContactPattern) -> Contacts:
    """Return how a limit is touched from one node to another, by its multipliers (nodes,)."""
    peaks = _peaks(push, first, last)
    if touching == ContactPattern.CONTACTS or len(peaks) < 2:
        return Contacts(_separate(push, peaks), None)
    begin, end = peaks[0], peaks[-1]
    room = round(ROOM * (end - begin))
    if touching == ContactPattern.ARC_THEN_CONTACT:
        return Contacts([end], (begin, end - room))
    if touching == ContactPattern.CONTACT_THEN_ARC:
        return Contacts([begin], (begin + room, end))
    return Contacts([], (begin + room, end - room))


def _peaks(push: Vector, first: int, last: int) -> list[int]:
    """Return the nodes at which the multiplier is largest around, at least one."""
    found = [
        node
        for node in range(first, last + 1)
        if push[node] == push[max(node - APART, first) : min(node + APART, last) + 1].max()
        and first < node < last
    ]
    return found or [first + int(np.argmax(push[first : last + 1]))]


def _separate(push: Vector, peaks: list[int]) -> list[int]:
    """Return the peaks with valleys between them."""
    kept = peaks[:1]
    for node in peaks[1:]:
        lower = min(push[node], push[kept[-1]])
        if push[kept[-1] : node + 1].min() < VALLEY * lower:
            kept.append(node)
        elif push[node] > push[kept[-1]]:
            kept[-1] = node
    return kept
