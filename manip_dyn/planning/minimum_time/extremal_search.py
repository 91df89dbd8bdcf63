"""The search for extremals between one start and goal: from motions on grids to exact ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain, islice

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import FORCE, FULL, Searched
from manip_dyn.planning.interior_points.detours import random_swings, swings
from manip_dyn.planning.minimum_time.arcs_at_switches import with_arcs_at_switches
from manip_dyn.planning.minimum_time.boundary_arcs import boundary_arcs_of
from manip_dyn.planning.minimum_time.candidate import (
    BEATEN,
    Candidate,
    different,
    least_time,
    limit_passed,
)
from manip_dyn.planning.minimum_time.close_changes import with_other_order
from manip_dyn.planning.minimum_time.closed_ends import with_closed_ends
from manip_dyn.planning.minimum_time.conditions import certificate
from manip_dyn.planning.minimum_time.contact_arcs import with_arcs_at_contacts
from manip_dyn.planning.minimum_time.controls import Kind
from manip_dyn.planning.minimum_time.grid_search import GridSearch
from manip_dyn.planning.minimum_time.handovers import with_handovers
from manip_dyn.planning.minimum_time.improvement import SlpSolution
from manip_dyn.planning.minimum_time.initial_guesses import CELLS
from manip_dyn.planning.minimum_time.lift_offs import with_lift_offs
from manip_dyn.planning.minimum_time.near_limits import with_ways_to_limits
from manip_dyn.planning.minimum_time.passed_limits import within_limits
from manip_dyn.planning.minimum_time.reading import read_off
from manip_dyn.planning.minimum_time.refined_costates import RefinedCostates
from manip_dyn.planning.minimum_time.refined_reading import structures_of
from manip_dyn.planning.minimum_time.released_limits import with_released_limits
from manip_dyn.planning.minimum_time.revision import revised
from manip_dyn.planning.minimum_time.sampling import trajectory_of
from manip_dyn.planning.minimum_time.saturated_arcs import with_saturated_ends
from manip_dyn.planning.minimum_time.sequential_programs import (
    ARRIVED,
    SequentialPrograms,
    slp_solutions,
)
from manip_dyn.planning.minimum_time.shooting import Shooter
from manip_dyn.planning.minimum_time.singular_arcs import between_limits, near_zero
from manip_dyn.planning.minimum_time.structure import Guess, Switching
from manip_dyn.planning.minimum_time.touched_limits import with_arcs_at_touches
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.solved import Solved
from manip_dyn.planning.transcription.spline_motion import SplineMotion
from manip_dyn.robot import Robot

SLACK = 1.002
"""An SLP solution slower than a certified motion by this ratio is not looked at."""
GRID_SLACK = 1.01
"""The same for a motion on the coarser grid of positions."""
FINE_GRID = 128, 1e-6
"""Cells and barrier of the grid that shows brief arcs."""
AGREE = 1.0005
"""Durations with a smaller ratio are the same."""
REVISIONS = 4
"""How often a structure is changed to what its own switching functions ask for."""
HANDOVERS = 4
"""How many extremals along limits of speed are changed at the ends of their boundary arcs."""
SINGULAR_TRIES, WITH_LIMITS = 10, 4
"""How many structures with a singular arc are tried where no bang-bang one holds; along limits,
where each takes longer."""
REFINED_TRIES = 24
"""How many structures that a refined motion may have are tried."""


class ExtremalSearch:
    """The search for extremals between one start and goal."""

    def __init__(self, robot: Robot, start: Vector, goal: Vector, exhaustive: float = 0.0):
        """Search from rest at `start` (n,) to rest at `goal` (n,), `exhaustive` s longer."""
        self._robot, self._start, self._goal = robot, start, goal
        self._shooter = Shooter(robot, start, goal)
        self._programs = SequentialPrograms(robot, start, goal)
        self._grid = GridSearch(robot, start, goal)
        self._exhaustive = exhaustive
        self._changed, self._tried = set[tuple](), set[tuple]()
        self._seen: list[tuple] = []
        self._structures_tried = set[tuple]()
        self._is_thorough = False
        self._on_grid: list[SlpSolution] = []
        self._least = np.inf

    @cached_property
    def _fine_grid(self) -> GridSearch:
        return GridSearch(self._robot, self._start, self._goal, *FINE_GRID)

    @property
    def on_grid(self) -> float:
        """The least duration on a grid of a motion that is not known to be too fast, s."""
        return min([self._least, *(each.duration for each in self._on_grid)])

    def candidates(self, refined: Callable[[], Plan | None]) -> list[Candidate]:
        """Return the extremals that are worth a comparison, the fastest that holds last.

        Where none that a grid led to holds at once, `refined` is asked for a motion on finer
        grids. Where none near that holds either, more structures are tried, and more initial
        guesses where it has not converged.
        """
        found = self._candidates(refined)
        self._compare_finer(least_time(found))
        return found

    def _candidates(self, refined: Callable[[], Plan | None]) -> list[Candidate]:
        found: list[Candidate] = []
        distance = float(np.abs(self._goal - self._start).max())
        self._grid.search(swings(self._robot, distance))
        if self._exhaustive > 0.0:
            self._grid.search(random_swings(self._robot, distance), self._exhaustive)
        self._compare_motions(found)
        if self._lacks(found):
            finer = refined()
            self._add_near_refined(finer, found)
            if self._lacks(found):
                self._is_thorough = True
                self._seen.clear()
                self._compare_motions(found)
            if finer is not None and finer.success:
                return found
        lots = slp_solutions(self._robot, self._start, self._goal)
        while self._lacks(found):
            lot = next(lots, None)
            if lot is None:
                break
            for solution in sorted(lot, key=lambda each: each.duration):
                self._compare(solution, found)
        return found

    def _compare_motions(self, found: list[Candidate]) -> None:
        """Add the extremals near the motions on the grid that are fast enough."""
        fastest = self._grid.motions[0] if self._grid.motions else None
        for motion in self._grid.motions:
            if motion.duration > GRID_SLACK * least_time(found):
                break
            polished = self._programs.polished(motion.u, motion.duration)
            self._compare(polished, found)
            if motion.duration < least_time(found) / GRID_SLACK:
                self._least = min(self._least, GRID_SLACK * motion.duration)
                self._compare(motion.as_solution(), found)
            if motion is fastest and motion.duration < least_time(found) / GRID_SLACK:
                fine = self._fine_grid.solved(motion.swing)
                if fine is not None:
                    self._compare(fine.as_solution(), found)

    def _compare_finer(self, least: float) -> None:
        """Solve the programs that gave a faster motion on finer grids, where it may not be it.

        Between the nodes of the coarser ones limits are passed, and the goal is missed by what
        integrating over a whole cell costs.
        """
        for place, solution in enumerate(self._on_grid):
            if BEATEN * solution.duration < least < np.inf:
                finer = self._programs.refined(solution)
                if finer.miss <= ARRIVED:
                    self._on_grid[place] = finer

    def _lacks(self, found: list[Candidate]) -> bool:
        """Return whether nothing is certified that is as fast as motions on grids."""
        least = least_time(found)
        return least > SLACK * self.on_grid or least == np.inf

    def _add_near_refined(self, plan: Plan | None, found: list[Candidate]) -> None:
        """Add the extremal near a motion that was refined on grids, if there is one."""
        if plan is not None and isinstance(plan.extremal, SplineMotion):
            self._least = min(self._least, plan.t_final)
            candidate = self.near_refined(plan.extremal.solved)
            found += [] if candidate is None else [candidate]

    def nearest(self) -> list[Candidate]:
        """Return the extremal whose structure is that of the fastest motion on a grid, if any."""
        distance = float(np.abs(self._goal - self._start).max())
        self._grid.search(swings(self._robot, distance))
        fine = self._fine_grid.solved(self._grid.motions[0].swing) if self._grid.motions else None
        if fine is None:
            return []
        latest, solution = None, fine.as_solution()
        for switching in self._structures(solution, self._read_off(solution)):
            latest = self._revised(switching, None, []) or latest
            if latest is not None and latest.holds:
                return [latest]
        return []

    def near_refined(self, solved: Solved) -> Candidate | None:
        """Return the extremal near a motion that was refined on grids, one that holds if any.

        One that holds but is slower is another motion.
        """
        latest, costates = None, RefinedCostates(self._robot, solved)
        cell = solved.spline.duration / solved.spline.cells
        for each in islice(structures_of(self._robot, solved), REFINED_TRIES):
            read = with_ways_to_limits(self._robot, each, self._start, self._goal)
            trail = list[Candidate]()
            for switching in chain([read], with_other_order(read, cell)):
                found = self._revised(switching, costates.guess(switching), trail)
                if found is not None:
                    break
            else:
                continue
            latest = latest if found.holds else found
            other = (
                (found if found.holds else None)
                or self._with_released_limits(trail)
                or self._with_lift_offs(trail)
                or self._within_limits(trail)
                or self._with_other_arcs(trail, costates)
            )
            if other is not None and other.t_final <= solved.spline.duration:
                return other
        return latest

    def _with_other_arcs(
        self, tries: list[Candidate], costates: RefinedCostates
    ) -> Candidate | None:
        """Return an extremal with brief arcs where others near a refined motion lack them."""
        for each in tries:
            along, switching = each.along, each.extremal.switching
            mark = (switching.key(), round(switching.t_final, 7))
            if mark in self._tried:
                continue
            self._tried.add(mark)
            for other in chain(
                with_saturated_ends(along, switching),
                with_arcs_at_contacts(self._robot, along, switching),
                with_arcs_at_switches(self._robot, along, switching),
                with_closed_ends(along, switching),
                with_arcs_at_touches(self._robot, along, switching),
            ):
                found = self._revised(other, costates.guess(other), [])
                if found is not None and found.holds:
                    return found
        return None

    def _with_released_limits(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal that leaves a limit for a while where that would pull."""
        pulling = [each for each in tries if each.certificate.limit_force < FORCE]
        for each in sorted(pulling, key=lambda each: each.certificate.lack)[:1]:
            for switching in with_released_limits(each.along, each.extremal.switching):
                found = self._revised(
                    switching, Guess(each.extremal.costate, each.extremal.jumps), []
                )
                if found is not None and found.holds:
                    return found
        return None

    def told(self, found: list[Candidate]) -> Searched:
        """Return what was searched."""
        times = [each.t_final for each in different(found)]
        return Searched(
            guesses=self._grid.guesses,
            motions=len(self._grid.motions),
            structures=len(self._structures_tried),
            extremals=len(times),
            second=times[1] if len(times) > 1 else np.inf,
            on_grid=self.on_grid,
        )

    def _compare(self, solution: SlpSolution, found: list[Candidate]) -> None:
        """Add the extremal near a solution to those found, if it is worth it and there is one."""
        duration = solution.duration
        if 0.0 < solution.miss <= ARRIVED:
            self._on_grid.append(solution)
        if solution.miss > ARRIVED or duration > SLACK * least_time(found):
            return
        read = self._read_off(solution)
        key = read.key()
        for other, t in self._seen:
            if key == other and abs(duration / t - 1.0) < AGREE - 1.0:
                return
        self._seen.append((key, duration))
        candidate = self._near(solution, read)
        if candidate is not None:
            found.append(candidate)

    def _near(self, solution: SlpSolution, read: Switching) -> Candidate | None:
        """Return the extremal near a solution: bang-bang if that holds, else a singular arc.

        `read` is what is read off it.
        """
        latest = None
        for attempt in range(2):
            if attempt == 1:
                if len(solution.controls) > CELLS:
                    break
                solution = self._programs.refined(solution)
                if solution.miss > ARRIVED:
                    break
                read = self._read_off(solution)
            found, trail = None, list[Candidate]()
            for switching in self._structures(solution, read):
                found = self._revised(switching, None, trail) or found
                if found is not None and found.holds:
                    return found
            latest = found or latest
            found = (
                self._within_limits(trail)
                or self._with_lift_offs(trail)
                or (self._with_handovers(trail) if self._is_thorough else None)
                or self._with_singular_arc(solution, read, found)
            )
            if found is not None:
                return found
        return latest

    def _read_off(self, solution: SlpSolution) -> Switching:
        arcs = boundary_arcs_of(self._robot, solution)
        return read_off(solution.controls, solution.duration, arcs)

    def _structures(self, solution: SlpSolution, read: Switching) -> Iterator[Switching]:
        """Yield the structures that a solution may have, first what is read off it.

        Brief times at limits of position are contact points or boundary arcs, and other efforts
        may keep joints at limits of speed.
        """
        known, contact = [read.key()], Kind.CONTACT_POSITION
        yield read
        for brief, beside in ((Kind.POSITION, None), (contact, 0), (contact, 1)):
            arcs = boundary_arcs_of(self._robot, solution, brief, beside)
            switching = read_off(solution.controls, solution.duration, arcs)
            if switching.key() not in known:
                known.append(switching.key())
                yield switching

    def _revised(
        self, switching: Switching, guess: Guess | None, trail: list[Candidate]
    ) -> Candidate | None:
        """Return the extremal of a structure, changed to what its own conditions ask for.

        All on the way go to `trail`.
        """
        latest = None
        for _ in range(REVISIONS):
            found = self._extremal(switching, guess)
            if found is None:
                return latest
            latest, guess = found, Guess(found.extremal.costate)
            trail.append(found)
            if found.certificate.margin > 0.0 and found.certificate.singular_effort <= FULL:
                return latest
            changed = revised(found.along, found.extremal.switching)
            if changed.key() == switching.key():
                return latest
            switching = changed
        return latest

    def _with_handovers(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal with another end of a boundary arc of speed, if one holds.

        Of the candidates to try that one is changed which lacks least; each only once.
        """
        new: dict[tuple, Candidate] = {}
        for each in tries:
            switching = each.extremal.switching
            new[(switching.key(), round(switching.t_final, 7))] = each
        marks = [mark for mark in new if mark not in self._changed]
        if not marks or len(self._changed) >= HANDOVERS:
            return None
        mark = min(marks, key=lambda each: new[each].certificate.lack)
        self._changed.add(mark)
        best, seen = new[mark], {each.extremal.switching.key() for each in tries}
        for switching in with_handovers(self._robot, best.along, best.extremal.switching):
            if switching.key() in seen:
                continue
            seen.add(switching.key())
            found = self._extremal(switching, Guess(best.extremal.costate))
            if found is not None and found.holds:
                return found
        return None

    def _within_limits(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal that keeps to limits of position and speed where others pass them."""
        passing = [
            each for each in tries if each.passed and each.certificate.singular_effort <= FULL
        ]
        for each in sorted(passing, key=lambda each: each.certificate.lack)[:1]:
            for switching in within_limits(self._robot, each.along, each.extremal.switching):
                more: list[Candidate] = []
                found = self._revised(switching, Guess(each.extremal.costate), more)
                found = found if found is None or found.holds else self._with_lift_offs(more)
                if found is not None and found.holds:
                    return found
        return None

    def _with_lift_offs(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal that lifts off where efforts cannot keep a joint at its limit."""
        weak = [each for each in tries if each.certificate.singular_effort > FULL]
        for each in sorted(weak, key=lambda each: each.certificate.lack)[:1]:
            for switching in with_lift_offs(each.along, each.extremal.switching):
                found = self._revised(switching, Guess(each.extremal.costate), [])
                if found is not None and found.holds:
                    return found
        return None

    def _with_singular_arc(
        self, solution: SlpSolution, read: Switching, latest: Candidate | None
    ) -> Candidate | None:
        """Return the first extremal with a singular arc whose certificate holds, if any."""
        arcs = boundary_arcs_of(self._robot, solution)
        inside = between_limits(solution.controls, read, arcs)
        tries = [(each, solution.costate) for each in inside]
        if latest is not None:
            hints = near_zero(latest.along, latest.extremal.switching)
            tries += [(each, latest.extremal.costate) for each in hints]
        for switching, costate in tries[: WITH_LIMITS if arcs else SINGULAR_TRIES]:
            found = self._revised(switching, Guess(costate), [])
            if found is not None and found.holds:
                return found
        return None

    def _extremal(self, switching: Switching, guess: Guess | None) -> Candidate | None:
        """Return the extremal of a structure with its evidence, if Newton's method finds one."""
        self._structures_tried.add(switching.key())
        extremal = self._shooter.solve(switching, guess)
        if extremal is None:
            return None
        along = trajectory_of(self._shooter.flow, self._start, extremal)
        if along is None:
            return None
        proof = certificate(self._robot, self._goal, extremal, along)
        return Candidate(extremal, along, proof, limit_passed(self._robot, along))
