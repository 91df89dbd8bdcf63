"""Where an effort cannot keep its joint at a limit of position: structures to try.

The joint lifts off then. It leaves the limit with a push, comes back to a contact point while its
effort is full, and lifts off again until the effort is enough to keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from manip_dyn.planning.certificate import FULL
from manip_dyn.planning.minimum_time.controls import Control, contact, full
from manip_dyn.planning.minimum_time.structure import Switching, assembled
from manip_dyn.planning.minimum_time.trajectory import Trajectory

EARLIER = (2.0, 1.0, 0.5)
"""How much earlier a joint leaves, or later it returns, over the time that is too much for it."""
PUSH = 0.1
"""How long the push is, over the same."""
CONTACT = (0.45, 0.2)
"""Where the contact point is, as a share of it."""


def with_lift_offs(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures that lift off where an effort on a boundary arc of position is too weak."""
    for joint, side, begin, end, first, last in _weak(along, switching):
        for earlier, share in product(EARLIER, CONTACT):
            yield _lifted(switching, joint, side, (begin, end), (first, last), earlier, share)


def _weak(
    along: Trajectory, switching: Switching
) -> Iterator[tuple[int, float, float, float, float, float]]:
    """Yield joint, side, begin and end of a boundary arc, and where its effort is too weak, s."""
    for place, (begin, end, controls) in enumerate(switching.arcs()):
        here = np.flatnonzero(along.arcs == place)
        for joint, control in enumerate(controls):
            weak = here[np.abs(along.shares[here, joint]) > FULL]
            if control.is_boundary_arc_of_position and weak.size and end > begin:
                first, last = along.times[weak[0]], along.times[weak[-1]]
                yield joint, control.direction, begin, end, float(first), float(last)


def _lifted(
    switching: Switching,
    joint: int,
    side: float,
    arc: tuple[float, float],
    weak: tuple[float, float],
    earlier: float,
    share: float,
) -> Switching:
    """Return the structure in which a joint lifts off while its effort is too weak."""
    length = weak[1] - weak[0]
    begun = _begin_of(switching, joint, arc[0])
    ended = _end_of(switching, joint, arc[1])
    rows: list[tuple[float, int, Control]] = [
        row
        for row in switching.rows()
        if not (row[1] == joint and begun <= row[0] <= ended and not row[2].is_contact)
    ]
    after = [row for row in switching.rows() if row[1] == joint and row[0] == ended]
    leaves, returns = weak[0] - earlier * length, weak[1] + earlier * length
    stays_first, stays_last = leaves > begun, returns < ended
    if stays_first:
        rows.append((begun, joint, Control(_kind(switching, joint, begun), side)))
        rows.append((leaves, joint, full(-side)))
        rows.append((leaves + PUSH * length, joint, full(side)))
    else:
        rows.append((begun, joint, full(side)))
    rows.append((weak[0] + share * length, joint, contact(side)))
    if stays_last:
        rows.append((returns - PUSH * length, joint, full(-side)))
        rows.append((returns, joint, Control(_kind(switching, joint, begun), side)))
    return assembled(switching.controls, rows + after[-1:], switching.t_final)


def _begin_of(switching: Switching, joint: int, time: float) -> float:
    """Return when the boundary arc of a joint begins that is on at a time."""
    return max(t for t, value in switching.events(joint) if value.is_boundary_arc_of_position and t <= time)


def _end_of(switching: Switching, joint: int, time: float) -> float:
    """Return when it ends."""
    events = switching.events(joint)
    later = [t for t, value in events if t >= time and not value.is_boundary_arc_of_position]
    return min(later, default=switching.t_final)


def _kind(switching: Switching, joint: int, time: float):
    return next(
        value.kind
        for t, value in switching.events(joint)
        if t == time and value.is_boundary_arc_of_position
    )
