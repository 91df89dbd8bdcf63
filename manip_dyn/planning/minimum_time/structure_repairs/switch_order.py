"""Order of switches that are too close to be resolved by a grid."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled

NEAR = 0.5
"""Distance in cells below which the order of two switches is uncertain."""


def with_swapped_switches(switching: Switching, cell: float) -> Iterator[Switching]:
    """Yield structures with two neighbouring switches swapped; `cell` is the grid cell, s."""
    rows = switching.rows()
    for k, (first, second) in enumerate(pairwise(rows)):
        is_contact = first[2].is_contact or second[2].is_contact
        if first[1] == second[1] or is_contact or second[0] - first[0] > NEAR * cell:
            continue
        middle, half = 0.5 * (first[0] + second[0]), 0.5 * NEAR * cell
        swapped = [(middle - half, *second[1:]), (middle + half, *first[1:])]
        remaining = rows[:k] + rows[k + 2 :]
        yield assembled(switching.controls, remaining + swapped, switching.t_final)
