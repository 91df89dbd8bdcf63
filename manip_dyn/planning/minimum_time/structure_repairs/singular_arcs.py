"""Singular arcs for structures with an uncertified bang-bang extremal.

A singular arc appears as a switching function that is nearly zero, or as efforts of a linear
program that are between their limits over several cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.controls import SINGULAR, control_of_sign
from manip_dyn.planning.minimum_time.extremals.structure import (
    BANG,
    BoundaryArc,
    Switching,
    alternating,
    assembled,
)
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory

NEAR_ZERO = (0.01, 0.003, 0.04)
"""Fractions of the largest switching function below which it is nearly zero, in order of trial."""
SHORTEST = 0.02
"""Shortest arc that is tried, as a fraction of the duration."""
RUN = 3
"""Number of consecutive cells between the limits that indicate a singular arc."""


def arcs_near_zero_switching(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures with one singular arc where a switching function is nearly zero."""
    t_final = switching.t_final
    for fraction in NEAR_ZERO:
        for joint in range(along.switching.shape[1]):
            values = along.switching[:, joint] / np.abs(along.switching[:, joint]).max()
            arcs = switching.arcs()
            free = np.array([not controls[joint].is_at_limit for _, _, controls in arcs])
            for first, last in _runs((np.abs(values) < fraction) & free[along.arcs]):
                begin, end = along.times[first], along.times[last]
                lacking = 0.5 * max(SHORTEST * t_final - (end - begin), 0.0)
                yield _replaced(
                    switching,
                    joint,
                    max(begin - lacking, 0.0),
                    min(end + lacking, t_final),
                    float(-np.sign(values[first - 1])) if first > 0 else 0.0,
                    float(-np.sign(values[last + 1])) if last + 1 < len(values) else 0.0,
                )


def arcs_between_limits(
    controls: Vector, switching: Switching, boundary_arcs: Sequence[BoundaryArc] = ()
) -> Iterator[Switching]:
    """Yield structures with one singular arc where efforts (cells, n) are between their limits.

    Boundary arcs are excluded. `switching` is the structure detected from these efforts.
    """
    cells = len(controls)
    h = switching.t_final / cells
    for joint in range(controls.shape[1]):
        u = controls[:, joint]
        inside = np.abs(u) < BANG
        # A single cell at a limit does not end a run.
        inside[1:-1] |= inside[:-2] & inside[2:]
        for arc in boundary_arcs:
            if arc.joint == joint:
                inside[max(arc.first - 1, 0) : arc.last + 1] = False
        for first, last in _runs(inside):
            if last - first + 1 < RUN:
                continue
            before = float(np.sign(u[first - 1])) if first > 0 else 0.0
            after = float(np.sign(u[last + 1])) if last + 1 < cells else 0.0
            yield _replaced(switching, joint, first * h, (last + 1) * h, before, after)


def _replaced(
    switching: Switching, joint: int, begin: float, end: float, before: float, after: float
) -> Switching:
    """Return the structure with a singular arc that replaces the switches of a joint.

    `before` and `after` are the signs of the effort around the arc, 0 at an end of the motion.
    """
    controls, rows = list(switching.controls), []
    for k in range(len(controls)):
        if k != joint:
            rows += [(t, k, value) for t, value in switching.events(k)]
    early = [event for event in switching.events(joint) if event[0] < begin]
    late = [event for event in switching.events(joint) if event[0] > end]
    if switching.has_limits:
        late = late[1:] if late and late[0][1] == control_of_sign(after) else late
    else:
        first = before * (-1.0) ** len(early)
        controls[joint] = control_of_sign(first)
        rows += [(t, joint, value) for t, value in alternating(first, [t for t, _ in early])]
        late = alternating(after, [t for t, _ in late])
    rows += [(t, joint, value) for t, value in early]
    if before != 0.0:
        rows.append((begin, joint, SINGULAR))
    else:
        controls[joint] = SINGULAR
    if after != 0.0:
        rows.append((end, joint, control_of_sign(after)))
    rows += [(t, joint, value) for t, value in late]
    return assembled(controls, rows, switching.t_final)


def _runs(inside: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
