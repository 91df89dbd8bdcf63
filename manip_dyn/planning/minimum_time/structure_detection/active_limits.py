"""Active limits of refined motions, and the efforts that hold joints at them.

A limit is active where its multiplier is large. A joint at a limit is held by an effort that is
between its own limits, preferably the joint's own effort.
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
"""Smallest relevant acceleration by an effort, relative to that by the joint's own effort."""


class AtLimit(NamedTuple):
    """A joint at a limit from node `first` to node `last`; the multiplier is largest at `most`."""

    joint: int
    kind: Kind
    side: float
    first: int
    last: int
    most: int

    @property
    def contact(self) -> Control:
        """Return the contact point that replaces this interval if it is short."""
        kind = Kind.CONTACT_POSITION if self.kind == Kind.POSITION else Kind.CONTACT_SPEED
        return Control(kind, self.side)


class Holder(NamedTuple):
    """An effort that holds a joint from node `begin` to node `end`, exclusive."""

    effort: int
    begin: int
    end: int


def at_limits(solved: GridSolution, near: float) -> Iterator[AtLimit]:
    """Yield the intervals of joints at limits; `near` is the largest relative distance."""
    for kind, force in ((Kind.POSITION, solved.place), (Kind.SPEED, solved.speed)):
        for joint, side in product(range(force.shape[1]), (1.0, -1.0)):
            push = side * force[:, joint]
            nodes = np.flatnonzero(push * near > solved.weight)
            cuts = np.flatnonzero(np.diff(nodes) > GAP) + 1
            for run in np.split(nodes, cuts) if nodes.size else []:
                first, last = int(run[0]), int(run[-1])
                most = first + int(np.argmax(push[first : last + 1]))
                yield AtLimit(joint, kind, side, first, last, most)


def holding_efforts(at: AtLimit, inside: NDArray[np.bool_], brief: int) -> list[Holder]:
    """Return the efforts that hold a joint, in sequence.

    Args:
        at: The joint at its limit.
        inside: Whether efforts are between their limits at the nodes (nodes, n).
        brief: Smallest number of nodes for which an effort holds the joint.
    """
    others = [k for k in range(inside.shape[1]) if k != at.joint]
    runs: list[list[int]] = []
    for node in range(at.first, at.last + 1):
        between = [k for k in (at.joint, *others) if inside[node, k]]
        if not between:
            continue
        if not runs or runs[-1][0] not in between:
            runs.append([between[0], node, 0])
        runs[-1][2] += 1
    holders: list[tuple[int, int]] = []
    for effort, node, count in runs:
        if count >= brief and not (holders and holders[-1][0] == effort):
            holders.append((effort, node))
    if not holders:
        return []
    edges = [at.first, *(node for _, node in holders[1:]), at.last + 1]
    return [Holder(k, a, b) for (k, _), (a, b) in zip(holders, pairwise(edges), strict=True)]


def control_of_holder(robot: Robot, solved: GridSolution, at: AtLimit, keeper: Holder) -> Control:
    """Return the control of an effort that holds a joint, at the first of its nodes."""
    time = solved.spline.duration / solved.spline.cells * np.array([keeper.begin])
    q, _, _ = solved.spline.joints(time)
    gains = np.linalg.inv(customize(robot).unchecked.mass_matrix(q[0]))[at.joint]
    gain = gains[keeper.effort]
    gain = gain if abs(gain) > NOTHING * gains[at.joint] else 0.0
    pushes = at.side * float(np.sign(gain))
    return boundary_control(keeper.effort, at.joint, at.side, pushes, at.kind)
