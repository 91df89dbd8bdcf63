"""Structures detected in motions refined on grids.

A fine grid resolves arcs that are too brief for an SLP solution. The multipliers show which effort
holds a joint at a limit: an effort between its limits holds a joint at a limit, preferably its own
joint. If there is no such joint, it is singular.
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
"""Scaled distances from a position or speed limit below which the limit is active, in order of
trial."""
BETWEEN = (0.9, 0.98)
"""Normalized efforts below which efforts are between their limits."""
LONG = (24, 8, 10**6)
"""Minimum number of nodes of a singular arc; the last value excludes singular arcs."""
BRIEF = (3, 1, 64)
"""Minimum number of nodes with an effort between its limits on a boundary arc; shorter ones are
contact points."""
SAME = 1e-3
"""Largest time difference within a structure as a fraction of the duration."""


class DetectionSettings(NamedTuple):
    """Thresholds of the detection.

    Attributes:
        brief: Smallest number of nodes of a boundary arc.
        long: Smallest number of nodes of a singular arc.
        between: Largest normalized effort that counts as between the limits.
        near: Scaled distance from a limit within which the limit is active.
        apart: Whether an effort that holds a joint at a limit is never singular elsewhere. On a
            boundary arc of position the multiplier may vanish although the joint rests.
        pattern: Contacts of a joint that is held indirectly at a limit by another joint's effort.
    """

    brief: int
    long: int
    between: float
    near: float
    apart: bool = False
    pattern: ContactPattern = ContactPattern.ARC


SETTINGS = (
    *product(BRIEF[:1], LONG, BETWEEN, NEAR),
    *product(BRIEF[:1], LONG[:1], BETWEEN, NEAR[:1], (True,)),
    *product(BRIEF[:1], LONG[::2], BETWEEN[:1], NEAR[:1], (False,), tuple(ContactPattern)[1:]),
    *product(BRIEF[1:], LONG, BETWEEN, NEAR),
)
"""Settings in order of trial."""


Row = tuple[float, int, Control]
EffortControls = list[Control | None]


def structures_of(robot: Robot, solved: GridSolution) -> Iterator[Switching]:
    """Yield possible structures of a refined motion, most likely first."""
    normalized = efforts_of(robot, solved.spline, solved.spline.cells) / robot.tau_max
    structures = list[Switching]()
    for settings in SETTINGS:
        switching = _Detector(robot, solved, normalized, DetectionSettings(*settings)).switching()
        if not any(_are_alike(switching, previous) for previous in structures):
            structures.append(switching)
            yield switching


def _are_alike(first: Switching, second: Switching) -> bool:
    """Return whether two structures are equal up to small time differences."""
    if first.key() != second.key():
        return False
    return bool(np.all(np.abs(first.times - second.times) < SAME * first.t_final))


class _Detector:
    """Detects one structure in the normalized efforts at the nodes (nodes, n)."""

    def __init__(
        self, robot: Robot, solved: GridSolution, normalized: Matrix, settings: DetectionSettings
    ):
        """Store the motion, its normalized efforts and the settings."""
        self._robot, self._solved, self._normalized, self._settings = (
            robot,
            solved,
            normalized,
            settings,
        )
        self._inside = np.abs(normalized) < settings.between
        self._indirect_efforts = set[int]()
        self._h = solved.spline.duration / solved.spline.cells
        self._controls: list[EffortControls] = [
            [None if inside else full(load) for inside, load in zip(*column, strict=True)]
            for column in zip(self._inside.T, normalized.T, strict=True)
        ]

    def switching(self) -> Switching:
        """Return the detected structure."""
        rows = list[Row]()
        for at in at_limits(self._solved, self._settings.near):
            holders = holding_efforts(at, self._inside, self._settings.brief)
            if self._settings.pattern != ContactPattern.ARC and self._is_indirect(at, holders):
                rows += self._touch(at, holders[0].effort)
            elif holders:
                self._hold(at, holders)
            else:
                rows.append((at.most * self._h, at.joint, at.contact))
        controls = [
            self._add_switches(joint, nodes, rows) for joint, nodes in enumerate(self._controls)
        ]
        return assembled(controls, rows, self._solved.spline.duration)

    def _is_indirect(self, at: AtLimit, holders: list[Holder]) -> bool:
        """Return whether a joint is held by one effort, through the speed of its joint only."""
        return len(holders) == 1 and self._control(at, holders[0]).is_indirect

    def _control(self, at: AtLimit, keeper: Holder) -> Control:
        return control_of_holder(self._robot, self._solved, at, keeper)

    def _touch(self, at: AtLimit, effort: int) -> list[Row]:
        """Set a boundary arc at a limit that is held indirectly; return the contact points."""
        force = self._solved.place[:, at.joint]
        self._indirect_efforts.add(effort)
        contacts = contacts_of(at.side * force, at.first, at.last, self._settings.pattern)
        if contacts.arc is not None:
            begin, end = contacts.arc
            control = self._control(at, Holder(effort, begin, end))
            self._controls[effort][begin:end] = [control] * (end - begin)
        return [(node * self._h, at.joint, at.contact) for node in contacts.contacts]

    def _hold(self, at: AtLimit, holders: list[Holder]) -> None:
        """Set the controls of the efforts that hold a joint at a limit, in sequence."""
        before = -1
        for holder in holders:
            effort, begin, end = holder
            control = self._control(at, holder)
            if before >= 0:
                pushes = self._controls[before][begin - 1]
                later = [
                    control
                    for control in self._controls[before][begin : begin + 2 * GAP]
                    if control
                ]
                brakes = pushes and later and later[0] == full(-pushes.direction)
                control = replace(control, brakes=bool(brakes))
            self._controls[effort][begin:end] = [control] * (end - begin)
            before = effort

    def _add_switches(self, joint: int, nodes: EffortControls, rows: list[Row]) -> Control:
        """Add the switches of one effort; return its initial control."""
        edges = [0, *(k for k in range(1, len(nodes)) if nodes[k] != nodes[k - 1]), len(nodes)]
        is_apart = self._settings.apart and any(
            control and control.is_at_limit for control in nodes
        )
        long = len(nodes) + 1 if is_apart else self._settings.long
        long = LONG[0] if joint in self._indirect_efforts else long
        arcs = [
            (nodes[a] or SINGULAR, a, b)
            for a, b in pairwise(edges)
            if nodes[a] is not None or b - a >= long or _is_next_to_indirect(nodes, a, b)
        ] or [(full(self._normalized[0, joint]), 0, len(nodes))]
        changes = EffortTransitions(self._normalized[:, joint])
        for (before, _, end), (after, begin, _) in pairwise(arcs):
            if after.is_full and self._is_relieved(joint, before, end):
                continue
            rows += [
                (node * self._h, joint, control)
                for node, control in changes.between(before, after, end, begin)
            ]
        return arcs[0][0]

    def _is_relieved(self, joint: int, before: Control, node: int) -> bool:
        """Return whether a handover to another effort occurs near a node."""
        limit = before.held(joint)
        near = range(max(node - GAP, 0), min(node + 2 * GAP, len(self._normalized)))
        return limit is not None and any(
            control is not None and control.held(effort) == limit
            for effort, controls in enumerate(self._controls)
            if effort != joint
            for control in (controls[k] for k in near)
        )


def _is_next_to_indirect(nodes: EffortControls, begin: int, end: int) -> bool:
    """Return whether an adjacent arc holds another joint indirectly."""
    adjacent = [nodes[begin - 1] if begin > 0 else None, nodes[end] if end < len(nodes) else None]
    return any(control is not None and control.is_indirect for control in adjacent)
