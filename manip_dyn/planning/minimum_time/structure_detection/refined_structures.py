"""Structures read off motions that were refined on grids.

On such a grid arcs that are too brief for an SLP solution show, and so does which effort keeps
a joint at a limit, from the multipliers: an effort between its limits keeps the joint that
is at one, its own first, and is singular where none is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix
from manip_dyn.planning.minimum_time.extremals.controls import SINGULAR, Control, full
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.structure_detection.active_limits import (
    AtLimit,
    Holder,
    at_limits,
    control_of_holder,
    holding_efforts,
)
from manip_dyn.planning.minimum_time.structure_detection.contact_points import (
    ContactPattern,
    contacts_of,
)
from manip_dyn.planning.minimum_time.structure_detection.effort_transitions import (
    GAP,
    EffortTransitions,
)
from manip_dyn.planning.transcription.spline import GridSolution, efforts_of
from manip_dyn.robot import Robot

NEAR = (2e-5, 2e-4, 3e-6)
"""Distances from a limit of position or speed, over its scale, at which joints are at it, in the
order of trial."""
BETWEEN = (0.9, 0.98)
"""Efforts below this share of their limit lie between their limits."""
LONG = (24, 8, 10**6)
"""Nodes of a singular arc at least; a switch takes less. At last there are none."""
BRIEF = (3, 1, 64)
"""Nodes with an effort between its limits that a boundary arc has at least, else it is a contact
point."""
SAME = 1e-3
"""Share of the duration by less than which the times of one structure differ."""


class DetectionSettings(NamedTuple):
    """How a motion is read: what counts as at a limit, between limits, long and brief.

    With `apart` an effort that keeps a joint at a limit at some time is singular at no other:
    in the middle of a boundary arc of position nothing may press, though the joint rests.
    `touching` is what a joint does where another's effort keeps it at a limit by its speed only.
    """

    brief: int
    long: int
    between: float
    near: float
    apart: bool = False
    touching: ContactPattern = ContactPattern.ARC


SETTINGS = (
    *product(BRIEF[:1], LONG, BETWEEN, NEAR),
    *product(BRIEF[:1], LONG[:1], BETWEEN, NEAR[:1], (True,)),
    *product(BRIEF[:1], LONG[::2], BETWEEN[:1], NEAR[:1], (False,), tuple(ContactPattern)[1:]),
    *product(BRIEF[1:], LONG, BETWEEN, NEAR),
)
"""In the order of trial."""


Row = tuple[float, int, Control]
EffortControls = list[Control | None]


def structures_of(robot: Robot, solved: GridSolution) -> Iterator[Switching]:
    """Yield structures that a refined motion may have, the likeliest first."""
    shares = efforts_of(robot, solved.spline, solved.spline.cells) / robot.tau_max
    known = list[Switching]()
    for how in SETTINGS:
        switching = _Detector(robot, solved, shares, DetectionSettings(*how)).switching()
        if not any(_are_alike(switching, each) for each in known):
            known.append(switching)
            yield switching


def _are_alike(one: Switching, other: Switching) -> bool:
    """Return whether two structures are the same but for little of their times."""
    if one.key() != other.key():
        return False
    return bool(np.all(np.abs(one.times - other.times) < SAME * one.t_final))


class _Detector:
    """Reads one structure off the efforts at the nodes over their limits (nodes, n)."""

    def __init__(self, robot: Robot, solved: GridSolution, shares: Matrix, how: DetectionSettings):
        """Take the motion, and how it is read."""
        self._robot, self._solved, self._shares, self._how = robot, solved, shares, how
        self._inside = np.abs(shares) < how.between
        self._touching = set[int]()
        self._h = solved.spline.duration / solved.spline.cells
        self._does: list[EffortControls] = [
            [None if inside else full(share) for inside, share in zip(*column, strict=True)]
            for column in zip(self._inside.T, shares.T, strict=True)
        ]

    def switching(self) -> Switching:
        """Return the structure."""
        rows = list[Row]()
        for each in at_limits(self._solved, self._how.near):
            kept = holding_efforts(each, self._inside, self._how.brief)
            if self._how.touching != ContactPattern.ARC and self._is_indirect(each, kept):
                rows += self._touch(each, kept[0].effort)
            elif kept:
                self._keep(each, kept)
            else:
                rows.append((each.most * self._h, each.joint, each.contact))
        controls = [self._read(joint, does, rows) for joint, does in enumerate(self._does)]
        return assembled(controls, rows, self._solved.spline.duration)

    def _is_indirect(self, at: AtLimit, kept: list[Holder]) -> bool:
        """Return whether a single effort keeps a joint by its own joint's speed only."""
        return len(kept) == 1 and self._keeping(at, kept[0]).is_indirect

    def _keeping(self, at: AtLimit, keeper: Holder) -> Control:
        return control_of_holder(self._robot, self._solved, at, keeper)

    def _touch(self, at: AtLimit, effort: int) -> list[Row]:
        """Write a boundary arc at a limit that is kept indirectly; return contact points."""
        force = self._solved.place[:, at.joint]
        self._touching.add(effort)
        touches = contacts_of(at.side * force, at.first, at.last, self._how.touching)
        if touches.arc is not None:
            begin, end = touches.arc
            control = self._keeping(at, Holder(effort, begin, end))
            self._does[effort][begin:end] = [control] * (end - begin)
        return [(node * self._h, at.joint, at.contact) for node in touches.contacts]

    def _keep(self, at: AtLimit, kept: list[Holder]) -> None:
        """Write which efforts keep a joint at a limit, one after the other."""
        before = -1
        for keeper in kept:
            effort, begin, end = keeper
            control = self._keeping(at, keeper)
            if before >= 0:
                pushes = self._does[before][begin - 1]
                later = [each for each in self._does[before][begin : begin + 2 * GAP] if each]
                brakes = pushes and later and later[0] == full(-pushes.direction)
                control = replace(control, brakes=bool(brakes))
            self._does[effort][begin:end] = [control] * (end - begin)
            before = effort

    def _read(self, joint: int, does: EffortControls, rows: list[Row]) -> Control:
        """Add the switches of one effort; return what it does at first."""
        edges = [0, *(k for k in range(1, len(does)) if does[k] != does[k - 1]), len(does)]
        is_apart = self._how.apart and any(each and each.is_at_limit for each in does)
        long = len(does) + 1 if is_apart else self._how.long
        long = LONG[0] if joint in self._touching else long
        kept = [
            (does[a] or SINGULAR, a, b)
            for a, b in pairwise(edges)
            if does[a] is not None or b - a >= long or _is_beside_indirect(does, a, b)
        ] or [(full(self._shares[0, joint]), 0, len(does))]
        changes = EffortTransitions(self._shares[:, joint])
        for (before, _, end), (after, begin, _) in pairwise(kept):
            if after.is_full and self._is_relieved(joint, before, end):
                continue
            rows += [
                (node * self._h, joint, control)
                for node, control in changes.between(before, after, end, begin)
            ]
        return kept[0][0]

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


def _is_beside_indirect(does: EffortControls, begin: int, end: int) -> bool:
    """Return whether an effort keeps another joint indirectly before or after some nodes."""
    beside = [does[begin - 1] if begin > 0 else None, does[end] if end < len(does) else None]
    return any(each is not None and each.is_indirect for each in beside)
