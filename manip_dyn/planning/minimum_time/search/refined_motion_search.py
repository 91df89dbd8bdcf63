"""The extremal near a motion that was refined on grids."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from manip_dyn.planning.minimum_time.extremals.candidate import Candidate
from manip_dyn.planning.minimum_time.structure_detection.refined_costates import RefinedCostates
from manip_dyn.planning.minimum_time.structure_detection.refined_structures import structures_of
from manip_dyn.planning.minimum_time.structure_repairs.limit_approaches import (
    with_limit_approaches,
)
from manip_dyn.planning.minimum_time.structure_repairs.switch_order import with_swapped_switches
from manip_dyn.planning.transcription.spline import GridSolution

if TYPE_CHECKING:
    from manip_dyn.planning.minimum_time.search.structure_search import StructureSearch

REFINED_TRIES = 24
"""How many structures that a refined motion may have are tried."""


def extremal_near_refined(near: StructureSearch, solved: GridSolution) -> Candidate | None:
    """Return the extremal near a motion that was refined on grids, one that holds if any.

    One that holds but is slower is another motion.
    """
    latest, costates = None, RefinedCostates(near.robot, solved)
    cell = solved.spline.duration / solved.spline.cells
    for each in islice(structures_of(near.robot, solved), REFINED_TRIES):
        read = with_limit_approaches(near.robot, each, near.start, near.goal)
        trail = list[Candidate]()
        for switching in chain([read], with_swapped_switches(read, cell)):
            found = near.revised(switching, costates.guess(switching), trail)
            if found is not None:
                break
        else:
            continue
        latest = latest if found.holds else found
        other = (
            (found if found.holds else None)
            or near.with_released_limits(trail)
            or near.with_lift_offs(trail)
            or near.within_limits(trail)
            or near.with_other_arcs(trail, costates.guess)
        )
        if other is not None and other.t_final <= solved.spline.duration:
            return other
    return latest
