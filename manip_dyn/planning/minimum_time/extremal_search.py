"""Search for the extremal near a motion on a grid: detection, shooting, revision and repairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import FULL_EFFORT
from manip_dyn.planning.minimum_time.budget import Budget
from manip_dyn.planning.minimum_time.convergence import GuessedCostates
from manip_dyn.planning.minimum_time.detection import structures_of
from manip_dyn.planning.minimum_time.extremals import Candidate, certificate, violated_limit
from manip_dyn.planning.minimum_time.flow import trajectory_of
from manip_dyn.planning.minimum_time.refinement import CELLS
from manip_dyn.planning.minimum_time.repairs import repaired, revised, with_limit_approaches
from manip_dyn.planning.minimum_time.shooting import MOST_SHOTS, Shooter
from manip_dyn.planning.minimum_time.splines import GridSolution
from manip_dyn.planning.minimum_time.structures import Guess, Switching
from manip_dyn.robot import Robot

TRIES = {CELLS[0]: (1, 16), CELLS[1]: (2, 24), CELLS[2]: (24, MOST_SHOTS)}
"""Maximum numbers of structures per grid and of shots per structure."""
MOST_SWITCHES = 20
"""Maximum number of switches of a structure that is tried."""
REVISIONS = 4
"""Maximum number of revisions of a structure by its own switching functions."""


class ExtremalSearch:
    """Search for extremals between one start and one goal.

    Attributes:
        tried: Structures for which Newton's method was started.
        candidates: All extremals, in order of computation.
    """

    def __init__(self, robot: Robot, start: Vector, goal: Vector, budget: Budget):
        """Prepare motions from rest at `start` (n,) to rest at `goal` (n,)."""
        self._robot, self._start, self._goal = robot, start, goal
        self._budget, self._shooter = budget, Shooter(robot, start, goal, budget)
        self._shots = MOST_SHOTS
        self.tried, self.candidates = set[tuple](), list[Candidate]()

    def near(self, solved: GridSolution) -> Candidate | None:
        """Return the certified extremal near a motion on a grid, or None.

        A slower extremal belongs to another motion and is not returned.
        """
        costates, cells = GuessedCostates(self._robot, solved), solved.spline.cells
        structures, self._shots = TRIES[cells]
        for structure in islice(structures_of(self._robot, solved), structures):
            if self._budget.is_over:
                break
            switching = with_limit_approaches(self._robot, structure, self._start, self._goal)
            if len(switching.times) > MOST_SWITCHES:
                continue
            for guess in self._guesses(switching, costates, cells):
                trail = self._revised(switching, guess)
                if trail:
                    break
            else:
                continue
            if cells == CELLS[-1] and not trail[-1].holds:
                trail += self._repaired(trail, costates)
            if trail[-1].holds and trail[-1].t_final <= solved.spline.duration:
                return trail[-1]
        return None

    def _guesses(
        self, switching: Switching, costates: GuessedCostates, cells: int
    ) -> Iterator[Guess | None]:
        """Yield guesses of the costates.

        Costates from a coarse grid are inaccurate. Structures without singular arcs require none,
        because the conditions at their switches are linear in the costates.
        """
        if cells < CELLS[-1] and not switching.has_singular:
            yield None
        yield costates.guess(switching)

    def _revised(self, switching: Switching, guess: Guess | None) -> list[Candidate]:
        """Return the extremals of a structure and of its revisions by the switching functions."""
        trail = list[Candidate]()
        for _ in range(REVISIONS):
            candidate = self._extremal(switching, guess)
            if candidate is None:
                break
            trail.append(candidate)
            proof = candidate.certificate
            if proof.margin > 0.0 and proof.singular_effort <= FULL_EFFORT:
                break
            changed = revised(candidate.trajectory, candidate.extremal.switching)
            if changed.key() == switching.key():
                break
            switching, guess = changed, Guess(candidate.extremal.costate)
        return trail

    def _repaired(self, trail: list[Candidate], costates: GuessedCostates) -> list[Candidate]:
        """Return the extremals of the first repair that is certified, or an empty list."""
        for candidate in trail:
            along, switching = candidate.trajectory, candidate.extremal.switching
            for variant in repaired(self._robot, along, switching):
                more = self._revised(variant, costates.guess(variant))
                if more and more[-1].holds:
                    return more
        return []

    def _extremal(self, switching: Switching, guess: Guess | None) -> Candidate | None:
        """Return the extremal of a structure with its certificate, or None."""
        self.tried.add(switching.key())
        extremal = self._shooter.solve(switching, guess, self._shots)
        if extremal is None:
            return None
        along = trajectory_of(self._shooter.flow, self._start, extremal)
        if along is None:
            return None
        proof = certificate(self._robot, self._goal, extremal, along)
        candidate = Candidate(extremal, along, proof, violated_limit(self._robot, along))
        self.candidates.append(candidate)
        return candidate
