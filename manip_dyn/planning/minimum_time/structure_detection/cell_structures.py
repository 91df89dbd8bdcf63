"""Structures detected in cell efforts that are bang-bang except in a few cells."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.controls import Control, full
from manip_dyn.planning.minimum_time.extremals.structure import (
    BANG,
    BoundaryArc,
    Switching,
    alternating,
    assembled,
)

NEAR = 1.0
"""Switches within this number of cells of a boundary arc belong to the arc."""
DIP = 0.02
"""Pairs of switches within this fraction of a cell are noise."""


def detected_structure(
    controls: Vector, duration: float, boundary_arcs: Sequence[BoundaryArc] = ()
) -> Switching:
    """Return the structure nearest to normalized efforts (cells, n) on equal cells.

    Adjacent values between the limits become one switch with the same impulse, or two switches if
    the efforts on both sides are equal. Efforts on boundary arcs are ignored.
    """
    cells, n = controls.shape
    h = duration / cells
    initial, rows = [full(1.0)] * n, list[tuple[float, int, Control]]()
    for joint in range(n):
        own_arcs = sorted(arc for arc in boundary_arcs if arc.joint == joint)
        brief = [arc for arc in own_arcs if arc.control.is_contact]
        contacts = [0.5 * (arc.first + arc.last) for arc in brief]
        rows += [(t * h, joint, arc.control) for t, arc in zip(contacts, brief, strict=True)]
        own_arcs = [arc for arc in own_arcs if not arc.control.is_contact]
        begins, ends = (
            [0, *(arc.last for arc in own_arcs)],
            [*(arc.first for arc in own_arcs), cells],
        )
        for interval, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            if begin >= end:  # a boundary arc at the start, at the end, or after another one
                if interval == 0:
                    initial[joint] = full(own_arcs[0].control.direction)
                if interval < len(own_arcs):
                    rows.append((begin * h, joint, own_arcs[interval].control))
                continue
            first, times = _switches(controls[begin:end, joint])
            times = _cleared([begin + t for t in times], contacts)
            departure, arrival = begin + 0.1, end - 0.1
            # The remainder of a boundary arc in the adjacent cells is not a switch.
            while interval > 0 and times and times[0] < begin + NEAR:
                departure, first = times.pop(0), -first
            while interval < len(own_arcs) and times and times[-1] > end - NEAR:
                arrival = times.pop()
            if interval == 0:
                initial[joint] = full(first)
            elif first * own_arcs[interval - 1].control.direction < 0.0 or not _relieved(
                own_arcs[interval - 1], boundary_arcs
            ):
                rows.append((departure * h, joint, full(first)))
            rows += [(t * h, joint, value) for t, value in alternating(first, times)]
            if interval < len(own_arcs):
                rows.append((arrival * h, joint, own_arcs[interval].control))
    return assembled(initial, rows, duration)


def _relieved(arc: BoundaryArc, boundary_arcs: Sequence[BoundaryArc]) -> bool:
    """Return whether another effort holds the joint after the end of a boundary arc."""
    limit = arc.control.held_at_speed(arc.joint)
    return limit is not None and any(
        following.joint != arc.joint
        and following.first == arc.last
        and following.control.held_at_speed(following.joint) == limit
        for following in boundary_arcs
    )


def _cleared(times: list[float], contacts: list[float]) -> list[float]:
    """Remove pairs of switches next to contact points; all are in cells."""
    for contact in contacts:
        near = [t for t in times if abs(t - contact) < NEAR + 0.5]
        remaining = [sum(near) / len(near)] if len(near) % 2 else []
        times = sorted([t for t in times if t not in near] + remaining)
    return times


def _switches(u: Vector) -> tuple[float, list[float]]:
    """Return the initial sign and the switches, in cells, of one joint's efforts (cells,)."""
    full = np.flatnonzero(np.abs(u) >= BANG)
    if full.size == 0:
        return (1.0 if u[0] >= 0.0 else -1.0), _coarse_switches(u)
    times: list[float] = []
    first = float(np.sign(u[full[0]]))
    lead = 0.5 * float((1.0 - first * u[: full[0]]).sum())
    if lead > DIP:
        first, times = -first, [lead]
    signs = np.sign(u).tolist()
    for a, b in itertools.pairwise(full.tolist()):
        before, after = signs[a], signs[b]
        if b == a + 1:
            times += [float(b)] if before != after else []
            continue
        middle = u[a + 1 : b]
        against = 0.5 * (1.0 - before * middle)
        if before != after:
            times.append(float(b - against.sum()))
        elif against.sum() > DIP:
            center = float(a + 1.5 + against @ np.arange(b - a - 1) / against.sum())
            half = 0.5 * float(against.sum())
            times += [center - half, center + half]
    last = full[-1]
    tail = 0.5 * float((1.0 - np.sign(u[last]) * u[last + 1 :]).sum())
    if tail > DIP:
        times.append(len(u) - tail)
    return first, times


def _coarse_switches(u: Vector) -> list[float]:
    """Return the sign changes, in cells, of efforts that never reach a limit."""
    return [float(k) for k in range(1, len(u)) if u[k] * u[k - 1] < 0.0]
