"""Switching structures: the controls of all efforts on the arcs between switches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector

Controls = tuple["Control", ...]
"""Controls of all efforts (n,)."""


class Kind(IntEnum):
    """Kind of a control, or of a contact point of the joint."""

    SINGULAR = 0
    FULL = 1
    SPEED = 2
    POSITION = 3
    CONTACT_POSITION = 4
    CONTACT_SPEED = 5
    OTHER_JOINT_SPEED = 6
    OTHER_JOINT_POSITION = 7


_FULL = Kind.FULL
POSITION_KINDS = (Kind.POSITION, Kind.CONTACT_POSITION, Kind.OTHER_JOINT_POSITION)


@dataclass(frozen=True)
class Control:
    """State of one effort: at its limit, singular, or holding a joint at a limit.

    Attributes:
        kind: Kind of the control.
        direction: For a full effort, its sign. For a limit of the effort's own joint, the side, 1
            for the upper limit. For a limit of another joint, the direction in which the effort
            pushes that joint against the limit. 0 if singular or indirect (`is_indirect`).
        joint: Other joint that the effort holds at a speed or position limit, or -1.
        side: Side of that joint's limit.
        brakes: Whether the previous effort at a handover switches to the limit that pulls the
            joint away from its limit instead of the one that pushes against it.
    """

    kind: Kind
    direction: float
    joint: int = -1
    side: float = 0.0
    brakes: bool = False

    @property
    def is_full(self) -> bool:
        """Whether the effort is at its limit."""
        return self.kind == Kind.FULL

    @property
    def is_singular(self) -> bool:
        """Whether the effort is singular."""
        return self.kind == Kind.SINGULAR

    @property
    def is_contact(self) -> bool:
        """Whether the joint only has a contact point, at which the effort does not change."""
        return self.kind in (Kind.CONTACT_POSITION, Kind.CONTACT_SPEED)

    @property
    def is_at_limit(self) -> bool:
        """Whether a joint is at a limit, on a boundary arc or at a contact point."""
        return not (self.is_full or self.is_singular)

    @property
    def is_boundary_arc_of_speed(self) -> bool:
        """Whether the effort holds a joint at its speed limit."""
        return self.kind in (Kind.SPEED, Kind.OTHER_JOINT_SPEED)

    @property
    def is_boundary_arc_of_position(self) -> bool:
        """Whether the effort holds a joint at its position limit."""
        return self.kind in (Kind.POSITION, Kind.OTHER_JOINT_POSITION)

    @property
    def is_indirect(self) -> bool:
        """Whether the effort holds another joint at a position limit by its own joint's speed.

        Such an effort does not change the acceleration of the held joint.
        """
        return self.kind == Kind.OTHER_JOINT_POSITION and self.direction == 0.0

    @property
    def is_about_speed(self) -> bool:
        """Whether the joint is at its speed limit, on a boundary arc or at a contact point."""
        return self.is_boundary_arc_of_speed or self.kind == Kind.CONTACT_SPEED

    def held_at_speed(self, effort: int) -> tuple[int, float] | None:
        """Return the joint held at a speed limit by effort `effort`, and the side, or None."""
        return self.held(effort) if self.is_boundary_arc_of_speed else None

    def held(self, effort: int) -> tuple[int, float] | None:
        """Return the joint held at any limit by effort `effort`, and the side, or None."""
        if self.kind in (Kind.SPEED, Kind.POSITION):
            return effort, self.direction
        return (self.joint, self.side) if self.joint >= 0 else None

    def held_or_own(self, effort: int) -> int:
        """Return the joint held at a limit by effort `effort`, or the effort's own joint."""
        held = self.held(effort)
        return effort if held is None else held[0]

    def shrunk(self) -> Control:
        """Return the contact point that replaces a boundary arc of the effort's own joint."""
        kind = Kind.CONTACT_SPEED if self.kind == Kind.SPEED else Kind.CONTACT_POSITION
        return Control(kind, self.direction)

    def __lt__(self, other: Control) -> bool:
        """Order the controls of one effort at the same time."""
        return self._rank < other._rank

    @property
    def _rank(self) -> float:
        return self.direction * (self.kind + 2.0 * max(self.joint, 0) + (self.side < 0.0))


SINGULAR = Control(Kind.SINGULAR, 0.0)
_UPPER, _LOWER = Control(Kind.FULL, 1.0), Control(Kind.FULL, -1.0)


def full(direction: float) -> Control:
    """Return the control at an effort limit; 1 denotes the upper limit."""
    return _UPPER if direction > 0.0 else _LOWER


def are_full(controls: Sequence[Control]) -> bool:
    """Return whether all efforts are at their limits."""
    return all(control.kind == _FULL for control in controls)


def control_of_sign(sign: float) -> Control:
    """Return the full control with a sign, or a singular control if the sign is 0."""
    return full(sign) if sign != 0.0 else SINGULAR


def boundary_control(
    effort: int, joint: int, side: float, direction: float, kind: Kind = Kind.SPEED
) -> Control:
    """Return the control of an effort that holds a joint at a speed or position limit.

    Args:
        effort: Index of the effort.
        joint: Index of the held joint.
        side: 1 for the upper limit, -1 for the lower limit.
        direction: `side` times the sign of the joint's acceleration per effort.
        kind: `Kind.SPEED` or `Kind.POSITION`.
    """
    if effort == joint:
        return Control(kind, side)
    indirect_kind = Kind.OTHER_JOINT_SPEED if kind == Kind.SPEED else Kind.OTHER_JOINT_POSITION
    return Control(indirect_kind, direction, joint, side)


def is_smooth(before: Control, after: Control) -> bool:
    """Return whether a joint enters or leaves a speed limit without a jump in acceleration.

    An entry is smooth if the full effort before it opposes the limit. An exit is smooth if the
    full effort after it pushes the joint against the limit. In both cases the effort is too weak
    to hold the joint on the other side of the switch. At a handover, the new control must also
    have `brakes` False.
    """
    toward = before.direction * after.direction
    if after.is_boundary_arc_of_speed:
        return before.is_full and toward < 0.0 and not after.brakes
    return before.is_boundary_arc_of_speed and after.is_full and toward > 0.0


def controls_after(controls: Controls, joint: int, control: Control) -> Controls:
    """Return the controls (n,) after one of them has changed.

    At a handover the previous effort switches to the limit that pushes the joint against its
    limit, or to the opposite one if the new control has `brakes`.
    """
    after, limit = list(controls), control.held(joint)
    for effort, previous in enumerate(controls):
        if limit is not None and effort != joint and previous.held(effort) == limit:
            after[effort] = full(-previous.direction if control.brakes else previous.direction)
    after[joint] = control
    return tuple(after)


def held_throughout(before: Controls, after: Controls, joint: int) -> list[tuple[int, int]]:
    """Return the efforts that hold a joint at a speed limit before and after a switch of `joint`.

    The second number is the held joint. The effort `joint` is not included.
    """
    limits = [(k, control.held_at_speed(k)) for k, control in enumerate(before) if k != joint]
    return [(k, limit[0]) for k, limit in limits if limit and after[k].held_at_speed(k) == limit]


def effort_signs(controls: Sequence[Control]) -> Vector:
    """Return the signs of full efforts (n,); 0 for singular efforts and boundary arcs."""
    return np.array([control.direction if control.is_full else 0.0 for control in controls])


class Switching(NamedTuple):
    """Structure of a motion: the initial controls and all switches.

    Attributes:
        controls: Initial controls (n,).
        joints: Joints that switch, in order of time (m,).
        values: New controls of these joints' efforts (m,), or contact points.
        times: Switch times, s, in non-decreasing order (m,).
        t_final: Final time, s.
    """

    controls: Controls
    joints: tuple[int, ...]
    values: Controls
    times: Vector
    t_final: float

    def arcs(self) -> list[tuple[float, float, Controls]]:
        """Return start, end (s) and controls (n,) of every arc between switches."""
        edges, controls, arcs = [0.0, *self.times.tolist(), self.t_final], self.controls, []
        for k, (begin, end) in enumerate(itertools.pairwise(edges)):
            arcs.append((begin, end, controls))
            if k < len(self.joints) and not self.values[k].is_contact:
                controls = controls_after(controls, self.joints[k], self.values[k])
        return arcs

    def jumps(self) -> list[tuple[int, int]]:
        """Return the switches at which a costate jumps, and the index of this costate in (x, p).

        The costate of a joint's position jumps where the joint leaves a position limit or has a
        contact point with it. The costate of its speed jumps at a contact point with a speed
        limit, at a smooth entry or exit, and at a handover where the previous effort has reached
        its limit. The costates of the speeds of other joints at speed limits then jump, too,
        because the switching functions of the efforts that hold them remain zero.
        """
        n, arcs, jumps = len(self.controls), self.arcs(), []
        for switch, (joint, value) in enumerate(zip(self.joints, self.values, strict=True)):
            before = arcs[switch][2][joint]
            if value.kind == Kind.CONTACT_POSITION:
                jumps.append((switch, 2 * n + joint))
            elif before.is_boundary_arc_of_position:
                jumps.append((switch, 2 * n + before.held_or_own(joint)))
            elif value.kind == Kind.CONTACT_SPEED or is_smooth(before, value):
                holding = value if value.is_about_speed else before
                held = [holding.held_or_own(joint)]
                held += [
                    limit
                    for _, limit in held_throughout(arcs[switch][2], arcs[switch + 1][2], joint)
                ]
                jumps += [(switch, 3 * n + component) for component in held]
        return jumps

    def per_joint(self) -> list[list[float]]:
        """Return the switch times of each joint, s."""
        arcs, times = self.arcs(), []
        for joint in range(len(self.controls)):
            jumps = [
                end
                for (_, end, before), (_, _, after) in itertools.pairwise(arcs)
                if before[joint] != after[joint]
            ]
            times.append(jumps)
        return times

    def is_symmetric(self) -> bool:
        """Return whether the efforts equal minus those in reversed order, up to rounding."""
        first, last = effort_signs(self.controls), effort_signs(self.arcs()[-1][2])
        return np.array_equal(first, -last) and all(
            np.allclose(times, np.subtract(self.t_final, times[::-1]), rtol=0.0, atol=1e-6)
            for times in self.per_joint()
        )

    def events(self, joint: int) -> list[tuple[float, Control]]:
        """Return times, s, and new controls of the switches of one joint."""
        return [(t, value) for t, j, value in self.rows() if j == joint]

    def rows(self) -> list[tuple[float, int, Control]]:
        """Return times, s, joints and new controls of all switches."""
        return list(zip(self.times.tolist(), self.joints, self.values, strict=True))

    @property
    def has_singular(self) -> bool:
        """Whether any effort is singular on an arc."""
        return SINGULAR in self.values or SINGULAR in self.controls

    @property
    def has_limits(self) -> bool:
        """Whether any joint is at a position or speed limit on an arc."""
        return any(value.is_at_limit for value in self.values)

    @property
    def contacts(self) -> int:
        """Number of contact points."""
        return sum(value.is_contact for value in self.values)

    @property
    def missing(self) -> int:
        """Number of missing switches: conditions on the states minus times, at least 0.

        The conditions are the goal and the limits. The effort of a singular arc can satisfy any
        number of them.
        """
        arcs, count = self.arcs(), 2 * len(self.controls) - len(self.joints) - 1
        for (_, _, controls), joint, value in zip(arcs, self.joints, self.values, strict=False):
            before = controls[joint]
            limiting = value if value.is_contact else before
            if limiting.is_at_limit:
                count += 1 + (limiting.kind in POSITION_KINDS) + limiting.is_indirect
            count += value.kind == Kind.CONTACT_SPEED or is_smooth(before, value)
        return 0 if self.has_singular else max(count, 0)

    def key(self) -> tuple:
        """Return the key of the structure: initial controls, joints and new controls."""
        return (*self.controls, *self.joints, *self.values)

    def tidied(self) -> Switching:
        """Return the structure with sorted switches and without vanished arcs."""
        controls, rows = list(self.controls), []
        for joint in range(len(controls)):
            events: list[tuple[float, Control]] = []
            for t, value in self.events(joint):
                if events and t <= events[-1][0]:
                    begin, latest = events.pop()
                    t, before = 0.5 * (t + begin), _current(controls[joint], events)
                    if latest.kind in (Kind.POSITION, Kind.SPEED) and value == before:
                        events.append((t, latest.shrunk()))
                if value != _current(controls[joint], events):
                    events.append((t, value))
            while events and events[0][0] <= 0.0:
                controls[joint] = _current(controls[joint], [events.pop(0)])
            rows += [(t, joint, value) for t, value in events if t < self.t_final]
        return assembled(controls, rows, self.t_final)


def _current(first: Control, events: list[tuple[float, Control]]) -> Control:
    """Return the control of an effort after its events; contact points do not change it."""
    changes = [value for _, value in events if not value.is_contact]
    return changes[-1] if changes else first


def assembled(
    controls: Sequence[Control], rows: list[tuple[float, int, Control]], t_final: float
) -> Switching:
    """Return the structure with switches given as (time, joint, new control)."""
    rows = sorted(rows)
    return Switching(
        tuple(controls),
        tuple(joint for _, joint, _ in rows),
        tuple(value for _, _, value in rows),
        np.array([t for t, _, _ in rows]),
        float(t_final),
    )


class Extremal(NamedTuple):
    """A motion that satisfies all of Pontryagin's conditions, with its costates.

    Attributes:
        switching: Controls, switches and final time.
        costate: Initial costates (2 n,), s per unit of the state.
        jumps: Jumps of the costates at `Switching.jumps`.
        residual: Largest violation of the conditions, in units of positions and speeds.
        curvature: Smallest second derivative of the final time with respect to the switch times
            along feasible directions, s/s^2; inf if there are none. If negative, the extremal is
            not a local minimum.
    """

    switching: Switching
    costate: Vector
    jumps: Vector
    residual: float
    curvature: float


class Guess(NamedTuple):
    """Guess of the costates of an extremal.

    Attributes:
        costate: Initial costates (2 n,), s per unit of the state.
        jumps: Jumps of the costates at `Switching.jumps`.
        nodes: State and costate (arcs, 4 n) at the starts of all arcs, for multiple shooting. They
            need not be continuous (Bock, Plitt 1984, IFAC Proceedings 17).
    """

    costate: Vector
    jumps: Vector
    nodes: Matrix
