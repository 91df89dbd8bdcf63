"""Saturation of efforts that would exceed their limits at an end of an arc.

Such an effort becomes full. A singular arc starts later or ends earlier. At a handover of a joint
at its speed limit, the other effort holds the joint longer while this effort is full.
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
"""Lengths of the full arc on both sides of the switch, over the length of the violation.

Next to a singular arc S'' is proportional to the singular effort minus the actual one. If the
singular effort grows linearly, S is zero again after three times the time to the limit."""


def with_saturated_ends(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures in which efforts that exceed their limits at ends of arcs are full."""
    rows = switching.rows()
    for index, (_, effort, control) in enumerate(rows):
        if not (control.is_singular or control.is_boundary_arc_of_speed):
            continue
        last = _last(switching, index)
        here = np.flatnonzero((along.arcs > index) & (along.arcs <= last))
        loads, times = along.normalized_efforts[here, effort], along.times[here]
        weak = np.abs(loads) > FULL_EFFORT
        if not weak.any() or weak.all():
            continue
        changed = list(rows)
        if weak[0] and (control.is_singular or _hands_over(switching, index)):
            begin, room = float(times[0]), _passing(times, loads)
            changed[index] = (begin + (1.0 + INSIDE) * room, effort, control)
            changed.append((begin - OUTSIDE * room, effort, full(loads[0])))
        if weak[-1] and last < len(rows):
            t, joint, after = rows[last]
            sign, room = full(loads[-1]), _passing(t - times[::-1], loads[::-1])
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


def _passing(times: Vector, loads: Vector) -> float:
    """Return the time, s, for which an effort exceeds its limit from the first sample on."""
    ends = int(np.argmax(np.abs(loads) <= FULL_EFFORT))
    over, under = abs(loads[ends - 1]) - 1.0, 1.0 - abs(loads[ends])
    step = times[ends] - times[ends - 1]
    return float(times[ends - 1] - times[0] + step * over / (over + under))


def _last(switching: Switching, switch: int) -> int:
    """Return the index of the last arc with the control that starts at a switch."""
    arcs, effort, last = switching.arcs(), switching.joints[switch], switch + 1
    while last + 1 < len(arcs) and arcs[last + 1][2][effort] == arcs[switch + 1][2][effort]:
        last += 1
    return last


def _hands_over(switching: Switching, switch: int) -> bool:
    """Return whether a switch is a handover of a joint between two efforts."""
    joint, value = switching.joints[switch], switching.values[switch]
    limit, before = value.held_at_speed(joint), switching.arcs()[switch][2]
    return limit is not None and any(
        effort != joint and control.held_at_speed(effort) == limit
        for effort, control in enumerate(before)
    )
