"""Switches that are too near each other for a grid to show which comes first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled

NEAR = 0.5
"""Cells within which two efforts that change are out of order, perhaps."""


def with_swapped_switches(switching: Switching, cell: float) -> Iterator[Switching]:
    """Yield structures in which two efforts that change within a cell, s, do so the other way."""
    rows = switching.rows()
    for place, (first, second) in enumerate(pairwise(rows)):
        is_contact = first[2].is_contact or second[2].is_contact
        if first[1] == second[1] or is_contact or second[0] - first[0] > NEAR * cell:
            continue
        middle, half = 0.5 * (first[0] + second[0]), 0.5 * NEAR * cell
        swapped = [(middle - half, *second[1:]), (middle + half, *first[1:])]
        others = rows[:place] + rows[place + 2 :]
        yield assembled(switching.controls, others + swapped, switching.t_final)
