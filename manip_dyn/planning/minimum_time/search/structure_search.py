"""Search for extremals near structures, with repairs of violated conditions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import FULL_EFFORT, LEAST_FORCE
from manip_dyn.planning.minimum_time.extremals.candidate import Candidate, violated_limit
from manip_dyn.planning.minimum_time.extremals.conditions import certificate
from manip_dyn.planning.minimum_time.extremals.sampling import trajectory_of
from manip_dyn.planning.minimum_time.extremals.shooting import Shooter
from manip_dyn.planning.minimum_time.extremals.structure import Guess, Switching
from manip_dyn.planning.minimum_time.structure_repairs.end_arcs import with_end_arcs
from manip_dyn.planning.minimum_time.structure_repairs.handovers import with_handovers
from manip_dyn.planning.minimum_time.structure_repairs.lift_offs import with_lift_offs
from manip_dyn.planning.minimum_time.structure_repairs.limit_releases import with_limit_releases
from manip_dyn.planning.minimum_time.structure_repairs.limit_violations import within_limits
from manip_dyn.planning.minimum_time.structure_repairs.position_arcs_at_contacts import (
    with_position_arcs_at_contacts,
)
from manip_dyn.planning.minimum_time.structure_repairs.saturated_arcs import with_saturated_ends
from manip_dyn.planning.minimum_time.structure_repairs.sign_revision import revised
from manip_dyn.planning.minimum_time.structure_repairs.speed_arcs_at_contacts import (
    with_speed_arcs_at_contacts,
)
from manip_dyn.planning.minimum_time.structure_repairs.speed_arcs_at_switches import (
    with_speed_arcs_at_switches,
)
from manip_dyn.robot import Robot

REVISIONS = 4
"""Maximum number of revisions of a structure by its own switching functions."""
HANDOVERS = 4
"""Maximum number of extremals whose boundary arcs of speed are changed at their ends."""


class StructureSearch:
    """Search for extremals between one start and one goal; each structure is repaired once.

    Attributes:
        robot: The arm.
        start: Positions (n,), at rest.
        goal: Positions (n,), at rest.
        tried: Structures for which Newton's method was started.
    """

    def __init__(self, robot: Robot, start: Vector, goal: Vector):
        """Prepare motions from rest at `start` (n,) to rest at `goal` (n,)."""
        self.robot, self.start, self.goal = robot, start, goal
        self._shooter = Shooter(robot, start, goal)
        self.tried = set[tuple]()
        self._changed, self._with_brief_arcs = set[tuple](), set[tuple]()

    def extremal(self, switching: Switching, guess: Guess | None) -> Candidate | None:
        """Return the extremal with a structure and its certificate, or None."""
        self.tried.add(switching.key())
        extremal = self._shooter.solve(switching, guess)
        if extremal is None:
            return None
        along = trajectory_of(self._shooter.flow, self.start, extremal)
        if along is None:
            return None
        proof = certificate(self.robot, self.goal, extremal, along)
        return Candidate(extremal, along, proof, violated_limit(self.robot, along))

    def revised(
        self, switching: Switching, guess: Guess | None, trail: list[Candidate]
    ) -> Candidate | None:
        """Return the extremal after revisions of a structure by its switching functions, or None.

        All extremals are appended to `trail`.
        """
        latest = None
        for _ in range(REVISIONS):
            candidate = self.extremal(switching, guess)
            if candidate is None:
                return latest
            latest, guess = candidate, Guess(candidate.extremal.costate)
            trail.append(candidate)
            if (
                candidate.certificate.margin > 0.0
                and candidate.certificate.singular_effort <= FULL_EFFORT
            ):
                return latest
            changed = revised(candidate.trajectory, candidate.extremal.switching)
            if changed.key() == switching.key():
                return latest
            switching = changed
        return latest

    def within_limits(self, tries: list[Candidate]) -> Candidate | None:
        """Return a certified extremal that satisfies limits violated by a candidate, or None."""
        passing = [
            candidate
            for candidate in tries
            if candidate.violation and candidate.certificate.singular_effort <= FULL_EFFORT
        ]
        for candidate in sorted(passing, key=lambda candidate: candidate.certificate.lack)[:1]:
            for switching in within_limits(
                self.robot, candidate.trajectory, candidate.extremal.switching
            ):
                more: list[Candidate] = []
                repaired = self.revised(switching, Guess(candidate.extremal.costate), more)
                repaired = (
                    repaired if repaired is None or repaired.holds else self.with_lift_offs(more)
                )
                if repaired is not None and repaired.holds:
                    return repaired
        return None

    def with_lift_offs(self, tries: list[Candidate]) -> Candidate | None:
        """Return a certified extremal with lift-offs where efforts are too weak, or None."""
        weak = [
            candidate for candidate in tries if candidate.certificate.singular_effort > FULL_EFFORT
        ]
        for candidate in sorted(weak, key=lambda candidate: candidate.certificate.lack)[:1]:
            for switching in with_lift_offs(candidate.trajectory, candidate.extremal.switching):
                repaired = self.revised(switching, Guess(candidate.extremal.costate), [])
                if repaired is not None and repaired.holds:
                    return repaired
        return None

    def with_limit_releases(self, tries: list[Candidate]) -> Candidate | None:
        """Return a certified extremal that leaves limits where they would pull, or None."""
        pulling = [
            candidate for candidate in tries if candidate.certificate.limit_force < LEAST_FORCE
        ]
        for candidate in sorted(pulling, key=lambda candidate: candidate.certificate.lack)[:1]:
            for switching in with_limit_releases(
                candidate.trajectory, candidate.extremal.switching
            ):
                repaired = self.revised(
                    switching, Guess(candidate.extremal.costate, candidate.extremal.jumps), []
                )
                if repaired is not None and repaired.holds:
                    return repaired
        return None

    def with_handovers(self, tries: list[Candidate]) -> Candidate | None:
        """Return a certified extremal with other ends of boundary arcs of speed, or None.

        Only the candidate with the smallest violation is changed, and each candidate only once.
        """
        new: dict[tuple, Candidate] = {}
        for candidate in tries:
            switching = candidate.extremal.switching
            new[(switching.key(), round(switching.t_final, 7))] = candidate
        marks = [mark for mark in new if mark not in self._changed]
        if not marks or len(self._changed) >= HANDOVERS:
            return None
        mark = min(marks, key=lambda key: new[key].certificate.lack)
        self._changed.add(mark)
        best, seen = new[mark], {candidate.extremal.switching.key() for candidate in tries}
        for switching in with_handovers(self.robot, best.trajectory, best.extremal.switching):
            if switching.key() in seen:
                continue
            seen.add(switching.key())
            repaired = self.extremal(switching, Guess(best.extremal.costate))
            if repaired is not None and repaired.holds:
                return repaired
        return None

    def with_other_arcs(
        self, tries: list[Candidate], guess: Callable[[Switching], Guess]
    ) -> Candidate | None:
        """Return a certified extremal with additional brief arcs near a refined motion, or None.

        `guess` is a function that returns guesses of the costates for a structure.
        """
        for candidate in tries:
            along, switching = candidate.trajectory, candidate.extremal.switching
            mark = (switching.key(), round(switching.t_final, 7))
            if mark in self._with_brief_arcs:
                continue
            self._with_brief_arcs.add(mark)
            for variant in chain(
                with_saturated_ends(along, switching),
                with_speed_arcs_at_contacts(self.robot, along, switching),
                with_speed_arcs_at_switches(self.robot, along, switching),
                with_end_arcs(along, switching),
                with_position_arcs_at_contacts(self.robot, along, switching),
            ):
                repaired = self.revised(variant, guess(variant), [])
                if repaired is not None and repaired.holds:
                    return repaired
        return None
