"""Where joints of refined motions are at limits, and which efforts keep them there.

The multipliers show when a limit presses. An effort between its own limits keeps the joint that is
at one, the joint's own first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import customize
from manip_dyn.planning.minimum_time.extremals.controls import Control, Kind, boundary_control
from manip_dyn.planning.minimum_time.structure_detection.effort_transitions import GAP
from manip_dyn.planning.transcription.spline import GridSolution
from manip_dyn.robot import Robot

NOTHING = 1e-9
"""What an effort adds to a joint's acceleration at least, over what the joint's own one does."""


class AtLimit(NamedTuple):
    """A joint at a limit of one kind from one node to another, pressed most at a third."""

    joint: int
    kind: Kind
    side: float
    first: int
    last: int
    most: int

    @property
    def contact(self) -> Control:
        """What it is if it is brief: a contact point."""
        kind = Kind.CONTACT_POSITION if self.kind == Kind.POSITION else Kind.CONTACT_SPEED
        return Control(kind, self.side)


class Holder(NamedTuple):
    """An effort that keeps a joint from a node on, up to and not including another one."""

    effort: int
    begin: int
    end: int


def at_limits(solved: GridSolution, near: float) -> Iterator[AtLimit]:
    """Yield where joints are at limits: less than `near` of their scale from them."""
    for kind, force in ((Kind.POSITION, solved.place), (Kind.SPEED, solved.speed)):
        for joint, side in product(range(force.shape[1]), (1.0, -1.0)):
            push = side * force[:, joint]
            found = np.flatnonzero(push * near > solved.weight)
            cuts = np.flatnonzero(np.diff(found) > GAP) + 1
            for run in np.split(found, cuts) if found.size else []:
                first, last = int(run[0]), int(run[-1])
                most = first + int(np.argmax(push[first : last + 1]))
                yield AtLimit(joint, kind, side, first, last, most)


def holding_efforts(at: AtLimit, inside: NDArray[np.bool_], brief: int) -> list[Holder]:
    """Return the efforts that keep a joint, one after the other.

    Args:
        at: The joint at its limit.
        inside: Which efforts lie between their limits at the nodes (nodes, n).
        brief: At how many nodes an effort does at least.
    """
    others = [k for k in range(inside.shape[1]) if k != at.joint]
    found: list[list[int]] = []
    for node in range(at.first, at.last + 1):
        between = [k for k in (at.joint, *others) if inside[node, k]]
        if not between:
            continue
        if not found or found[-1][0] not in between:
            found.append([between[0], node, 0])
        found[-1][2] += 1
    kept: list[tuple[int, int]] = []
    for effort, node, nodes in found:
        if nodes >= brief and not (kept and kept[-1][0] == effort):
            kept.append((effort, node))
    if not kept:
        return []
    edges = [at.first, *(node for _, node in kept[1:]), at.last + 1]
    return [Holder(each[0], a, b) for each, (a, b) in zip(kept, pairwise(edges), strict=True)]


def control_of_holder(robot: Robot, solved: GridSolution, at: AtLimit, keeper: Holder) -> Control:
    """Return what an effort does that keeps a joint, at the first of its nodes."""
    time = solved.spline.duration / solved.spline.cells * np.array([keeper.begin])
    q, _, _ = solved.spline.joints(time)
    gains = np.linalg.inv(customize(robot).unchecked.mass_matrix(q[0]))[at.joint]
    gain = gains[keeper.effort]
    gain = gain if abs(gain) > NOTHING * gains[at.joint] else 0.0
    pushes = at.side * float(np.sign(gain))
    return boundary_control(keeper.effort, at.joint, at.side, pushes, at.kind)
