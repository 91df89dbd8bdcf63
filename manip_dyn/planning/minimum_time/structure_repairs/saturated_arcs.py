"""Where an effort between its limits would pass them at an end of its arc: structures to try.

There it is at its limit. A singular arc begins later, or ends earlier. Where an effort takes a
joint at its limit of speed over from another one, or hands it over, the other one keeps the joint
for longer, and meanwhile the effort is at its limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import FULL_EFFORT
from manip_dyn.planning.minimum_time.extremals.controls import full
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory

INSIDE, OUTSIDE = 0.5, 0.1
"""How long an effort is at its limit before and after it would pass it, over that time.

Beside a singular arc S'' is proportional to the effort that it would need less the one that there
is. Where that grows evenly S is zero again after three times the time until it is the limit.
"""


def with_saturated_ends(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures in which efforts that would pass their limits at both ends do not."""
    rows = switching.rows()
    for place, (_, effort, control) in enumerate(rows):
        if not (control.is_singular or control.is_boundary_arc_of_speed):
            continue
        last = _last(switching, place)
        here = np.flatnonzero((along.arcs > place) & (along.arcs <= last))
        shares, times = along.shares[here, effort], along.times[here]
        weak = np.abs(shares) > FULL_EFFORT
        if not weak.any() or weak.all():
            continue
        changed = list(rows)
        if weak[0] and (control.is_singular or _hands_over(switching, place)):
            begin, room = float(times[0]), _passing(times, shares)
            changed[place] = (begin + (1.0 + INSIDE) * room, effort, control)
            changed.append((begin - OUTSIDE * room, effort, full(shares[0])))
        if weak[-1] and last < len(rows):
            t, joint, after = rows[last]
            sign, room = full(shares[-1]), _passing(t - times[::-1], shares[::-1])
            early, late = t - (1.0 + INSIDE) * room, t + OUTSIDE * room
            if control.is_singular and joint == effort:
                changed[last] = (early, effort, sign)
                changed += [] if after == sign else [(late, effort, after)]
            elif _hands_over(switching, last):
                usual = switching.arcs()[last + 1][2][effort]
                brakes = after.brakes if usual == sign else not after.brakes
                changed[last] = (early, joint, replace(after, brakes=brakes))
                changed += [] if usual == sign else [(late, effort, usual)]
        if changed != rows:
            yield assembled(switching.controls, changed, switching.t_final)


def _passing(times: Vector, shares: Vector) -> float:
    """Return how long from the first sample on an effort passes its limit, s."""
    ends = int(np.argmax(np.abs(shares) <= FULL_EFFORT))
    over, under = abs(shares[ends - 1]) - 1.0, 1.0 - abs(shares[ends])
    step = times[ends] - times[ends - 1]
    return float(times[ends - 1] - times[0] + step * over / (over + under))


def _last(switching: Switching, place: int) -> int:
    """Return the last arc in which an effort does what it does since a switch."""
    arcs, effort, last = switching.arcs(), switching.joints[place], place + 1
    while last + 1 < len(arcs) and arcs[last + 1][2][effort] == arcs[place + 1][2][effort]:
        last += 1
    return last


def _hands_over(switching: Switching, place: int) -> bool:
    """Return whether an effort takes a joint over from another one at a switch."""
    joint, held = switching.joints[place], switching.values[place].kept(switching.joints[place])
    before = switching.arcs()[place][2]
    return held is not None and any(
        other != joint and each.kept(other) == held for other, each in enumerate(before)
    )
