"""Search for extremals between one start and one goal, from grid motions to exact ones."""

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
"""Ratio to the best certified duration above which an SLP solution is skipped."""
GRID_SLACK = 1.01
"""The same ratio for motions on the coarser grid of positions."""
FINE_GRID = 128, 1e-6
"""Number of cells and barrier weight of the grid that resolves brief arcs."""
AGREE = 1.0005
"""Ratio of durations below which they are equal."""


class ExtremalSearch:
    """Search for extremals between one start and one goal."""

    def __init__(self, robot: Robot, start: Vector, goal: Vector, exhaustive: float = 0.0):
        """Prepare motions from rest at `start` (n,) to rest at `goal` (n,).

        `exhaustive` is the additional time for random detours, s.
        """
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
        """Shortest duration of a motion on a grid, corrected by finer grids, s."""
        return min([self._least, *(solution.duration for solution in self._on_grid)])

    def candidates(self, refined: Callable[[], Plan | None]) -> list[Candidate]:
        """Return the candidates in order of computation.

        If no candidate from the first grid is certified, `refined` computes a motion on finer
        grids. If no candidate near that motion is certified either, more structures are tried, and
        more initial guesses if the refinement has not converged.
        """
        candidates = self._candidates(refined)
        self._compare_finer(least_time(candidates))
        return candidates

    def _candidates(self, refined: Callable[[], Plan | None]) -> list[Candidate]:
        candidates: list[Candidate] = []
        distance = float(np.abs(self._goal - self._start).max())
        self._grid.search(swings(self._robot, distance))
        if self._exhaustive > 0.0:
            self._grid.search(random_swings(self._robot, distance), self._exhaustive)
        self._compare_motions(candidates)
        if self._lacks(candidates):
            finer = refined()
            self._add_near_refined(finer, candidates)
            if self._lacks(candidates):
                self._is_thorough = True
                self._seen.clear()
                self._compare_motions(candidates)
            if finer is not None and finer.success:
                return candidates
        batches = slp_solutions(self._robot, self._start, self._goal)
        while self._lacks(candidates):
            batch = next(batches, None)
            if batch is None:
                break
            for solution in sorted(batch, key=lambda solution: solution.duration):
                self._compare(solution, candidates)
        return candidates

    def _compare_motions(self, candidates: list[Candidate]) -> None:
        """Add the extremals near grid motions that may beat the fastest candidate."""
        fastest = self._grid.motions[0] if self._grid.motions else None
        for motion in self._grid.motions:
            if motion.duration > GRID_SLACK * least_time(candidates):
                break
            polished = self._programs.polished(motion.u, motion.duration)
            self._compare(polished, candidates)
            if motion.duration < least_time(candidates) / GRID_SLACK:
                self._least = min(self._least, GRID_SLACK * motion.duration)
                self._compare(motion.as_solution(), candidates)
            if motion is fastest and motion.duration < least_time(candidates) / GRID_SLACK:
                fine = self._fine_grid.solved(motion.swing)
                if fine is not None:
                    self._compare(fine.as_solution(), candidates)

    def _compare_finer(self, least: float) -> None:
        """Solve the programs of a faster solution on finer grids.

        Solutions on the coarser grids violate limits between their nodes, and miss the goal by the
        integration error of a cell.
        """
        for k, solution in enumerate(self._on_grid):
            if BEATEN * solution.duration < least < np.inf:
                finer = self._programs.refined(solution)
                if finer.miss <= ARRIVED:
                    self._on_grid[k] = finer

    def _lacks(self, candidates: list[Candidate]) -> bool:
        """Return whether no certified candidate is as fast as the grid motions."""
        least = least_time(candidates)
        return least > SLACK * self.on_grid or least == np.inf

    def _add_near_refined(self, plan: Plan | None, candidates: list[Candidate]) -> None:
        """Add the extremal near a motion refined on grids, if there is one."""
        if plan is not None and isinstance(plan.extremal, SplineMotion):
            self._least = min(self._least, plan.t_final)
            candidate = extremal_near_refined(self._near, plan.extremal.solved)
            candidates += [] if candidate is None else [candidate]

    def nearest(self) -> list[Candidate]:
        """Return the certified extremal with the structure of the fastest grid motion, if any."""
        distance = float(np.abs(self._goal - self._start).max())
        self._grid.search(swings(self._robot, distance))
        fine = self._fine_grid.solved(self._grid.motions[0].swing) if self._grid.motions else None
        if fine is None:
            return []
        latest, solution = None, fine.as_solution()
        detected = structure_of(self._robot, solution)
        for switching in possible_structures(self._robot, solution, detected):
            latest = self._near.revised(switching, None, []) or latest
            if latest is not None and latest.holds:
                return [latest]
        return []

    def summary(self, candidates: list[Candidate]) -> SearchSummary:
        """Return the summary of the search."""
        times = [candidate.t_final for candidate in distinct_motions(candidates)]
        return SearchSummary(
            guesses=self._grid.guesses,
            motions=len(self._grid.motions),
            structures=len(self._near.tried),
            extremals=len(times),
            second=times[1] if len(times) > 1 else np.inf,
            on_grid=self.on_grid,
        )

    def _compare(self, solution: SlpSolution, candidates: list[Candidate]) -> None:
        """Add the extremal near a solution to the candidates, unless it is slow or known."""
        duration = solution.duration
        if 0.0 < solution.miss <= ARRIVED:
            self._on_grid.append(solution)
        if solution.miss > ARRIVED or duration > SLACK * least_time(candidates):
            return
        detected = structure_of(self._robot, solution)
        key = detected.key()
        for previous_key, t in self._seen:
            if key == previous_key and abs(duration / t - 1.0) < AGREE - 1.0:
                return
        self._seen.append((key, duration))
        candidate = extremal_near_solution(
            self._near, self._programs, solution, detected, self._is_thorough
        )
        if candidate is not None:
            candidates.append(candidate)
