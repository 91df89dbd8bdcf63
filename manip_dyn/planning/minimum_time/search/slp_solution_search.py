"""Search for extremals near SLP solutions: bang-bang, or with a singular arc."""

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
"""Maximum numbers of structures with a singular arc that are tried if no bang-bang extremal is
certified: without position and speed limits, and with them, where each trial takes longer."""


def structure_of(robot: Robot, solution: SlpSolution) -> Switching:
    """Detect the switching structure of a solution."""
    arcs = boundary_arcs_of(robot, solution)
    return detected_structure(solution.controls, solution.duration, arcs)


def extremal_near_solution(
    search: StructureSearch,
    programs: SlpSolver,
    solution: SlpSolution,
    detected: Switching,
    is_thorough: bool,
) -> Candidate | None:
    """Return the certified bang-bang extremal near a solution, else one with a singular arc.

    Args:
        search: Search for extremals near structures.
        programs: Solver of the solution.
        solution: The solution.
        detected: The structure detected in the solution.
        is_thorough: Whether to change the ends of boundary arcs as well.
    """
    latest = None
    for attempt in range(2):
        if attempt == 1:
            if len(solution.controls) > CELLS:
                break
            solution = programs.refined(solution)
            if solution.miss > ARRIVED:
                break
            detected = structure_of(search.robot, solution)
        candidate, trail = None, list[Candidate]()
        for switching in possible_structures(search.robot, solution, detected):
            candidate = search.revised(switching, None, trail) or candidate
            if candidate is not None and candidate.holds:
                return candidate
        latest = candidate or latest
        candidate = (
            search.within_limits(trail)
            or search.with_lift_offs(trail)
            or (search.with_handovers(trail) if is_thorough else None)
            or _with_singular_arc(search, solution, detected, candidate)
        )
        if candidate is not None:
            return candidate
    return latest


def possible_structures(
    robot: Robot, solution: SlpSolution, detected: Switching
) -> Iterator[Switching]:
    """Yield possible structures of a solution, starting with the detected one.

    Brief intervals at position limits may be contact points or boundary arcs, and other efforts
    may hold joints at speed limits.
    """
    keys, contact = [detected.key()], Kind.CONTACT_POSITION
    yield detected
    for brief, margin in ((Kind.POSITION, None), (contact, 0), (contact, 1)):
        arcs = boundary_arcs_of(robot, solution, brief, margin)
        switching = detected_structure(solution.controls, solution.duration, arcs)
        if switching.key() not in keys:
            keys.append(switching.key())
            yield switching


def _with_singular_arc(
    search: StructureSearch, solution: SlpSolution, detected: Switching, latest: Candidate | None
) -> Candidate | None:
    """Return the first certified extremal with a singular arc, or None."""
    arcs = boundary_arcs_of(search.robot, solution)
    inside = arcs_between_limits(solution.controls, detected, arcs)
    tries = [(switching, solution.costate) for switching in inside]
    if latest is not None:
        hints = arcs_near_zero_switching(latest.trajectory, latest.extremal.switching)
        tries += [(switching, latest.extremal.costate) for switching in hints]
    for switching, costate in tries[: WITH_LIMITS if arcs else SINGULAR_TRIES]:
        candidate = search.revised(switching, Guess(costate), [])
        if candidate is not None and candidate.holds:
            return candidate
    return None
