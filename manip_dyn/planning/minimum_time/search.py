"""Search for the fastest motion: basins on grids, then extremals, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import inf

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import FULL_EFFORT, GridSearchSummary, SearchSummary
from manip_dyn.planning.minimum_time.budget import Budget
from manip_dyn.planning.minimum_time.convergence import (
    FREE_FRACTION,
    GuessedCostates,
    undetermined_fraction,
)
from manip_dyn.planning.minimum_time.detection import structures_of
from manip_dyn.planning.minimum_time.extremals import (
    Candidate,
    certificate,
    distinct_motions,
    violated_limit,
)
from manip_dyn.planning.minimum_time.extremals import are_same as are_same_extremals
from manip_dyn.planning.minimum_time.flow import trajectory_of
from manip_dyn.planning.minimum_time.refinement import (
    CoarseSearch,
    Refinement,
    are_same,
    random_swings,
    swings,
)
from manip_dyn.planning.minimum_time.repairs import (
    repaired,
    revised,
    with_limit_approaches,
    with_pulses,
    within_limits,
)
from manip_dyn.planning.minimum_time.shooting import Shooter
from manip_dyn.planning.minimum_time.splines import (
    CELLS,
    Ends,
    GridSolution,
    RefinedSolution,
    Spline,
    efforts_of,
    exceeded_limit,
)
from manip_dyn.planning.minimum_time.structures import Guess, Switching
from manip_dyn.robot import Robot

TRIES = {CELLS[0]: (1, 10), CELLS[1]: (2, 20), CELLS[2]: (None, 50)}
"""Maximum numbers of structures per grid, and of shots for a structure and its revisions. For 75
goals, certificates on the first grid required at most 9 shots. With 100 instead of 50 shots on the
last grid, no other one of 110 difficult goals is certified."""
MOST_SWITCHES = 40
"""Maximum number of switches of a structure that is tried."""
REVISIONS = 4
"""Maximum number of revisions of a structure by its own switching functions."""


class ExtremalSearch:
    """Search for extremals between one start and one goal.

    Attributes:
        tried: Keys of the structures for which Newton's method was started.
        candidates: Extremals with their certificates, in order of computation.
    """

    def __init__(self, robot: Robot, start: Vector, goal: Vector, budget: Budget):
        """Prepare motions from rest at `start` (n,) to rest at `goal` (n,)."""
        self._robot, self._start, self._goal = robot, start, goal
        self._budget, self._shooter = budget, Shooter(robot, start, goal, budget)
        self.tried, self.candidates = set[tuple](), list[Candidate]()

    def near(self, solved: GridSolution) -> Candidate | None:
        """Return the certified extremal near a motion on a grid, or None.

        An extremal that is slower than the motion on the grid is not returned, because it belongs
        to another motion.
        """
        costates, cells = GuessedCostates(self._robot, solved), solved.spline.cells
        structures, shots = TRIES[cells]
        for structure in islice(structures_of(self._robot, solved), structures):
            if self._budget.is_over:
                break
            switching = with_limit_approaches(self._robot, structure, self._start, self._goal)
            if len(switching.times) > MOST_SWITCHES:
                continue
            trail = self._revised(switching, costates, shots)
            if trail and cells == CELLS[-1] and not trail[-1].holds:
                trail += self._repaired(trail, costates)
            if trail and trail[-1].holds and trail[-1].t_final <= solved.spline.duration:
                return trail[-1]
        return None

    def _revised(
        self,
        switching: Switching,
        costates: GuessedCostates,
        shots: int,
        latest: Candidate | None = None,
    ) -> list[Candidate]:
        """Return the extremals of a structure and of its revisions.

        Switching functions with the wrong sign and exceeded limits determine the revisions. The
        list is empty if Newton's method fails for the structure.

        Args:
            switching: The structure.
            costates: Costates of a motion on a grid.
            shots: Maximum number of shots.
            latest: Extremal of a similar structure: guess if the one from the grid fails.
        """
        trail, keys, guess, order = list[Candidate](), set[tuple](), costates.guess, 1
        self._shooter.shots = shots
        for _ in range(REVISIONS):
            switching = with_pulses(switching, costates.push)
            guesses = [guess] if latest is None else [guess, _guess_near(latest, guess)]
            tries = (self._extremal(switching, start) for start in guesses[::order])
            candidate = next((row for row in tries if row is not None), None)
            if candidate is None or candidate.extremal.switching.key() in keys:
                break
            trail.append(candidate)
            latest = candidate
            proof = candidate.certificate
            along, structure = candidate.trajectory, candidate.extremal.switching
            if proof.margin > 0.0 and proof.singular_effort <= FULL_EFFORT:
                if not candidate.violation:
                    break
                changed = within_limits(self._robot, along, structure)
            else:
                changed = revised(along, structure)
            order = -1 if changed.contacts > structure.contacts else 1
            keys |= {switching.key(), structure.key()}
            if changed.key() in keys:
                break
            switching = changed
        return trail

    def _repaired(self, trail: list[Candidate], costates: GuessedCostates) -> list[Candidate]:
        """Return the extremals of the first repair that is certified, or an empty list."""
        for candidate in trail:
            along, switching = candidate.trajectory, candidate.extremal.switching
            for variant in repaired(self._robot, along, switching):
                more = self._revised(variant, costates, TRIES[CELLS[-1]][1], candidate)
                if more and more[-1].holds:
                    return more
        return []

    def _extremal(
        self, switching: Switching, guess: Callable[[Switching], Guess]
    ) -> Candidate | None:
        """Return the extremal of a structure with its certificate, or None."""
        self.tried.add(switching.key())
        extremal = self._shooter.solve(switching, guess)
        if extremal is None:
            return None
        along = trajectory_of(self._shooter.flow, self._start, extremal)
        if along is None:
            return None
        proof = certificate(self._robot, self._goal, extremal, along)
        candidate = Candidate(extremal, along, proof, violated_limit(self._robot, along))
        self.candidates.append(candidate)
        return candidate


def _guess_near(
    candidate: Candidate, guess: Callable[[Switching], Guess]
) -> Callable[[Switching], Guess]:
    """Return a guess with the states and costates of an extremal, and the jumps of another one."""
    along = candidate.trajectory

    def near(switching: Switching) -> Guess:
        begins = [begin for begin, _, _ in switching.arcs()]
        nodes = [np.interp(begins, along.times, values) for values in along.states.T]
        return Guess(candidate.extremal.costate, guess(switching).jumps, np.transpose(nodes))

    return near


EXACT = 3
"""Maximum number of joints for exact motions."""
COMPARED_RATIO, MOST_COMPARED = 1.05, 6
"""Maximum ratio to the shortest duration, and maximum number, of new motions of the coarse search
that are compared on the first grid."""
EXCESS = {CELLS[0]: 6e-3, CELLS[1]: 1e-3, CELLS[2]: 1e-5}
"""Largest expected excess of a duration on each grid over the fastest motion nearby."""
EQUAL = 1.0 + 1e-6
"""Largest ratio of durations that count as equal."""
CLEARLY_FASTER = 1.0 - EXCESS[CELLS[1]]
"""Largest ratio of durations for which a motion that did not converge replaces another one."""
RANDOM_GUESSES, MOST_BATCHES = (8, 16), 6
"""Numbers of random initial guesses in a batch, for up to two joints and for more, and maximum
number of batches."""


class Basin:
    """A motion on successively finer grids.

    Attributes:
        solutions: Solutions on the grids, coarsest first.
        refined: The fastest motion that was moved within its limits between the nodes, or None.
        extremal: Certified extremal, or None.
        is_determined: Whether the conditions determine all efforts; None without the finest grid.
    """

    def __init__(self, solution: GridSolution):
        """Start from a solution on the first grid."""
        self.solutions = [solution]
        self.refined: RefinedSolution | None = None
        self.extremal: Candidate | None = None
        self.is_determined: bool | None = None

    @property
    def has_free_efforts(self) -> bool:
        """Whether not all efforts affect the duration, as far as a converged solution shows."""
        return self.is_determined is False and self.solutions[-1].settled

    @property
    def cells(self) -> int:
        """Number of cells of the finest grid so far."""
        return self.solutions[-1].spline.cells

    @property
    def duration(self) -> float:
        """Duration of the extremal, of `refined` or of the last solution, s."""
        if self.extremal is not None:
            return self.extremal.t_final
        if self.refined is not None:
            return self.refined.spline.duration
        return self.solutions[-1].spline.duration

    @property
    def bound(self) -> float:
        """Expected lower bound of the duration of the fastest motion nearby, s."""
        if self.extremal is not None:
            return self.extremal.t_final
        spline = self.solutions[-1].spline
        return spline.duration * (1.0 - EXCESS[spline.cells])


class MotionSearch:
    """Search for the fastest motion between two states.

    The order of the search does not depend on the time. The budget only determines where it stops.

    Attributes:
        basins: Distinct motions on the first grid.
        undone: Steps that were unfinished when the time was up, as a clause, or "".
    """

    def __init__(self, robot: Robot, ends: Ends, budget: Budget):
        """Prepare the search."""
        self._robot, self._ends, self._budget = robot, ends, budget
        self._coarse = CoarseSearch(robot, ends, budget)
        self._refinement = Refinement(robot, ends, budget)
        is_exact = robot.n <= EXACT and not ends.moving
        self._extremals = ExtremalSearch(robot, ends.q0, ends.qf, budget) if is_exact else None
        self.basins, self.undone = list[Basin](), ""

    # ------------------------------------------------------------------------ search
    def run(self, straight: Spline | None = None) -> None:
        """Search with all detours, then with batches of random ones.

        The search ends after a batch that leads to no faster motion, after `MOST_BATCHES`, or when
        the time is up. `straight` is an additional initial guess on the first grid.
        """
        distance = float(np.abs(self._ends.qf - self._ends.q0).max())
        distance = max(distance, float(np.abs([self._ends.v0, self._ends.vf]).max()))
        guesses = swings(self._robot, distance)
        first = 1 if self._robot.n > 2 or self._ends.moving else None  # other searches are fast
        motions = self._coarse.search(islice(guesses, first))
        basins = self._compared(motions[:1])
        for basin in basins:
            self._refine(basin, CELLS[:2])
        motions = motions[1:] + self._coarse.search(guesses)
        self._examine(basins + self._compared(motions, straight))
        for batch in self._random_batches(distance):
            if self._budget.is_over:
                self.undone = self.undone or "more initial guesses were left untried"
                break
            if not self._examine(self._compared(self._coarse.search(batch))):
                break

    def _random_batches(self, distance: float) -> Iterator[Iterator[Vector]]:
        if self._robot.n == 1 and not self._coarse.is_weak:
            return
        guesses = random_swings(self._robot, distance)
        for _ in range(MOST_BATCHES):
            yield islice(guesses, RANDOM_GUESSES[self._robot.n > 2])

    def _compared(self, motions: list[Spline], guess: Spline | None = None) -> list[Basin]:
        """Return the basins of new motions of the coarse search that may be the fastest.

        `guess` is an additional motion on the first grid.
        """
        fastest, basins = self._coarse.motions[:1], list[Basin]()
        near = [
            motion
            for motion in motions[:MOST_COMPARED]
            if motion.duration <= COMPARED_RATIO * fastest[0].duration
        ]
        if guess is not None:
            near.append(guess)
        for motion in near:
            if self._budget.is_over and self.basins:
                break
            previous = [basin.solutions[0].spline for basin in self.basins]
            solution = self._refinement.first(motion, previous)
            if solution is not None:
                basins.append(Basin(solution))
                self.basins.append(basins[-1])
        return basins

    def _examine(self, basins: list[Basin]) -> bool:
        """Refine basins, fastest first; return whether this leads to a faster motion."""
        before = self.duration
        for basin in sorted(basins, key=lambda basin: basin.duration):
            if basin.extremal is None:
                self._refine(basin)
        return self.duration < before * (1.0 - EXCESS[CELLS[-1]])

    def _refine(self, basin: Basin, grids: Sequence[int] = CELLS) -> None:
        """Refine a basin as long as it may contain the fastest motion.

        If `grids` ends with the second grid, the search for a certificate on this grid is left to
        the next call.
        """
        for cells in grids:
            if cells < basin.cells:
                continue
            is_new = cells > basin.cells
            if is_new and not self._is_refined(basin):
                break
            if not self._may_win(basin):
                return
            if is_new or self._budget.is_over:
                self._move_within_limits(basin)
            if self._budget.is_over:
                break
            is_left = cells == CELLS[1] == grids[-1]
            if not is_left and self._is_certified(basin):
                return
        if self._budget.is_over:
            self.undone = self.undone or "a motion was not refined"

    def _is_refined(self, basin: Basin) -> bool:
        """Solve a basin on the next grid; return whether this succeeds."""
        if basin.refined is None:  # fewer efforts then exceed limits on the finer grid
            latest = self._refinement.within_limits(basin.solutions).solved
        else:
            latest = basin.refined.solved
        finer = self._refinement.finer(latest)
        if finer is not None:
            basin.solutions.append(finer)
        return finer is not None

    def _move_within_limits(self, basin: Basin) -> None:
        """Move the last solution of a basin within its limits between the nodes.

        When the time is up, only clearly faster motions are moved.
        """
        duration = basin.solutions[-1].spline.duration
        if self._budget.is_over and duration > CLEARLY_FASTER * self.duration:
            return
        refined = self._refinement.within_limits(basin.solutions)
        ratio = 1.0 if refined.solved.settled else CLEARLY_FASTER
        if basin.refined is None or refined.spline.duration < ratio * basin.duration:
            basin.refined = refined
            self._report("motion")

    def _is_certified(self, basin: Basin) -> bool:
        """Search for the extremal near a basin; return whether it is certified.

        On the finest grid, motions whose efforts are undetermined are not certified.
        """
        solution = basin.solutions[-1]
        if basin.cells == CELLS[-1]:
            fraction = undetermined_fraction(self._robot, solution)
            basin.is_determined = fraction < FREE_FRACTION
        if self._extremals is None or basin.is_determined is False:
            return False
        if basin.refined is not None:
            solution = basin.refined.solved
        basin.extremal = self._extremals.near(solution)
        if basin.extremal is None:
            if self._budget.is_over:
                self.undone = "the search for a certificate was not finished"
            return False
        self._report("certificate")
        return True

    def _may_win(self, basin: Basin) -> bool:
        return basin.bound <= self.duration

    def _report(self, stage: str) -> None:
        self._budget.report(stage, self.duration, len(self._coarse.motions))

    # ------------------------------------------------------------------------ results
    @property
    def duration(self) -> float:
        """Duration of the fastest certified or refined motion, s; inf if there is none."""
        return min((basin.duration for basin in self._finished), default=inf)

    @property
    def best(self) -> Basin | None:
        """The fastest finished basin, or None.

        Of basins with equal durations it is the one whose motion is first in the order of the
        positions halfway, which does not depend on the order of the search.
        """
        finished = self._finished
        if not finished:
            return None
        least = min(basin.duration for basin in finished)
        equal = [basin for basin in finished if basin.duration <= least * (1.0 + 1e-7)]
        return min(equal, key=_order)

    @property
    def is_unique(self) -> bool | None:
        """Whether the fastest motion is unique as far as is known; None if unknown.

        Another motion of the search, or the reflection of the fastest motion, can be equally fast.
        """
        best = self.best
        if best is None:
            return None
        twins = [
            basin
            for basin in self._finished
            if basin.duration <= best.duration * EQUAL and not _are_same(basin, best)
        ]
        if twins or best.has_free_efforts or self._has_reflection(best):
            return False
        return True if best.extremal is not None else None

    def _has_reflection(self, basin: Basin) -> bool:
        """Return whether the reflection of an extremal in time and space is another motion.

        Its duration is the same. Planar arms that move from (x, a) to (0, -a) are an example.
        """
        if basin.extremal is None or basin.extremal.extremal.switching.is_symmetric():
            return False
        robot, reflection = self._robot, basin.solutions[-1].spline.reflected()
        loads = np.abs(efforts_of(robot, reflection, reflection.cells)) / robot.tau_max
        times = np.linspace(0.0, reflection.duration, reflection.cells + 1)
        q, v, _ = reflection.joints(times)
        return loads.max() <= FULL_EFFORT and not exceeded_limit(robot, times, q, v)

    @property
    def _finished(self) -> list[Basin]:
        return [
            basin
            for basin in self.basins
            if basin.extremal is not None or basin.refined is not None
        ]

    @property
    def guesses(self) -> int:
        """Number of initial guesses on the coarse grid."""
        return self._coarse.guesses

    @property
    def motions(self) -> int:
        """Number of distinct motions on the coarse grid."""
        return len(self._coarse.motions)

    def summary(self) -> SearchSummary:
        """Return the extent of the search for an exact motion."""
        candidates = [] if self._extremals is None else self._extremals.candidates
        times = [candidate.t_final for candidate in distinct_motions(candidates)]
        return SearchSummary(
            guesses=self.guesses,
            motions=self.motions,
            structures=0 if self._extremals is None else len(self._extremals.tried),
            extremals=len(times),
            second=times[1] if len(times) > 1 else inf,
            on_grid=min(
                (s.spline.duration for b in self.basins for s in b.solutions), default=inf
            ),
        )

    def grid_summary(self) -> GridSearchSummary:
        """Return the extent of the search on grids."""
        times = sorted(basin.solutions[0].spline.duration for basin in self.basins) or [inf]
        slower = [t for t in times if t > times[0] * (1.0 + 1e-6)]
        return GridSearchSummary(
            self.guesses, self.motions, len(self.basins), min(slower, default=inf), times[0]
        )


def _order(basin: Basin) -> tuple[float, ...]:
    """Return the rounded positions of a motion halfway, to order motions of equal duration."""
    spline = basin.solutions[0].spline
    middle = spline.joints(np.array([0.5 * spline.duration]))[0][0]
    return tuple(np.round(middle, 3).tolist())


def _are_same(first: Basin, second: Basin) -> bool:
    """Return whether two finished basins contain the same motion."""
    if first.extremal is not None and second.extremal is not None:
        return are_same_extremals(first.extremal, second.extremal)
    splines = [
        basin.solutions[-1].spline if basin.refined is None else basin.refined.spline
        for basin in (first, second)
    ]
    return splines[0].cells != splines[1].cells or are_same(*splines)
