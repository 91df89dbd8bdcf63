"""Transitions of an effort between arcs, detected in its values at grid nodes."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.controls import Control, full

GAP = 4
"""Maximum gap in nodes between two intervals at a limit that are merged, or around a switch."""
PULSE = 0.25
"""Smallest excursion of an effort from its limit, relative to the range, that is a pulse."""
VISIBLE = 3
"""Minimum number of nodes with a sign for which an effort has this sign between two arcs."""

Transition = tuple[float, Control]
"""Node, possibly fractional, of a transition, and the new control."""


class EffortTransitions:
    """Detects the transitions of one effort between arcs."""

    def __init__(self, normalized_efforts: Vector):
        """Store the normalized efforts at the nodes (nodes,)."""
        self._normalized = normalized_efforts

    def between(self, before: Control, after: Control, end: int, begin: int) -> list[Transition]:
        """Return the transitions between an arc that ends before `end` and one from `begin` on.

        A joint is braked before it comes to rest at a position limit, and pushed off later. At
        speed limits the effort may temporarily have the opposite sign.
        """
        if before == after:
            return self._pulse(before, end, begin)
        if before.is_full and after.is_full:
            return [(self._zero(before.direction, end, begin), after)]
        if not (before.is_indirect or after.is_indirect):
            if before.is_full and after.is_at_limit:
                return self._arrival(before, after, end, begin)
            if after.is_full and before.is_at_limit:
                return self._departure(before, after, end, begin)
        return [(0.5 * (end - 1 + begin), after)]

    def _arrival(self, before: Control, after: Control, end: int, begin: int) -> list[Transition]:
        """Return the transitions from an effort limit to a boundary arc."""
        opposite = full(-before.direction)
        if after.is_boundary_arc_of_position and before == full(after.direction):
            nodes = self._with_sign(opposite, end, begin + GAP + 1)
            first = float(nodes[0]) - 0.5 if nodes.size else begin - GAP
            return [(first, opposite), (max(float(begin), first + 1.0), after)]
        nodes = self._with_sign(opposite, end, begin)
        is_pushed = after.is_boundary_arc_of_speed and opposite == full(after.direction)
        if is_pushed and nodes.size >= VISIBLE:
            return [(nodes[0] - 0.5, opposite), (float(begin), after)]
        return [(0.5 * (end - 1 + begin), after)]

    def _departure(
        self, before: Control, after: Control, end: int, begin: int
    ) -> list[Transition]:
        """Return the transitions from a boundary arc to an effort limit."""
        opposite = full(-after.direction)
        if after == full(before.direction):
            if before.is_boundary_arc_of_position:
                nodes = self._with_sign(opposite, end - GAP, begin + 1)
                first, last = (nodes[0], nodes[-1]) if nodes.size else (end, end + GAP)
                return [(first - 0.5, opposite), (last + 0.5, after)]
            nodes = self._with_sign(opposite, end, begin)
            if nodes.size >= VISIBLE:
                return [(end - 0.5, opposite), (nodes[-1] + 0.5, after)]
        return [(0.5 * (end - 1 + begin), after)]

    def _pulse(self, control: Control, end: int, begin: int) -> list[Transition]:
        """Return the transitions to the opposite limit and back, if there are any."""
        against = 0.5 * (1.0 - control.direction * self._normalized[end:begin])
        if not (control.is_full and against.size and against.max() > PULSE):
            return []
        middle = end + float(against @ np.arange(len(against)) / against.sum())
        half = 0.5 * float(against.sum())
        return [(middle - half, full(-control.direction)), (middle + half, control)]

    def _zero(self, sign: float, end: int, begin: int) -> float:
        """Return the fractional node index at which an effort crosses zero."""
        middle = self._normalized[end - 1 : begin + 1]
        zero = int(np.argmax(middle * sign <= 0.0))
        a, b = abs(middle[zero - 1]), abs(middle[zero])
        return float(end - 2 + zero + a / (a + b))

    def _with_sign(self, control: Control, first: int, end: int) -> Vector:
        """Return the nodes from `first` to `end`, exclusive, at which the effort has a sign."""
        values = control.direction * self._normalized[max(first, 0) : end]
        return np.asarray(max(first, 0) + np.flatnonzero(values > 0.0))
