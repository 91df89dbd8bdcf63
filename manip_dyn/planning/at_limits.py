"""Where joints stay at limits of position or speed, read off sketches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.planning.sequential import Sketch
from manip_dyn.planning.switching import AT_REST, AT_SPEED, TOUCH, Stay

PRESSED = 1e-3
"""Share of the largest multiplier above which a limit counts."""
GAP = 3
"""Pressed states with less than as many cells between them belong together."""
REST = 2
"""Cells that a stay at a limit of position takes at least, else it is a touch."""


def stays_of(sketch: Sketch, brief: float = TOUCH) -> list[Stay]:
    """Return where the limits of a sketch matter; what `brief` stays at positions are."""
    found, n = [], sketch.controls.shape[1]
    for component in range(2 * n):
        pressure = sketch.pressure[:, component]
        for side in (1.0, -1.0):
            pressed = side * pressure > PRESSED * max(np.abs(pressure).max(), 1e-9)
            for first, last in _groups(np.flatnonzero(pressed)):
                joint = component % n
                kind = AT_REST if last - first >= REST else brief
                if component >= n:
                    kind = AT_SPEED
                found.append(Stay(joint, first, last, side * kind))
    return found


def _groups(nodes: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of nodes that are near each other."""
    for group in np.split(nodes, np.flatnonzero(np.diff(nodes) > GAP) + 1):
        if group.size:
            yield int(group[0]), int(group[-1])
