"""Where an effort cannot keep its joint at a limit of position: structures to try.

The joint lifts off then. It leaves the limit with a push, comes back to a contact point while its
effort is full, and lifts off again until the effort is enough to keep it.
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
"""How much earlier a joint leaves, or later it returns, over the time that is too much for it."""
PUSH = 0.1
"""How long the push is, over the same."""
CONTACT = (0.45, 0.2)
"""Where the contact point is, as a share of it."""


class _Weak(NamedTuple):
    """A boundary arc of position with an effort that is too weak for a while.

    Attributes:
        joint: Whose it is.
        control: What its effort does on the arc.
        begin: Of the arc, s.
        end: Of the arc, s.
        first: When the effort gets too weak, s.
        last: When it is enough again, s.
    """

    joint: int
    control: Control
    begin: float
    end: float
    first: float
    last: float


def with_lift_offs(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures that lift off where an effort on a boundary arc of position is too weak."""
    for weak in _weak(along, switching):
        for earlier, share in product(EARLIER, CONTACT):
            yield _lifted(switching, weak, earlier, share)


def _weak(along: Trajectory, switching: Switching) -> Iterator[_Weak]:
    """Yield where efforts are too weak."""
    arcs = switching.arcs()
    for joint in range(along.shares.shape[1]):
        own = [controls[joint] for _, _, controls in arcs]
        for control, places in groupby(range(len(own)), key=own.__getitem__):
            within = list(places)
            here = np.flatnonzero(np.isin(along.arcs, within))
            weak = here[np.abs(along.shares[here, joint]) > FULL_EFFORT]
            if control.is_boundary_arc_of_position and weak.size:
                after = min(weak[-1] + (weak.size == 1), here[-1])
                first, last = along.times[[weak[0], after]].tolist()
                yield _Weak(joint, control, arcs[within[0]][0], arcs[within[-1]][1], first, last)


def _lifted(switching: Switching, weak: _Weak, earlier: float, share: float) -> Switching:
    """Return the structure in which a joint lifts off while its effort is too weak."""
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
    rows.append((weak.first + share * length, joint, contact(side)))
    if returns < weak.end:
        rows.append((returns - PUSH * length, joint, full(-side)))
        rows.append((returns, joint, control))
    return assembled(switching.controls, rows, switching.t_final)
