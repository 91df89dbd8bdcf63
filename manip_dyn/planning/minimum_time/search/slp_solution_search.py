"""Extremals near nearly optimal motions in cells: bang-bang, else with a singular arc."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from manip_dyn.planning.minimum_time.extremals.candidate import Candidate
from manip_dyn.planning.minimum_time.extremals.controls import Kind
from manip_dyn.planning.minimum_time.extremals.structure import Guess, Switching
from manip_dyn.planning.minimum_time.grids.initial_guesses import CELLS
from manip_dyn.planning.minimum_time.grids.slp_iteration import SlpSolution
from manip_dyn.planning.minimum_time.grids.slp_solver import ARRIVED, SlpSolver
from manip_dyn.planning.minimum_time.structure_detection.boundary_arcs import boundary_arcs_of
from manip_dyn.planning.minimum_time.structure_detection.cell_structures import detected_structure
from manip_dyn.planning.minimum_time.structure_repairs.singular_arcs import (
    arcs_between_limits,
    arcs_near_zero_switching,
)
from manip_dyn.robot import Robot

if TYPE_CHECKING:
    from manip_dyn.planning.minimum_time.search.structure_search import StructureSearch

SINGULAR_TRIES, WITH_LIMITS = 10, 4
"""How many structures with a singular arc are tried where no bang-bang one holds; along limits,
where each takes longer."""


def structure_of(robot: Robot, solution: SlpSolution) -> Switching:
    """Return what is read off a solution."""
    arcs = boundary_arcs_of(robot, solution)
    return detected_structure(solution.controls, solution.duration, arcs)


def extremal_near_solution(
    near: StructureSearch,
    programs: SlpSolver,
    solution: SlpSolution,
    read: Switching,
    is_thorough: bool,
) -> Candidate | None:
    """Return the extremal near a solution: bang-bang if that holds, else a singular arc.

    Args:
        near: Finds extremals.
        programs: What made the solution.
        solution: The solution.
        read: What is read off it.
        is_thorough: Whether ends of boundary arcs are changed, too.
    """
    latest = None
    for attempt in range(2):
        if attempt == 1:
            if len(solution.controls) > CELLS:
                break
            solution = programs.refined(solution)
            if solution.miss > ARRIVED:
                break
            read = structure_of(near.robot, solution)
        found, trail = None, list[Candidate]()
        for switching in possible_structures(near.robot, solution, read):
            found = near.revised(switching, None, trail) or found
            if found is not None and found.holds:
                return found
        latest = found or latest
        found = (
            near.within_limits(trail)
            or near.with_lift_offs(trail)
            or (near.with_handovers(trail) if is_thorough else None)
            or _with_singular_arc(near, solution, read, found)
        )
        if found is not None:
            return found
    return latest


def possible_structures(
    robot: Robot, solution: SlpSolution, read: Switching
) -> Iterator[Switching]:
    """Yield the structures that a solution may have, first what is read off it.

    Brief times at limits of position are contact points or boundary arcs, and other efforts
    may keep joints at limits of speed.
    """
    known, contact = [read.key()], Kind.CONTACT_POSITION
    yield read
    for brief, beside in ((Kind.POSITION, None), (contact, 0), (contact, 1)):
        arcs = boundary_arcs_of(robot, solution, brief, beside)
        switching = detected_structure(solution.controls, solution.duration, arcs)
        if switching.key() not in known:
            known.append(switching.key())
            yield switching


def _with_singular_arc(
    near: StructureSearch, solution: SlpSolution, read: Switching, latest: Candidate | None
) -> Candidate | None:
    """Return the first extremal with a singular arc whose certificate holds, if any."""
    arcs = boundary_arcs_of(near.robot, solution)
    inside = arcs_between_limits(solution.controls, read, arcs)
    tries = [(each, solution.costate) for each in inside]
    if latest is not None:
        hints = arcs_near_zero_switching(latest.along, latest.extremal.switching)
        tries += [(each, latest.extremal.costate) for each in hints]
    for switching, costate in tries[: WITH_LIMITS if arcs else SINGULAR_TRIES]:
        found = near.revised(switching, Guess(costate), [])
        if found is not None and found.holds:
            return found
    return None
