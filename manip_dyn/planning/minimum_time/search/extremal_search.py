"""The search for extremals between one start and goal: from motions on grids to exact ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import SearchSummary
from manip_dyn.planning.minimum_time.extremals.candidate import (
    BEATEN,
    Candidate,
    distinct_motions,
    least_time,
)
from manip_dyn.planning.minimum_time.grids.grid_search import GridSearch
from manip_dyn.planning.minimum_time.grids.slp_iteration import SlpSolution
from manip_dyn.planning.minimum_time.grids.slp_solver import ARRIVED, SlpSolver, slp_solutions
from manip_dyn.planning.minimum_time.search.refined_motion_search import extremal_near_refined
from manip_dyn.planning.minimum_time.search.slp_solution_search import (
    extremal_near_solution,
    possible_structures,
    structure_of,
)
from manip_dyn.planning.minimum_time.search.structure_search import StructureSearch
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.refinement import random_swings, swings
from manip_dyn.planning.transcription.spline import SplineMotion
from manip_dyn.robot import Robot

SLACK = 1.002
"""An SLP solution slower than a certified motion by this ratio is not looked at."""
GRID_SLACK = 1.01
"""The same for a motion on the coarser grid of positions."""
FINE_GRID = 128, 1e-6
"""Cells and barrier of the grid that shows brief arcs."""
AGREE = 1.0005
"""Durations with a smaller ratio are the same."""


class ExtremalSearch:
    """The search for extremals between one start and goal."""

    def __init__(self, robot: Robot, start: Vector, goal: Vector, exhaustive: float = 0.0):
        """Search from rest at `start` (n,) to rest at `goal` (n,), `exhaustive` s longer."""
        self._robot, self._start, self._goal = robot, start, goal
        self._near = StructureSearch(robot, start, goal)
        self._programs = SlpSolver(robot, start, goal)
        self._grid = GridSearch(robot, start, goal)
        self._exhaustive = exhaustive
        self._seen: list[tuple] = []
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
            candidate = extremal_near_refined(self._near, plan.extremal.solved)
            found += [] if candidate is None else [candidate]

    def nearest(self) -> list[Candidate]:
        """Return the extremal whose structure is that of the fastest motion on a grid, if any."""
        distance = float(np.abs(self._goal - self._start).max())
        self._grid.search(swings(self._robot, distance))
        fine = self._fine_grid.solved(self._grid.motions[0].swing) if self._grid.motions else None
        if fine is None:
            return []
        latest, solution = None, fine.as_solution()
        read = structure_of(self._robot, solution)
        for switching in possible_structures(self._robot, solution, read):
            latest = self._near.revised(switching, None, []) or latest
            if latest is not None and latest.holds:
                return [latest]
        return []

    def told(self, found: list[Candidate]) -> SearchSummary:
        """Return what was searched."""
        times = [each.t_final for each in distinct_motions(found)]
        return SearchSummary(
            guesses=self._grid.guesses,
            motions=len(self._grid.motions),
            structures=len(self._near.tried),
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
        read = structure_of(self._robot, solution)
        key = read.key()
        for other, t in self._seen:
            if key == other and abs(duration / t - 1.0) < AGREE - 1.0:
                return
        self._seen.append((key, duration))
        candidate = extremal_near_solution(
            self._near, self._programs, solution, read, self._is_thorough
        )
        if candidate is not None:
            found.append(candidate)
