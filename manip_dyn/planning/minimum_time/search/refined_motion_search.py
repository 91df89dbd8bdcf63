"""Search for the extremal near a motion refined on grids."""

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
"""Maximum number of structures of a refined motion that are tried."""


def extremal_near_refined(search: StructureSearch, solved: GridSolution) -> Candidate | None:
    """Return the extremal near a motion refined on grids, preferably a certified one.

    A slower certified extremal belongs to another motion and is not returned.
    """
    latest, costates = None, RefinedCostates(search.robot, solved)
    cell = solved.spline.duration / solved.spline.cells
    for structure in islice(structures_of(search.robot, solved), REFINED_TRIES):
        detected = with_limit_approaches(search.robot, structure, search.start, search.goal)
        trail = list[Candidate]()
        for switching in chain([detected], with_swapped_switches(detected, cell)):
            candidate = search.revised(switching, costates.guess(switching), trail)
            if candidate is not None:
                break
        else:
            continue
        latest = latest if candidate.holds else candidate
        certified = (
            (candidate if candidate.holds else None)
            or search.with_limit_releases(trail)
            or search.with_lift_offs(trail)
            or search.within_limits(trail)
            or search.with_other_arcs(trail, costates.guess)
        )
        if certified is not None and certified.t_final <= solved.spline.duration:
            return certified
    return latest
