"""When an effort changes from one arc to another, read off its values at the nodes of a grid."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.controls import Control, full

GAP = 4
"""Nodes between two times at a limit that are one, and within which an effort switches."""
PULSE = 0.25
"""How far an effort leaves its limit at least, over the way to the other one, to be there for less
than a singular arc takes."""
VISIBLE = 3
"""Nodes on which an effort has a sign at least, if it has it between two arcs."""

Transition = tuple[float, Control]
"""At which node, or between which ones, an effort changes, and to what."""


class EffortTransitions:
    """Reads the changes of one effort."""

    def __init__(self, shares: Vector):
        """Take its values over its limit at the nodes (nodes,)."""
        self._shares = shares

    def between(self, before: Control, after: Control, end: int, begin: int) -> list[Transition]:
        """Return the changes between an arc that ends before a node and one that begins at one.

        Before a joint comes to rest at a limit of position it is braked, and pushed off when it
        leaves. At limits of speed the effort may have its other sign for a while.
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
        """Return the changes from a limit of effort to a boundary arc."""
        other = full(-before.direction)
        if after.is_boundary_arc_of_position and before == full(after.direction):
            found = self._with_sign(other, end, begin + GAP + 1)
            first = float(found[0]) - 0.5 if found.size else begin - GAP
            return [(first, other), (max(float(begin), first + 1.0), after)]
        found = self._with_sign(other, end, begin)
        is_pushed = after.is_boundary_arc_of_speed and other == full(after.direction)
        if is_pushed and found.size >= VISIBLE:
            return [(found[0] - 0.5, other), (float(begin), after)]
        return [(0.5 * (end - 1 + begin), after)]

    def _departure(
        self, before: Control, after: Control, end: int, begin: int
    ) -> list[Transition]:
        """Return the changes from a boundary arc to a limit of effort."""
        other = full(-after.direction)
        if after == full(before.direction):
            if before.is_boundary_arc_of_position:
                found = self._with_sign(other, end - GAP, begin + 1)
                first, last = (found[0], found[-1]) if found.size else (end, end + GAP)
                return [(first - 0.5, other), (last + 0.5, after)]
            found = self._with_sign(other, end, begin)
            if found.size >= VISIBLE:
                return [(end - 0.5, other), (found[-1] + 0.5, after)]
        return [(0.5 * (end - 1 + begin), after)]

    def _pulse(self, control: Control, end: int, begin: int) -> list[Transition]:
        """Return when an effort leaves its limit for the other one, and comes back, if it does."""
        against = 0.5 * (1.0 - control.direction * self._shares[end:begin])
        if not (control.is_full and against.size and against.max() > PULSE):
            return []
        middle = end + float(against @ np.arange(len(against)) / against.sum())
        half = 0.5 * float(against.sum())
        return [(middle - half, full(-control.direction)), (middle + half, control)]

    def _zero(self, sign: float, end: int, begin: int) -> float:
        """Return at which node, and share of the next cell, an effort passes zero."""
        middle = self._shares[end - 1 : begin + 1]
        zero = int(np.argmax(middle * sign <= 0.0))
        a, b = abs(middle[zero - 1]), abs(middle[zero])
        return float(end - 2 + zero + a / (a + b))

    def _with_sign(self, control: Control, first: int, end: int) -> Vector:
        """Return the nodes from one to before another at which the effort has a sign."""
        values = control.direction * self._shares[max(first, 0) : end]
        return np.asarray(max(first, 0) + np.flatnonzero(values > 0.0))
