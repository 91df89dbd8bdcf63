"""Controls: the state of an effort along an arc of a minimum-time motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from manip_dyn.core.checks import Vector

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


def at_position(side: float) -> Control:
    """Return the control of an effort that holds its own joint at a position limit."""
    return Control(Kind.POSITION, side)


def contact(side: float) -> Control:
    """Return the contact point of a joint with its position limit."""
    return Control(Kind.CONTACT_POSITION, side)


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

    This is the case if the effort cannot hold the joint at the limit before the entry or after the
    exit, and at a handover whose previous effort opposes the limit until the next effort is full.
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


def effort_signs(controls: Sequence[Control]) -> Vector:
    """Return the signs of full efforts (n,); 0 for singular efforts and boundary arcs."""
    return np.array([control.direction if control.is_full else 0.0 for control in controls])
