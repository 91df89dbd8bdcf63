"""Minimum time without a guess: exact for one to three joints, on fine grids for more.

Linear programs on a grid find nearly optimal motions from several smooth ones, Newton's method
makes extremals of them, and the fastest whose certificate holds is the plan. For more joints, for
moving starts and goals, and where no certificate holds, it is a motion refined on grids
(`planning.transcription`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector, finite_vector, not_negative
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.at_rest import (
    check_effort_limits,
    check_without_friction,
    checked_postures,
    holding_effort,
)
from manip_dyn.planning.certificate import FORCE, FULL, Searched
from manip_dyn.planning.interior_points.detours import random_swings, swings
from manip_dyn.planning.minimum_time.boundary_arcs import boundary_arcs_of
from manip_dyn.planning.minimum_time.candidate import (
    Candidate,
    best_of,
    different,
    is_beaten,
    least_time,
    limit_passed,
    told_besides,
)
from manip_dyn.planning.minimum_time.conditions import certificate
from manip_dyn.planning.minimum_time.controls import Kind
from manip_dyn.planning.minimum_time.extremal_motion import ExtremalMotion
from manip_dyn.planning.minimum_time.grid_search import GridSearch
from manip_dyn.planning.minimum_time.handovers import with_handovers
from manip_dyn.planning.minimum_time.improvement import SlpSolution
from manip_dyn.planning.minimum_time.initial_guesses import CELLS
from manip_dyn.planning.minimum_time.lift_offs import with_lift_offs
from manip_dyn.planning.minimum_time.passed_limits import within_limits
from manip_dyn.planning.minimum_time.reading import read_off
from manip_dyn.planning.minimum_time.refined_reading import guesses_of
from manip_dyn.planning.minimum_time.released_limits import with_released_limits
from manip_dyn.planning.minimum_time.revision import revised
from manip_dyn.planning.minimum_time.sampling import trajectory_of
from manip_dyn.planning.minimum_time.sequential_programs import (
    ARRIVED,
    SequentialPrograms,
    slp_solutions,
)
from manip_dyn.planning.minimum_time.shooting import Shooter
from manip_dyn.planning.minimum_time.singular_arcs import between_limits, near_zero
from manip_dyn.planning.minimum_time.structure import Switching
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.planner import converged_plan
from manip_dyn.planning.transcription.solved import Solved
from manip_dyn.planning.transcription.spline import Ends
from manip_dyn.planning.transcription.spline_motion import SplineMotion
from manip_dyn.planning.transcription.stopping import why_not_stopped
from manip_dyn.planning.transcription.straight import straight_path
from manip_dyn.robot import Robot

METHOD = "minimum_time"
EXACT = 3
"""Most joints for which exact motions are looked for."""
CLOSE = 1.001
"""A motion refined on grids is taken for one that is not certified if it is as fast but for this
ratio."""
STILL = 1e-6
"""Start and goal that differ by less in every joint (rad or m) are the same."""
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


def plan_minimum_time(
    robot: Robot,
    q0: ArrayLike,
    qf: ArrayLike,
    exhaustive: float = 0.0,
    *,
    v0: ArrayLike | None = None,
    vf: ArrayLike | None = None,
) -> Plan:
    """Plan the fastest motion from `q0` to `qf` within the effort limits.

    All joints may move, also those whose start and goal are the same. Gravity, damping, springs
    and rotor inertias count. What is returned as ``solved``, for up to three joints from rest to
    rest, meets Pontryagin's conditions (Fan 2003, eqs. 2.22 to 2.27): `Plan.certificate` has the
    numbers. They are necessary conditions, and several motions can meet them; the search compares
    those that it reaches from different initial guesses, and `Plan.certificate.searched` tells
    how many. None of them, not even on a grid, is faster than a plan that is ``solved``. What is
    returned as ``converged`` was refined on grids of up to 2048 cells; its certificate, a
    `Convergence`, says by how much motions near it can be faster.

    Args:
        robot: The arm; all its efforts have limits.
        q0: Start (n,), rad or m.
        qf: Goal (n,), rad or m.
        exhaustive: For how long random detours are tried besides, s.
        v0: Velocities at the start (n,), rad/s or m/s; default: at rest.
        vf: Velocities at the goal (n,); default: at rest.

    Raises:
        ManipDynError: If an argument is bad, the arm cannot hold itself at start or goal, or
            cannot be stopped in time from their velocities, no motion was found within the
            limits, or joints have dry friction.
    """
    customize(robot)  # refuses what is no robot
    exhaustive = not_negative("exhaustive", exhaustive, "s")
    start, goal = checked_postures(robot, q0, qf)
    check_without_friction(robot, "a minimum-time plan")
    speeds = [_velocities(robot, *each) for each in (("start", v0), ("goal", vf))]
    check_effort_limits(robot, range(robot.n))
    holding_effort(robot, "start", start, strictly=True)
    hold = holding_effort(robot, "goal", goal, strictly=True)
    ends = Ends(start, speeds[0], goal, speeds[1])
    if not ends.moving and np.abs(goal - start).max() < STILL:
        return Plan.standing(robot, start, goal, hold, METHOD, "at_goal")
    if ends.moving or robot.n > EXACT:
        return _on_grids(robot, ends, hold, exhaustive)
    if robot.n == EXACT:
        return _made_exact(robot, ends, hold, _on_grids(robot, ends, hold, exhaustive))
    refined = cache(partial(_refined, robot, ends, hold, exhaustive))
    try:
        plan = _exact(robot, ends, hold, exhaustive, refined)
    except ManipDynError:
        other = refined()
        if other is None or not other.success:
            raise
        return other
    if plan.success:
        return plan
    other = refined()
    if other is None or not other.success or other.t_final > CLOSE * plan.t_final:
        return plan
    return other


def _velocities(robot: Robot, place: str, given: ArrayLike | None) -> Vector:
    """Return the velocities (n,) at start or goal; refuse what passes the limits of speed."""
    if given is None:
        return np.zeros(robot.n)
    speeds = finite_vector(f"velocity of the {place}", given, robot.n)
    for i in np.flatnonzero(np.abs(speeds) > robot.v_max).tolist():
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' moves at {speeds[i]:.4g} {robot.unit(i)}/s at the "
            f"{place}; its limit is {robot.v_max[i]:.4g}"
        )
    return speeds


def _refined(robot: Robot, ends: Ends, hold: Vector, exhaustive: float) -> Plan | None:
    straight = straight_path(robot, ends)
    return converged_plan(robot, ends, hold, METHOD, exhaustive, straight)


def _on_grids(robot: Robot, ends: Ends, hold: Vector, exhaustive: float) -> Plan:
    """Return a motion that was refined on grids; refuse what cannot be done, with the reason."""
    stopped = why_not_stopped(robot, ends.qf, ends.vf) if np.any(ends.vf) else ""
    if stopped:
        raise ManipDynError(
            f"the arm cannot be stopped in time beyond the goal: {stopped}; expected a slower "
            "arrival or a goal farther from the limits"
        )
    plan = _refined(robot, ends, hold, exhaustive)
    if plan is not None:
        return plan
    stopped = why_not_stopped(robot, ends.q0, ends.v0) if np.any(ends.v0) else ""
    if stopped:
        raise ManipDynError(
            f"the arm cannot be stopped in time from the start: {stopped}; expected a slower "
            "start or one farther from the limits"
        )
    arrive = why_not_stopped(robot, ends.qf, -ends.vf) if np.any(ends.vf) else ""
    raise ManipDynError(
        f"the goal cannot be reached at its velocities: on the way there {arrive}"
        if arrive
        else "no motion within the limits was found, neither straight nor by detours; "
        "exhaustive=10.0 tries more of them"
    )


def _made_exact(robot: Robot, ends: Ends, hold: Vector, refined: Plan) -> Plan:
    """Return the extremal near a motion that was refined on grids, if its certificate holds."""
    search = _Search(robot, ends.q0, ends.qf)
    found = search.nearest()
    if not found or not found[0].holds or found[0].t_final > refined.t_final:
        return refined
    proof = replace(found[0].certificate, searched=search.told(found))
    best = found[0]._replace(certificate=proof)
    return _plan(robot, ends.q0, ends.qf, hold, best, np.inf, "")


def _exact(
    robot: Robot,
    ends: Ends,
    hold: Vector,
    exhaustive: float,
    refined: Callable[[], Plan | None],
) -> Plan:
    """Return the fastest extremal."""
    start, goal = ends.q0, ends.qf
    search = _Search(robot, start, goal, exhaustive)
    found = search.candidates(refined)
    best = best_of(robot, found, search.on_grid)
    proof = replace(best.certificate, searched=search.told(found))
    told = told_besides(found, best, search.on_grid)
    beaten = search.on_grid if is_beaten(best, search.on_grid) else np.inf
    return _plan(robot, start, goal, hold, best._replace(certificate=proof), beaten, told)


def _plan(
    robot: Robot,
    start: Vector,
    goal: Vector,
    hold: Vector,
    best: Candidate,
    on_grid: float,
    told: str,
) -> Plan:
    proof, motion = best.certificate, ExtremalMotion(robot, start, best.extremal)
    status, reason = "solved", "the certificate holds"
    if not proof.holds:
        status, reason = "uncertified", f"it arrives, but {'; '.join(proof.failures)}"
    elif on_grid < np.inf:
        status = "uncertified"
        reason = f"it arrives, but a grid has a faster motion, {on_grid:.6g} s"
    return Plan(
        robot,
        start,
        goal,
        best.t_final,
        best.extremal.switching.per_joint(),
        [best.t_final] * robot.n,
        motion,
        hold,
        METHOD,
        status,
        reason + told,
        certificate=proof,
        extremal=motion,
    )


class _Search:
    """The search for extremals between one start and goal."""

    def __init__(self, robot: Robot, start: Vector, goal: Vector, exhaustive: float = 0.0):
        self._robot, self._start, self._goal = robot, start, goal
        self._shooter = Shooter(robot, start, goal)
        self._programs = SequentialPrograms(robot, start, goal)
        self._grid = GridSearch(robot, start, goal)
        self._fine_grid = GridSearch(robot, start, goal, *FINE_GRID)
        self._exhaustive = exhaustive
        self._changed = set[tuple]()
        self._seen: list[tuple] = []
        self._structures_tried = set[tuple]()
        self.on_grid = np.inf

    def candidates(self, refined: Callable[[], Plan | None]) -> list[Candidate]:
        """Return the extremals that are worth a comparison, the fastest that holds last.

        Where none that a grid led to holds, `refined` is asked for a motion on finer grids.
        """
        found: list[Candidate] = []
        distance = float(np.abs(self._goal - self._start).max())
        self._grid.search(swings(self._robot, distance))
        if self._exhaustive > 0.0:
            self._grid.search(random_swings(self._robot, distance), self._exhaustive)
        fastest = self._grid.motions[0] if self._grid.motions else None
        for motion in self._grid.motions:
            if motion.duration > GRID_SLACK * least_time(found):
                break
            polished = self._programs.polished(motion.u, motion.duration)
            self._compare(polished, found)
            if motion.duration < least_time(found) / GRID_SLACK:
                self.on_grid = min(self.on_grid, GRID_SLACK * motion.duration)
                self._compare(motion.as_solution(), found)
            if motion is fastest and motion.duration < least_time(found) / GRID_SLACK:
                fine = self._fine_grid.solved(motion.swing)
                if fine is not None:
                    self._compare(fine.as_solution(), found)
        if self._lacks(found):
            self._add_near_refined(refined(), found)
        lots = slp_solutions(self._robot, self._start, self._goal)
        while self._lacks(found):
            lot = next(lots, None)
            if lot is None:
                break
            for solution in sorted(lot, key=lambda each: each.duration):
                self._compare(solution, found)
        return found

    def _lacks(self, found: list[Candidate]) -> bool:
        """Return whether nothing is certified that is as fast as motions on grids."""
        least = least_time(found)
        return least > SLACK * self.on_grid or least == np.inf

    def _add_near_refined(self, plan: Plan | None, found: list[Candidate]) -> None:
        """Add the extremal near a motion that was refined on grids, if there is one."""
        if plan is not None and isinstance(plan.extremal, SplineMotion):
            self.on_grid = min(self.on_grid, plan.t_final)
            candidate = self.near_refined(plan.extremal.solved)
            found += [] if candidate is None else [candidate]

    def nearest(self) -> list[Candidate]:
        """Return the extremal whose structure is that of the fastest motion on a grid, if any."""
        distance = float(np.abs(self._goal - self._start).max())
        self._grid.search(swings(self._robot, distance))
        fine = self._fine_grid.solved(self._grid.motions[0].swing) if self._grid.motions else None
        latest = None
        for switching in [] if fine is None else self._structures(fine.as_solution()):
            latest = self._revised(switching, None, []) or latest
            if latest is not None and latest.holds:
                return [latest]
        return []

    def near_refined(self, solved: Solved) -> Candidate | None:
        """Return the extremal near a motion that was refined on grids, one that holds if any."""
        latest = None
        for switching, costate, jumps, nodes in guesses_of(self._robot, solved):
            trail = list[Candidate]()
            found = self._revised(switching, costate, trail, jumps, nodes)
            if found is None:
                continue
            if found.holds:
                return found
            latest = found
            other = (
                self._with_released_limits(trail)
                or self._with_lift_offs(trail)
                or self._within_limits(trail)
            )
            if other is not None:
                return other
        return latest

    def _with_released_limits(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal that leaves a limit for a while where that would pull."""
        pulling = [each for each in tries if each.certificate.limit_force < FORCE]
        for each in sorted(pulling, key=lambda each: each.certificate.lack)[:1]:
            for switching in with_released_limits(each.along, each.extremal.switching):
                found = self._revised(switching, each.extremal.costate, [], each.extremal.jumps)
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
            self.on_grid = min(self.on_grid, duration)
        if solution.miss > ARRIVED or duration > SLACK * least_time(found):
            return
        key = self._read_off(solution).key()
        for other, t in self._seen:
            if key == other and abs(duration / t - 1.0) < AGREE - 1.0:
                return
        self._seen.append((key, duration))
        candidate = self._near(solution)
        if candidate is not None:
            found.append(candidate)

    def _near(self, solution: SlpSolution) -> Candidate | None:
        """Return the extremal near a solution: bang-bang if that holds, else a singular arc."""
        latest = None
        for attempt in range(2):
            if attempt == 1:
                if len(solution.controls) > CELLS:
                    break
                solution = self._programs.refined(solution)
                if solution.miss > ARRIVED:
                    break
            found, trail = None, list[Candidate]()
            for switching in self._structures(solution):
                found = self._revised(switching, None, trail) or found
                if found is not None and found.holds:
                    return found
            latest = found or latest
            found = (
                self._within_limits(trail)
                or self._with_lift_offs(trail)
                or self._with_handovers(trail)
                or self._with_singular_arc(solution, found)
            )
            if found is not None:
                return found
        return latest

    def _read_off(self, solution: SlpSolution) -> Switching:
        arcs = boundary_arcs_of(self._robot, solution)
        return read_off(solution.controls, solution.duration, arcs)

    def _structures(self, solution: SlpSolution) -> Iterator[Switching]:
        """Yield the structures that a solution may have.

        Brief times at limits of position are contact points or boundary arcs, and other efforts
        may keep joints at limits of speed.
        """
        known: list[tuple] = []
        contact = Kind.CONTACT_POSITION
        for brief, beside in ((contact, None), (Kind.POSITION, None), (contact, 0), (contact, 1)):
            arcs = boundary_arcs_of(self._robot, solution, brief, beside)
            switching = read_off(solution.controls, solution.duration, arcs)
            if switching.key() not in known:
                known.append(switching.key())
                yield switching

    def _revised(
        self,
        switching: Switching,
        costate: Vector | None,
        trail: list[Candidate],
        jumps: Vector | None = None,
        nodes: Matrix | None = None,
    ) -> Candidate | None:
        """Return the extremal of a structure, changed to what its own conditions ask for.

        All on the way go to `trail`.
        """
        latest = None
        for _ in range(REVISIONS):
            found = self._extremal(switching, costate, jumps, nodes)
            if found is None:
                return latest
            latest, costate, jumps, nodes = found, found.extremal.costate, None, None
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
            found = self._extremal(switching, best.extremal.costate)
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
                found = self._revised(switching, each.extremal.costate, more)
                found = found if found is None or found.holds else self._with_lift_offs(more)
                if found is not None and found.holds:
                    return found
        return None

    def _with_lift_offs(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal that lifts off where efforts cannot keep a joint at its limit."""
        weak = [each for each in tries if each.certificate.singular_effort > FULL]
        for each in sorted(weak, key=lambda each: each.certificate.lack)[:1]:
            for switching in with_lift_offs(each.along, each.extremal.switching):
                found = self._revised(switching, each.extremal.costate, [])
                if found is not None and found.holds:
                    return found
        return None

    def _with_singular_arc(
        self, solution: SlpSolution, latest: Candidate | None
    ) -> Candidate | None:
        """Return the first extremal with a singular arc whose certificate holds, if any."""
        arcs = boundary_arcs_of(self._robot, solution)
        inside = between_limits(solution.controls, self._read_off(solution), arcs)
        tries = [(each, solution.costate) for each in inside]
        if latest is not None:
            hints = near_zero(latest.along, latest.extremal.switching)
            tries += [(each, latest.extremal.costate) for each in hints]
        for switching, costate in tries[: WITH_LIMITS if arcs else SINGULAR_TRIES]:
            found = self._revised(switching, costate, [])
            if found is not None and found.holds:
                return found
        return None

    def _extremal(
        self,
        switching: Switching,
        costate: Vector | None,
        jumps: Vector | None = None,
        nodes: Matrix | None = None,
    ) -> Candidate | None:
        """Return the extremal of a structure with its evidence, if Newton's method finds one."""
        self._structures_tried.add(switching.key())
        extremal = self._shooter.solve(switching, costate, jumps, nodes)
        if extremal is None:
            return None
        along = trajectory_of(self._robot, self._start, extremal)
        if along is None:
            return None
        proof = certificate(self._robot, self._goal, extremal, along)
        return Candidate(extremal, along, proof, limit_passed(self._robot, along))
