"""Switching structures detected in motions on grids.

The multipliers show which limits are active. An effort between its limits holds a joint at a
limit, preferably its own joint. If there is no such joint, the effort is singular.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.splines import (
    BARRIER,
    CELLS,
    FREE_EFFORT,
    NEAR_POSITION,
    NEAR_SPEED,
    GridSolution,
    efforts_of,
)
from manip_dyn.planning.minimum_time.structures import (
    SINGULAR,
    Control,
    Kind,
    Switching,
    assembled,
    boundary_control,
    full,
)
from manip_dyn.robot import Robot

APART = 8
"""Minimum number of nodes between two peaks."""
VALLEY = 0.7
"""Largest multiplier between two contact points as a fraction of the lower peak."""


def contacts_of(push: Vector, first: int, last: int) -> list[int]:
    """Return the nodes of the contact points between two nodes, from multipliers (nodes,)."""
    peaks = _peaks(push, first, last)
    separate = peaks[:1]
    for node in peaks[1:]:
        lower = min(push[node], push[separate[-1]])
        if push[separate[-1] : node + 1].min() < VALLEY * lower:
            separate.append(node)
        elif push[node] > push[separate[-1]]:
            separate[-1] = node
    return separate


def _peaks(push: Vector, first: int, last: int) -> list[int]:
    """Return the nodes at which the multiplier has a local maximum, at least one."""
    peaks = [
        node
        for node in range(first, last + 1)
        if push[node] == push[max(node - APART, first) : min(node + APART, last) + 1].max()
        and first < node < last
    ]
    return peaks or [first + int(np.argmax(push[first : last + 1]))]


GAP = 4
"""Maximum gap in nodes between two intervals at a limit that are merged, or around a switch."""
PULSE = 0.1
"""Smallest excursion of an effort from its limit, relative to the range, that is a pulse."""
VISIBLE = 3
"""Minimum number of nodes with a sign for which an effort has this sign between two arcs."""

Transition = tuple[float, Control]
"""Node, possibly fractional, of a transition, and the new control."""


class EffortTransitions:
    """Detects the transitions of one effort between arcs."""

    def __init__(self, normalized_efforts: Vector):
        """Store the normalized efforts at the nodes (nodes,)."""
        self._normalized = normalized_efforts

    def between(self, before: Control, after: Control, end: int, begin: int) -> list[Transition]:
        """Return the transitions between an arc that ends before `end` and one from `begin` on.

        A joint is braked before it comes to rest at a position limit, and pushed off later. At
        speed limits the effort may temporarily have the opposite sign.
        """
        if before.is_full and after.is_full:
            changes = self._crossings(end - 1, begin + 1)
            is_pulse = before == after and len(changes) <= 2
            return self._pulse(before, end, begin) if is_pulse else changes
        if before == after:
            return []
        if not (before.is_indirect or after.is_indirect):
            if before.is_full and after.is_at_limit:
                return self._arrival(before, after, end, begin)
            if after.is_full and before.is_at_limit:
                return self._departure(before, after, end, begin)
        return [(0.5 * (end - 1 + begin), after)]

    def _arrival(self, before: Control, after: Control, end: int, begin: int) -> list[Transition]:
        """Return the transitions from an effort limit to a boundary arc."""
        opposite = full(-before.direction)
        if after.is_boundary_arc_of_position and before == full(after.direction):
            nodes = self._with_sign(opposite, end, begin + GAP + 1)
            first = float(nodes[0]) - 0.5 if nodes.size else begin - GAP
            return [(first, opposite), (max(float(begin), first + 1.0), after)]
        nodes = self._with_sign(opposite, end, begin)
        is_pushed = after.is_boundary_arc_of_speed and opposite == full(after.direction)
        if is_pushed and nodes.size >= VISIBLE:
            return [(nodes[0] - 0.5, opposite), (float(begin), after)]
        return [(0.5 * (end - 1 + begin), after)]

    def _departure(
        self, before: Control, after: Control, end: int, begin: int
    ) -> list[Transition]:
        """Return the transitions from a boundary arc to an effort limit."""
        opposite = full(-after.direction)
        if after == full(before.direction):
            if before.is_boundary_arc_of_position:
                nodes = self._with_sign(opposite, end - GAP, begin + 1)
                first, last = (nodes[0], nodes[-1]) if nodes.size else (end, end + GAP)
                return [(first - 0.5, opposite), (last + 0.5, after)]
            nodes = self._with_sign(opposite, end, begin)
            if nodes.size >= VISIBLE:
                return [(end - 0.5, opposite), (nodes[-1] + 0.5, after)]
        return [(0.5 * (end - 1 + begin), after)]

    def _pulse(self, control: Control, end: int, begin: int) -> list[Transition]:
        """Return the transitions to the opposite limit and back, if there are any."""
        against = 0.5 * (1.0 - control.direction * self._normalized[end:begin])
        if not (control.is_full and against.size and against.max() > PULSE):
            return []
        middle = end + float(against @ np.arange(len(against)) / against.sum())
        half = 0.5 * float(against.sum())
        return [(middle - half, full(-control.direction)), (middle + half, control)]

    def from_start(self, control: Control, begin: int) -> tuple[Control, list[Transition]]:
        """Return the initial control and the transitions before an arc that begins at a node."""
        changes = self._crossings(0, begin + 1) if control.is_full else []
        return full(self._normalized[0]) if changes else control, changes

    def to_end(self, control: Control, end: int) -> list[Transition]:
        """Return the transitions after an arc that ends before a node."""
        return self._crossings(end - 1, len(self._normalized)) if control.is_full else []

    def _crossings(self, first: int, end: int) -> list[Transition]:
        """Return the sign changes of the effort from node `first` to `end`, exclusive."""
        values = self._normalized[first:end]
        nodes = np.flatnonzero(values[:-1] * values[1:] < 0.0)
        return [
            (float(first + k + values[k] / (values[k] - values[k + 1])), full(values[k + 1]))
            for k in nodes
        ]

    def _with_sign(self, control: Control, first: int, end: int) -> Vector:
        """Return the nodes from `first` to `end`, exclusive, at which the effort has a sign."""
        values = control.direction * self._normalized[max(first, 0) : end]
        return np.asarray(max(first, 0) + np.flatnonzero(values > 0.0))


NOTHING = 1e-9
"""Smallest relevant acceleration by an effort, relative to that by the joint's own effort."""


class AtLimit(NamedTuple):
    """A joint at a limit from node `first` to node `last`; the multiplier is largest at `most`."""

    joint: int
    kind: Kind
    side: float
    first: int
    last: int
    most: int

    @property
    def contact(self) -> Control:
        """Contact point that replaces this interval if it is short."""
        kind = Kind.CONTACT_POSITION if self.kind == Kind.POSITION else Kind.CONTACT_SPEED
        return Control(kind, self.side)


class Holder(NamedTuple):
    """An interval in which an effort keeps a joint at a limit of position or speed.

    Attributes:
        effort: Index of the joint whose effort does this; it may be another joint.
        begin: First node of the grid.
        end: Node after the last one.
    """

    effort: int
    begin: int
    end: int


def at_limits(solved: GridSolution, position: float, speed: float) -> Iterator[AtLimit]:
    """Yield the intervals of joints at limits, with the largest relative distances from them."""
    for kind, force, near in (
        (Kind.POSITION, solved.place, position),
        (Kind.SPEED, solved.speed, speed),
    ):
        for joint, side in product(range(force.shape[1]), (1.0, -1.0)):
            push = side * force[:, joint]
            nodes = np.flatnonzero(push * near > solved.weight)
            cuts = np.flatnonzero(np.diff(nodes) > GAP) + 1
            for run in np.split(nodes, cuts) if nodes.size else []:
                first, last = int(run[0]), int(run[-1])
                most = first + int(np.argmax(push[first : last + 1]))
                yield AtLimit(joint, kind, side, first, last, most)


def holding_efforts(
    intervals: list[AtLimit], inside: NDArray[np.bool_], brief: int
) -> list[list[Holder]]:
    """Return the efforts that hold joints, in sequence, for each interval at a limit.

    At each node every joint at a limit is assigned another effort between its limits.

    Args:
        intervals: The joints at their limits.
        inside: Whether efforts are between their limits at the nodes (nodes, n).
        brief: Smallest number of nodes for which an effort holds a joint.
    """
    runs: list[list[list[int]]] = [[] for _ in intervals]
    for node in range(len(inside)):
        here = [k for k, at in enumerate(intervals) if at.first <= node <= at.last]
        if not here:
            continue
        efforts = assigned(
            tuple(intervals[k].joint for k in here),
            tuple(np.flatnonzero(inside[node]).tolist()),
            tuple(runs[k][-1][0] if runs[k] else -1 for k in here),
        )
        for k, effort in zip(here, efforts, strict=True):
            if effort >= 0:
                if not runs[k] or runs[k][-1][0] != effort:
                    runs[k].append([effort, node, 0])
                runs[k][-1][2] += 1
    return [_sequence(at, efforts, brief) for at, efforts in zip(intervals, runs, strict=True)]


@lru_cache(maxsize=1024)
def assigned(
    joints: tuple[int, ...], inside: tuple[int, ...], previous: tuple[int, ...]
) -> tuple[int, ...]:
    """Return distinct efforts that hold joints, or -1 for joints without one.

    The result has as few changes from the previous efforts as possible. New efforts are preferably
    those of the joints.
    """

    def score(efforts: tuple[int, ...]) -> tuple[int, int, int]:
        rows = list(zip(efforts, joints, previous, strict=True))
        return (
            sum(effort >= 0 for effort, _, _ in rows),
            sum(effort == before for effort, _, before in rows if effort >= 0),
            sum(effort == joint for effort, joint, _ in rows),
        )

    return max(permutations(inside + (-1,) * len(joints), len(joints)), key=score)


def _sequence(at: AtLimit, runs: list[list[int]], brief: int) -> list[Holder]:
    """Return the efforts that hold one joint from (effort, first node, number of nodes)."""
    holders: list[tuple[int, int]] = []
    for effort, node, count in runs:
        if count >= brief and not (holders and holders[-1][0] == effort):
            holders.append((effort, node))
    if not holders:
        return []
    edges = [at.first, *(node for _, node in holders[1:]), at.last + 1]
    return [Holder(k, a, b) for (k, _), (a, b) in zip(holders, pairwise(edges), strict=True)]


def control_of_holder(robot: Robot, solved: GridSolution, at: AtLimit, keeper: Holder) -> Control:
    """Return the control of an effort that holds a joint, at the first of its nodes."""
    time = solved.spline.duration / solved.spline.cells * np.array([keeper.begin])
    q, _, _ = solved.spline.joints(time)
    gains = np.linalg.inv(customize(robot).unchecked.mass_matrix(q[0]))[at.joint]
    gain = gains[keeper.effort]
    gain = gain if abs(gain) > NOTHING * gains[at.joint] else 0.0
    pushes = at.side * float(np.sign(gain))
    return boundary_control(keeper.effort, at.joint, at.side, pushes, at.kind)


SAME = 1e-3
"""Largest time difference within a structure as a fraction of the duration."""


class DetectionSettings(NamedTuple):
    """Thresholds of the detection.

    Attributes:
        brief: Smallest number of nodes with an effort between its limits on a boundary arc;
            shorter ones are contact points. With 0, contact points become arcs of one node: if a
            joint touches a limit at full effort, the switches often cannot satisfy the additional
            condition, but those of an arc can.
        long: Smallest number of nodes of a singular arc on 2048 cells; proportional to the square
            root of the number of cells.
        between: Normalized effort below which efforts are between their limits.
        position: Relative distance from a position limit below which the limit is active, for the
            barrier of the finest grid.
        speed: The same for speed limits.
        is_touched: Whether contact points replace a boundary arc on which a single effort holds
            the joint at its limit indirectly, through the speed of another joint.
        is_apart: Whether an effort that holds a joint at a limit is never singular. The multiplier
            of a position limit may vanish on a boundary arc.
        is_split: Whether an arc at a position limit contains only nodes with an effort between its
            limits. Peaks of the multiplier before and after it are contact points.
    """

    brief: int = 3
    long: int = 24
    between: float = FREE_EFFORT
    position: float = NEAR_POSITION
    speed: float = NEAR_SPEED
    is_touched: bool = False
    is_apart: bool = False
    is_split: bool = False


ALL_FULL = 10**6
"""Number of nodes of a singular arc that excludes singular arcs."""
SETTINGS = (
    DetectionSettings(is_apart=True),
    DetectionSettings(),
    DetectionSettings(long=ALL_FULL, position=2e-4, speed=2e-5),
    DetectionSettings(is_touched=True),
    DetectionSettings(is_apart=True, is_split=True),
    DetectionSettings(between=0.98, is_split=True),
    DetectionSettings(position=3e-6),
    DetectionSettings(brief=0),
    DetectionSettings(between=0.98, speed=2e-5, is_split=True),
    DetectionSettings(brief=64),
)
"""Settings in order of trial."""


Row = tuple[float, int, Control]
EffortControls = list[Control | None]


def structures_of(robot: Robot, solved: GridSolution) -> Iterator[Switching]:
    """Yield possible structures of a motion on a grid, most likely first."""
    cells = solved.spline.cells
    normalized = efforts_of(robot, solved.spline, cells) / robot.tau_max
    wider, finer = solved.weight * robot.n * cells / BARRIER, (cells / CELLS[-1]) ** 0.5
    structures = list[Switching]()
    for settings in SETTINGS:
        settings = settings._replace(
            long=max(round(finer * settings.long), 2),
            position=wider * settings.position,
            speed=wider * settings.speed,
        )
        switching = _Detector(robot, solved, normalized, settings).switching()
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
        self._h = solved.spline.duration / solved.spline.cells
        self._controls: list[EffortControls] = [
            [None if inside else full(load) for inside, load in zip(*column, strict=True)]
            for column in zip(self._inside.T, normalized.T, strict=True)
        ]

    def switching(self) -> Switching:
        """Return the detected structure."""
        rows = list[Row]()
        settings = self._settings
        intervals = list(at_limits(self._solved, settings.position, settings.speed))
        sequences = holding_efforts(intervals, self._inside, settings.brief)
        for at, holders in zip(intervals, sequences, strict=True):
            if not holders and self._settings.brief == 0:
                holders = [Holder(at.joint, at.most, at.most + 1)]
            if self._settings.is_touched and self._is_indirect(at, holders):
                push = at.side * self._solved.place[:, at.joint]
                nodes = contacts_of(push, at.first, at.last)
                rows += [(node * self._h, at.joint, at.contact) for node in nodes]
            elif holders:
                if self._settings.is_split:
                    rows += self._split(at, holders)
                self._hold(at, holders)
            else:
                rows.append((at.most * self._h, at.joint, at.contact))
        controls = [
            self._add_switches(joint, nodes, rows) for joint, nodes in enumerate(self._controls)
        ]
        return assembled(controls, rows, self._solved.spline.duration)

    def _split(self, at: AtLimit, holders: list[Holder]) -> list[Row]:
        """Shorten the arc of a joint at a position limit; return the contact points next to it."""
        push, rows = at.side * self._solved.place[:, at.joint], list[Row]()
        for index, step in ((0, 1), (-1, -1)):
            effort, begin, end = holders[index]
            inside = begin + np.flatnonzero(self._inside[begin:end, effort])[::step]
            if at.kind != Kind.POSITION or inside.size == 0:
                continue
            arc = int(inside[0])
            first, last = (begin, arc - APART) if step > 0 else (arc + APART, end - 1)
            if first < last:
                rows += [
                    (k * self._h, at.joint, at.contact) for k in contacts_of(push, first, last)
                ]
                edges = (arc, end) if step > 0 else (begin, arc + 1)
                holders[index] = Holder(effort, *edges)
        return rows

    def _is_indirect(self, at: AtLimit, holders: list[Holder]) -> bool:
        """Return whether a joint is held by one effort, through the speed of its joint only."""
        return len(holders) == 1 and self._control(at, holders[0]).is_indirect

    def _control(self, at: AtLimit, keeper: Holder) -> Control:
        return control_of_holder(self._robot, self._solved, at, keeper)

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
        is_apart = self._settings.is_apart and any(
            control is not None and control.is_at_limit for control in nodes
        )
        long = len(nodes) + 1 if is_apart else self._settings.long
        edges = [0, *(k for k in range(1, len(nodes)) if nodes[k] != nodes[k - 1]), len(nodes)]
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
        (first, begin, _), (final, _, end) = arcs[0], arcs[-1]
        initial, earlier = changes.from_start(first, begin)
        rows += [
            (node * self._h, joint, control)
            for node, control in [*earlier, *changes.to_end(final, end)]
        ]
        return initial

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
