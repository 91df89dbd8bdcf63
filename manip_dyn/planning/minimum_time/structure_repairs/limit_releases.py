"""Releases of speed limits with multipliers of the wrong sign.

A limit can only push. If its multiplier has the wrong sign on a boundary arc, the effort that
holds the joint is singular or full instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.planning.minimum_time.extremals.controls import SINGULAR, Control, full
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory

SHORTEST = 0.1
"""Smallest remaining fraction of a boundary arc."""


def with_limit_releases(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures that leave boundary arcs of speed where their limits would pull."""
    arcs = switching.arcs()
    for switch, (effort, value) in enumerate(zip(switching.joints, switching.values, strict=True)):
        if not value.is_boundary_arc_of_speed:
            continue
        joint, side = value.held(effort) or (effort, 0.0)
        here = along.arcs == switch + 1
        force, times = side * along.forces[here, joint], along.times[here]
        pulls = np.flatnonzero(force < 0.0)
        if not pulls.size:
            continue
        begin, end = arcs[switch + 1][0], arcs[switch + 1][1]
        first, last = times[pulls[0]], times[pulls[-1]]
        rest = SHORTEST * (end - begin)
        leave = (max(float(first), begin + rest), effort, SINGULAR)
        if pulls[0] > 0 and pulls[-1] == len(times) - 1:
            if _hands_over(switching, switch):
                later = 0.5 * (leave[0] + end)
                yield _with(switching, leave, (later, effort, full(value.direction)))
                yield _with(switching, (leave[0], effort, full(value.direction)))
            else:
                yield _with(switching, leave)
        elif pulls[0] == 0 and pulls[-1] < len(times) - 1:
            remaining = [row for k, row in enumerate(switching.rows()) if k != switch]
            back = (min(float(last), end - rest), effort, value)
            yield assembled(
                switching.controls,
                [*remaining, (begin, effort, SINGULAR), back],
                switching.t_final,
            )
        elif pulls[0] > 0:
            yield _with(switching, leave, (float(last), effort, value))


def _hands_over(switching: Switching, switch: int) -> bool:
    """Return whether another effort holds the joint after the end of a boundary arc."""
    limit = switching.values[switch].held(switching.joints[switch])
    if switch + 1 == len(switching.joints):
        return False
    return limit == switching.values[switch + 1].held(switching.joints[switch + 1])


def _with(switching: Switching, *rows: tuple[float, int, Control]) -> Switching:
    return assembled(switching.controls, [*switching.rows(), *rows], switching.t_final)
