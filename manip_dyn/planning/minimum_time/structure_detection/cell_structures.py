"""Structures read off efforts in cells, which are bang-bang but for few cells."""

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
"""Jumps within as many cells of a boundary arc are part of it."""
DIP = 0.02
"""Jumps forth and back within less of a cell are noise."""


def detected_structure(
    controls: Vector, duration: float, boundary_arcs: Sequence[BoundaryArc] = ()
) -> Switching:
    """Return the structure nearest to efforts over their limits (cells, n) of equal cells.

    Neighbouring values between the limits become one switch with the same impulse, or two where
    the efforts on both sides are the same; what joints do on boundary arcs is left out.
    """
    cells, n = controls.shape
    h = duration / cells
    begun, rows = [full(1.0)] * n, list[tuple[float, int, Control]]()
    for joint in range(n):
        mine = sorted(arc for arc in boundary_arcs if arc.joint == joint)
        brief = [arc for arc in mine if arc.control.is_contact]
        contacts = [0.5 * (arc.first + arc.last) for arc in brief]
        rows += [(t * h, joint, arc.control) for t, arc in zip(contacts, brief, strict=True)]
        mine = [arc for arc in mine if not arc.control.is_contact]
        begins, ends = [0, *(arc.last for arc in mine)], [*(arc.first for arc in mine), cells]
        for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            if begin >= end:  # an arc from the start, up to the end, or right after another
                if place == 0:
                    begun[joint] = full(mine[0].control.direction)
                if place < len(mine):
                    rows.append((begin * h, joint, mine[place].control))
                continue
            first, times = _switches(controls[begin:end, joint])
            times = _cleared([begin + t for t in times], contacts)
            departure, arrival = begin + 0.1, end - 0.1
            # What is left of a boundary arc in the cells beside it is no switch.
            while place > 0 and times and times[0] < begin + NEAR:
                departure, first = times.pop(0), -first
            while place < len(mine) and times and times[-1] > end - NEAR:
                arrival = times.pop()
            if place == 0:
                begun[joint] = full(first)
            elif first * mine[place - 1].control.direction < 0.0 or not _relieved(
                mine[place - 1], boundary_arcs
            ):
                rows.append((departure * h, joint, full(first)))
            rows += [(t * h, joint, value) for t, value in alternating(first, times)]
            if place < len(mine):
                rows.append((arrival * h, joint, mine[place].control))
    return assembled(begun, rows, duration)


def _relieved(arc: BoundaryArc, boundary_arcs: Sequence[BoundaryArc]) -> bool:
    """Return whether another effort takes the joint over at the end of a boundary arc."""
    kept = arc.control.kept(arc.joint)
    return kept is not None and any(
        each.joint != arc.joint
        and each.first == arc.last
        and each.control.kept(each.joint) == kept
        for each in boundary_arcs
    )


def _cleared(times: list[float], contacts: list[float]) -> list[float]:
    """Return switches without pairs beside contact points, both in cells."""
    for contact in contacts:
        near = [t for t in times if abs(t - contact) < NEAR + 0.5]
        kept = [sum(near) / len(near)] if len(near) % 2 else []
        times = sorted([t for t in times if t not in near] + kept)
    return times


def _switches(u: Vector) -> tuple[float, list[float]]:
    """Return the first sign and the switches, in cells, of one joint's efforts (cells,)."""
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
    """Return where the sign of efforts that are nowhere at a limit changes, in cells."""
    return [float(k) for k in range(1, len(u)) if u[k] * u[k - 1] < 0.0]
