"""Lift-offs for efforts that cannot hold their joints at a position limit.

The joint leaves the limit with a push and returns to a contact point while its effort is full. It
lifts off again until the effort is sufficient to hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, product
from typing import NamedTuple

import numpy as np

from manip_dyn.planning.certificate import FULL_EFFORT
from manip_dyn.planning.minimum_time.extremals.controls import Control, contact, full
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory

EARLIER = (2.0, 1.0, 0.5)
"""Time by which a joint leaves earlier and returns later, relative to the duration of the
violation."""
PUSH = 0.1
"""Length of the push, relative to the same duration."""
CONTACT = (0.45, 0.2)
"""Time of the contact point, relative to the same duration."""


class _Weak(NamedTuple):
    """A boundary arc of position with an insufficient effort.

    Attributes:
        joint: Index of the joint.
        control: Control of the effort on the arc.
        begin: Start of the arc, s.
        end: End of the arc, s.
        first: Start of the violation of the effort limit, s.
        last: End of the violation, s.
    """

    joint: int
    control: Control
    begin: float
    end: float
    first: float
    last: float


def with_lift_offs(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures with a lift-off where an effort is too weak to hold its joint."""
    for weak in _weak(along, switching):
        for earlier, fraction in product(EARLIER, CONTACT):
            yield _lifted(switching, weak, earlier, fraction)


def _weak(along: Trajectory, switching: Switching) -> Iterator[_Weak]:
    """Yield the boundary arcs with insufficient efforts."""
    arcs = switching.arcs()
    for joint in range(along.normalized_efforts.shape[1]):
        own = [controls[joint] for _, _, controls in arcs]
        for control, indices in groupby(range(len(own)), key=own.__getitem__):
            arc_indices = list(indices)
            here = np.flatnonzero(np.isin(along.arcs, arc_indices))
            weak = here[np.abs(along.normalized_efforts[here, joint]) > FULL_EFFORT]
            if control.is_boundary_arc_of_position and weak.size:
                after = min(weak[-1] + (weak.size == 1), here[-1])
                first, last = along.times[[weak[0], after]].tolist()
                yield _Weak(
                    joint, control, arcs[arc_indices[0]][0], arcs[arc_indices[-1]][1], first, last
                )


def _lifted(switching: Switching, weak: _Weak, earlier: float, fraction: float) -> Switching:
    """Return the structure in which a joint lifts off while its effort is insufficient."""
    joint, control, side = weak.joint, weak.control, weak.control.direction
    length = weak.last - weak.first
    leaves, returns = weak.first - earlier * length, weak.last + earlier * length
    rows = [row for row in switching.rows() if not (row[1] == joint and row[2] == control)]
    rows += [
        row
        for row in switching.rows()
        if row[1] == joint and row[2] == control and not weak.begin <= row[0] <= weak.end
    ]
    if leaves > weak.begin:
        rows.append((weak.begin, joint, control))
        rows.append((leaves, joint, full(-side)))
        rows.append((leaves + PUSH * length, joint, full(side)))
    else:
        rows.append((weak.begin, joint, full(side)))
    rows.append((weak.first + fraction * length, joint, contact(side)))
    if returns < weak.end:
        rows.append((returns - PUSH * length, joint, full(-side)))
        rows.append((returns, joint, control))
    return assembled(switching.controls, rows, switching.t_final)
