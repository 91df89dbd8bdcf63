"""Structures read off motions that were refined on grids, with a first guess of their costates.

On such a grid arcs that are too brief for an SLP solution show, and so does which effort keeps
a joint at a limit, from the multipliers: an effort between its limits keeps the joint that
is at one, its own first, and is singular where none is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.controls import (
    SINGULAR,
    Control,
    Kind,
    contact,
    full,
    keeps,
)
from manip_dyn.planning.minimum_time.structure import Switching, assembled
from manip_dyn.planning.transcription.costates import Costates, costates_of
from manip_dyn.planning.transcription.efforts import efforts_of
from manip_dyn.planning.transcription.solved import Solved
from manip_dyn.robot import Robot

NEAR = (2e-5, 2e-4, 3e-6)
"""Distances from a limit of position or speed, over its scale, at which joints are at it, in the
order of trial."""
BETWEEN = (0.9, 0.98)
"""Efforts below this share of their limit lie between their limits."""
LONG = (24, 8, 10**6)
"""Cells of a singular arc at least; a switch takes less. At last there are none."""
BRIEF = (3, 1, 64)
"""Cells of a boundary arc at least, else it is a contact point."""
PULSE = 0.25
"""How far an effort leaves its limit at least, over the way to the other one, to be there for less
than a singular arc takes."""
NOTHING = 1e-9
"""What an effort adds to a joint's acceleration at least, over what the joint's own one does."""
GAP = 4
"""Cells between two times at a limit that are one."""
SAME = 1e-3
"""Share of the duration by less than which the times of one structure differ."""
FIT = slice(4, 40)
"""Nodes from which the costates at the start are extrapolated."""


class Guess(NamedTuple):
    """Where Newton's method may begin.

    Attributes:
        switching: A structure.
        costate: Costates (2 n,) at the start, s per unit of the state.
        jumps: By how much costates jump at `Switching.jumps`.
        nodes: State and costate (arcs, 4 n) at the begins of the arcs.
    """

    switching: Switching
    costate: Vector
    jumps: Vector
    nodes: Matrix


class _AtLimit(NamedTuple):
    """A joint at a limit from one node to another, and the impulse of the limit's force."""

    joint: int
    kind: Kind
    side: float
    first: int
    last: int
    most: int


def guesses_of(robot: Robot, solved: Solved) -> Iterator[Guess]:
    """Yield structures that a refined motion may have, the likeliest first."""
    shares = efforts_of(robot, solved.spline, solved.spline.cells) / robot.tau_max
    along, known = costates_of(robot, solved), list[Switching]()
    costate = _first_costate(along)
    for brief, long, between, near in product(BRIEF, LONG, BETWEEN, NEAR):
        switching = _Reading(robot, solved, shares, near, between, long, brief).switching()
        if not any(_alike(switching, each) for each in known):
            known.append(switching)
            nodes = _nodes(solved, along, switching, costate)
            yield Guess(switching, costate, _jumps(robot, solved, switching), nodes)


def _alike(one: Switching, other: Switching) -> bool:
    """Return whether two structures are the same but for little of their times."""
    if one.key() != other.key():
        return False
    return bool(np.all(np.abs(one.times - other.times) < SAME * one.t_final))


class _Reading:
    """Reads one structure off the efforts at the nodes over their limits (nodes, n)."""

    def __init__(
        self,
        robot: Robot,
        solved: Solved,
        shares: Matrix,
        near: float,
        between: float,
        long: int,
        brief: int,
    ):
        """Take what counts as at a limit, as between limits, and as long."""
        self._robot, self._solved, self._shares = robot, solved, shares
        self._inside = np.abs(shares) < between
        self._near, self._long, self._brief = near, long, brief
        self._h = solved.spline.duration / solved.spline.cells
        self._does: list[list[Control | None]] = [
            [None if inside else full(share) for inside, share in zip(*column, strict=True)]
            for column in zip(self._inside.T, shares.T, strict=True)
        ]

    def switching(self) -> Switching:
        """Return the structure."""
        rows, controls = list[tuple[float, int, Control]](), list[Control]()
        for each in self._at_limits():
            self._keep(each, rows)
        for joint, does in enumerate(self._does):
            controls.append(self._events(joint, does, rows))
        return assembled(controls, rows, self._solved.spline.duration)

    def _at_limits(self) -> Iterator[_AtLimit]:
        """Yield where joints are at limits."""
        solved = self._solved
        for kind, force in ((Kind.POSITION, solved.place), (Kind.SPEED, solved.speed)):
            for joint, side in product(range(self._robot.n), (1.0, -1.0)):
                push = side * force[:, joint]
                found = np.flatnonzero(push * self._near > solved.weight)
                cuts = np.flatnonzero(np.diff(found) > GAP) + 1
                for run in np.split(found, cuts):
                    if len(run):
                        first, last = int(run[0]), int(run[-1])
                        most = first + int(np.argmax(push[first : last + 1]))
                        yield _AtLimit(joint, kind, side, first, last, most)

    def _keep(self, at: _AtLimit, rows: list[tuple[float, int, Control]]) -> None:
        """Write which efforts keep a joint at a limit, or a contact point."""
        keepers = self._keepers(at)
        if not keepers:
            point = contact if at.kind == Kind.POSITION else _contact_of_speed
            rows.append((at.most * self._h, at.joint, point(at.side)))
            return
        mass_matrix = customize(self._robot).unchecked.mass_matrix
        q, _, _ = self._solved.spline.joints(self._h * np.array([begin for _, begin, _ in keepers]))
        before: tuple[int, float] | None = None
        for (keeper, begin, end), place in zip(keepers, q, strict=True):
            gains = np.linalg.inv(mass_matrix(place))[at.joint]
            gain = gains[keeper] if abs(gains[keeper]) > NOTHING * abs(gains[at.joint]) else 0.0
            pushes = at.side * float(np.sign(gain))
            control = keeps(keeper, at.joint, at.side, pushes, at.kind)
            if before is not None:
                control = self._taken_over(control, *before, begin)
            self._does[keeper][begin:end] = [control] * (end - begin)
            before = keeper, pushes

    def _taken_over(self, control: Control, other: int, pushes: float, begin: int) -> Control:
        """Return the control that takes a joint over from another effort."""
        later = [each for each in self._does[other][begin : begin + 2 * GAP] if each is not None]
        if later and later[0] == full(-pushes):
            return Control(control.kind, control.direction, control.joint, control.side, True)
        return control

    def _keepers(self, at: _AtLimit) -> list[tuple[int, int, int]]:
        """Return efforts, first nodes and nodes after the last of those that keep a joint."""
        others = [k for k in range(self._robot.n) if k != at.joint]
        found: list[list[int]] = []
        for node in range(at.first, at.last + 1):
            inside = [k for k in (at.joint, *others) if self._inside[node, k]]
            if inside and not (found and found[-1][0] in inside and inside[0] != found[-1][0]):
                if not found or found[-1][0] != inside[0]:
                    found.append([inside[0], node, 0])
            if found and inside:
                found[-1][2] += 1
        found = [each for each in found if each[2] >= self._brief]
        if not found:
            return []
        kept: list[tuple[int, int]] = []
        for keeper, node, _ in found:
            if not kept or kept[-1][0] != keeper:
                kept.append((keeper, node))
        edges = [at.first, *(node for _, node in kept[1:]), at.last + 1]
        return [(each[0], a, b) for each, (a, b) in zip(kept, pairwise(edges), strict=True)]

    def _events(
        self, joint: int, does: list[Control | None], rows: list[tuple[float, int, Control]]
    ) -> Control:
        """Add the switches of one effort; return what it does at first."""
        runs = self._runs(does)
        kept = [
            (SINGULAR if each is None else each, a, b)
            for each, a, b in runs
            if each is not None or b - a >= self._long
        ] or [(full(self._shares[0, joint]), 0, len(does))]
        for (before, _, end), (after, begin, _) in pairwise(kept):
            if after.is_full and self._is_relieved(joint, before, end):
                continue
            rows += [
                (node * self._h, joint, control)
                for node, control in self._changes(joint, before, after, end, begin)
            ]
        return kept[0][0]

    def _changes(
        self, joint: int, before: Control, after: Control, end: int, begin: int
    ) -> list[tuple[float, Control]]:
        """Return at which nodes an effort changes, and to what, between two of its arcs.

        Before the joint comes to rest at a limit of position it is braked, and pushed off when it
        leaves.
        """
        if before == after:
            return self._pulse(joint, before, end, begin)
        if before.is_full and after.is_full:
            return [(self._zero(joint, before.direction, end, begin), after)]
        middle, change = 0.5 * (end - 1 + begin), full(-before.direction)
        against = np.flatnonzero(before.direction * self._shares[:, joint] < 0.0)
        if before.is_indirect or after.is_indirect:
            return [(middle, after)]
        if after.is_boundary_arc_of_position and before == full(after.direction):
            near = against[(against >= end) & (against <= begin + GAP)]
            first = float(near[0]) - 0.5 if near.size else begin - GAP
            return [(first, change), (max(float(begin), first + 1.0), after)]
        if before.is_boundary_arc_of_position and after == full(before.direction):
            near = against[(against >= end - GAP) & (against <= begin)]
            first, last = (near[0], near[-1]) if near.size else (end, end + GAP)
            return [(first - 0.5, change), (last + 0.5, after)]
        pushing = np.arange(end, begin)[after.direction * self._shares[end:begin, joint] > 0.0]
        if after.is_boundary_arc_of_speed and before == full(-after.direction) and pushing.size:
            if pushing.size >= BRIEF[0]:
                return [(pushing[0] - 0.5, full(after.direction)), (float(begin), after)]
        pulling = np.arange(end, begin)[before.direction * self._shares[end:begin, joint] < 0.0]
        if before.is_boundary_arc_of_speed and after == full(before.direction) and pulling.size:
            if pulling.size >= BRIEF[0]:
                return [(end - 0.5, full(-before.direction)), (pulling[-1] + 0.5, after)]
        return [(middle, after)]

    def _pulse(
        self, joint: int, control: Control, end: int, begin: int
    ) -> list[tuple[float, Control]]:
        """Return when an effort leaves its limit for the other one, and comes back, if it does."""
        against = 0.5 * (1.0 - control.direction * self._shares[end:begin, joint])
        if not (control.is_full and against.size and against.max() > PULSE):
            return []
        middle = end + float(against @ np.arange(len(against)) / against.sum())
        half = 0.5 * float(against.sum())
        return [(middle - half, full(-control.direction)), (middle + half, control)]

    def _zero(self, joint: int, sign: float, end: int, begin: int) -> float:
        """Return at which node, and share of the next cell, an effort passes zero."""
        middle = self._shares[end - 1 : begin + 1, joint]
        zero = int(np.argmax(middle * sign <= 0.0))
        a, b = abs(middle[zero - 1]), abs(middle[zero])
        return float(end - 2 + zero + a / (a + b))

    def _runs(self, does: list[Control | None]) -> list[tuple[Control | None, int, int]]:
        """Return what an effort does from which node to before which one."""
        edges = [k for k in range(1, len(does)) if does[k] != does[k - 1]]
        return [(does[a], a, b) for a, b in pairwise([0, *edges, len(does)])]

    def _is_relieved(self, joint: int, before: Control, node: int) -> bool:
        """Return whether another effort takes over near a node what one has kept until then."""
        held = before.held(joint)
        near = range(max(node - GAP, 0), min(node + 2 * GAP, len(self._shares)))
        return held is not None and any(
            each is not None and each.held(other) == held
            for other, does in enumerate(self._does)
            if other != joint
            for each in (does[k] for k in near)
        )


def _contact_of_speed(side: float) -> Control:
    return Control(Kind.CONTACT_SPEED, side)


def _first_costate(along: Costates) -> Vector:
    """Return the costates (2 n,) at the start, extrapolated."""
    line = np.polyfit(along.times[FIT], along.costates[FIT], 1)
    return np.asarray(line[1], dtype=np.float64)


def _nodes(solved: Solved, along: Costates, switching: Switching, costate: Vector) -> Matrix:
    """Return state and costate (arcs, 4 n) at the begins of the arcs.

    Costates are from a little later, as at limits they jump. On a boundary arc of position that of
    the joint's position is what it was before it, see `equations`.
    """
    h, arcs = switching.t_final / solved.spline.cells, switching.arcs()
    begins = np.array([begin for begin, _, _ in arcs])
    q, v, _ = solved.spline.joints(begins)
    n, later = q.shape[1], [min(begin + GAP * h, 0.5 * (begin + end)) for begin, end, _ in arcs]
    p = np.array([np.interp(later, along.times, each) for each in along.costates.T]).T
    p[0] = costate
    for joint in range(n):
        entered = -1
        for place, (_, _, controls) in enumerate(arcs):
            kept = any(
                each.is_boundary_arc_of_position and each.kept_or_own(k) == joint
                for k, each in enumerate(controls)
            )
            entered = (place if entered < 0 else entered) if kept else -1
            if kept:
                first, last = int(begins[entered] / h) - GAP, int(later[place] / h) + 1
                impulse = solved.place[max(first, 0) : last, joint].sum() / solved.scale
                p[place, joint] += switching.t_final * float(impulse)
    return np.hstack([q, v, p])


def _jumps(robot: Robot, solved: Solved, switching: Switching) -> Vector:
    """Return by how much costates jump: the impulses of the limits until then."""
    n, found, arcs = robot.n, [], switching.arcs()
    h = switching.t_final / solved.spline.cells
    for place, component in switching.jumps():
        joint, t = component % n, float(switching.times[place])
        begin = t
        if component < 3 * n:
            own = place
            while own >= 0 and any(
                each.is_boundary_arc_of_position and each.kept_or_own(k) == joint
                for k, each in enumerate(arcs[own][2])
            ):
                begin, own = arcs[own][0], own - 1
        first, last = int(begin / h) - GAP, int(t / h) + GAP + 1
        place_force, scale = (
            (solved.place, solved.scale)
            if component < 3 * n
            else (solved.speed, robot.v_max[joint])
        )
        impulse = switching.t_final * place_force[max(first, 0) : last, joint].sum() / scale
        found.append(-float(impulse))
    return np.array(found)
