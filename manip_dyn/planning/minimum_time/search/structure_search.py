"""Extremals near given structures, changed to what their own conditions ask for."""

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
"""How often a structure is changed to what its own switching functions ask for."""
HANDOVERS = 4
"""How many extremals along limits of speed are changed at the ends of their boundary arcs."""


class StructureSearch:
    """Looks for extremals between one start and goal, each structure and change but once.

    Attributes:
        robot: The arm.
        start: Positions (n,), at rest.
        goal: Positions (n,), at rest.
        tried: Structures that Newton's method was started from.
    """

    def __init__(self, robot: Robot, start: Vector, goal: Vector):
        """Look for motions from rest at `start` (n,) to rest at `goal` (n,)."""
        self.robot, self.start, self.goal = robot, start, goal
        self._shooter = Shooter(robot, start, goal)
        self.tried = set[tuple]()
        self._changed, self._with_brief_arcs = set[tuple](), set[tuple]()

    def extremal(self, switching: Switching, guess: Guess | None) -> Candidate | None:
        """Return the extremal of a structure with its evidence, if Newton's method finds one."""
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
        """Return the extremal of a structure, changed to what its own conditions ask for.

        All on the way go to `trail`.
        """
        latest = None
        for _ in range(REVISIONS):
            found = self.extremal(switching, guess)
            if found is None:
                return latest
            latest, guess = found, Guess(found.extremal.costate)
            trail.append(found)
            if found.certificate.margin > 0.0 and found.certificate.singular_effort <= FULL_EFFORT:
                return latest
            changed = revised(found.along, found.extremal.switching)
            if changed.key() == switching.key():
                return latest
            switching = changed
        return latest

    def within_limits(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal that keeps to limits of position and speed where others pass them."""
        passing = [
            each
            for each in tries
            if each.passed and each.certificate.singular_effort <= FULL_EFFORT
        ]
        for each in sorted(passing, key=lambda each: each.certificate.lack)[:1]:
            for switching in within_limits(self.robot, each.along, each.extremal.switching):
                more: list[Candidate] = []
                found = self.revised(switching, Guess(each.extremal.costate), more)
                found = found if found is None or found.holds else self.with_lift_offs(more)
                if found is not None and found.holds:
                    return found
        return None

    def with_lift_offs(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal that lifts off where efforts cannot keep a joint at its limit."""
        weak = [each for each in tries if each.certificate.singular_effort > FULL_EFFORT]
        for each in sorted(weak, key=lambda each: each.certificate.lack)[:1]:
            for switching in with_lift_offs(each.along, each.extremal.switching):
                found = self.revised(switching, Guess(each.extremal.costate), [])
                if found is not None and found.holds:
                    return found
        return None

    def with_released_limits(self, tries: list[Candidate]) -> Candidate | None:
        """Return an extremal that leaves a limit for a while where that would pull."""
        pulling = [each for each in tries if each.certificate.limit_force < LEAST_FORCE]
        for each in sorted(pulling, key=lambda each: each.certificate.lack)[:1]:
            for switching in with_limit_releases(each.along, each.extremal.switching):
                found = self.revised(
                    switching, Guess(each.extremal.costate, each.extremal.jumps), []
                )
                if found is not None and found.holds:
                    return found
        return None

    def with_handovers(self, tries: list[Candidate]) -> Candidate | None:
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
        for switching in with_handovers(self.robot, best.along, best.extremal.switching):
            if switching.key() in seen:
                continue
            seen.add(switching.key())
            found = self.extremal(switching, Guess(best.extremal.costate))
            if found is not None and found.holds:
                return found
        return None

    def with_other_arcs(
        self, tries: list[Candidate], guess: Callable[[Switching], Guess]
    ) -> Candidate | None:
        """Return an extremal with brief arcs where others near a refined motion lack them.

        `guess` tells what is known of the costates of a structure.
        """
        for each in tries:
            along, switching = each.along, each.extremal.switching
            mark = (switching.key(), round(switching.t_final, 7))
            if mark in self._with_brief_arcs:
                continue
            self._with_brief_arcs.add(mark)
            for other in chain(
                with_saturated_ends(along, switching),
                with_speed_arcs_at_contacts(self.robot, along, switching),
                with_speed_arcs_at_switches(self.robot, along, switching),
                with_end_arcs(along, switching),
                with_position_arcs_at_contacts(self.robot, along, switching),
            ):
                found = self.revised(other, guess(other), [])
                if found is not None and found.holds:
                    return found
        return None
