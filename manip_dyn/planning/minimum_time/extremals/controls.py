"""What an effort does along an arc of a minimum-time motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from manip_dyn.core.checks import Vector

Controls = tuple["Control", ...]
"""What all efforts (n,) do."""


class Kind(IntEnum):
    """What an effort does, and at a contact point what its joint does."""

    SINGULAR = 0
    FULL = 1
    SPEED = 2
    POSITION = 3
    CONTACT_POSITION = 4
    CONTACT_SPEED = 5
    ANOTHERS_SPEED = 6
    ANOTHERS_POSITION = 7


_FULL = Kind.FULL


@dataclass(frozen=True)
class Control:
    """What one effort does: be at its limit or singular, or keep a joint at a limit.

    Attributes:
        kind: What it does.
        direction: Sign of a full effort; the side of its own joint's limit, 1 for the upper one;
            in which direction it pushes another joint further into the limit; 0 if singular, or
            if it pushes that one by its own joint's speed only.
        joint: The other joint that it keeps at its limit of speed or position, else -1.
        side: The side of that joint's limit.
        brakes: Whether the effort that has kept the joint until now goes to its limit that pulls
            it inside, not to the one that pushes it further.
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
        """Whether the joint has a contact point only; the effort goes on as before."""
        return self.kind in (Kind.CONTACT_POSITION, Kind.CONTACT_SPEED)

    @property
    def is_at_limit(self) -> bool:
        """Whether a joint is at a limit, on a boundary arc or at a contact point."""
        return not (self.is_full or self.is_singular)

    @property
    def is_boundary_arc_of_speed(self) -> bool:
        """Whether the effort keeps a joint at its limit of speed."""
        return self.kind in (Kind.SPEED, Kind.ANOTHERS_SPEED)

    @property
    def is_boundary_arc_of_position(self) -> bool:
        """Whether the effort keeps a joint at its limit of position."""
        return self.kind in (Kind.POSITION, Kind.ANOTHERS_POSITION)

    @property
    def is_indirect(self) -> bool:
        """Whether it keeps another joint at a limit of position by its own joint's speed only.

        It adds nothing to that joint's acceleration.
        """
        return self.kind == Kind.ANOTHERS_POSITION and self.direction == 0.0

    @property
    def is_about_speed(self) -> bool:
        """Whether the joint is at its limit of speed, on a boundary arc or at a contact point."""
        return self.is_boundary_arc_of_speed or self.kind == Kind.CONTACT_SPEED

    def kept(self, effort: int) -> tuple[int, float] | None:
        """Return the joint that an effort keeps at a limit of speed, and the side, if it does."""
        return self.held(effort) if self.is_boundary_arc_of_speed else None

    def held(self, effort: int) -> tuple[int, float] | None:
        """Return the joint that an effort keeps at any limit, and the side, if it does."""
        if self.kind in (Kind.SPEED, Kind.POSITION):
            return effort, self.direction
        return (self.joint, self.side) if self.joint >= 0 else None

    def kept_or_own(self, effort: int) -> int:
        """Return the joint that an effort keeps at a limit, else its own."""
        held = self.held(effort)
        return effort if held is None else held[0]

    def shrunk(self) -> Control:
        """Return the contact point to which a boundary arc of the own joint shrinks."""
        kind = Kind.CONTACT_SPEED if self.kind == Kind.SPEED else Kind.CONTACT_POSITION
        return Control(kind, self.direction)

    def __lt__(self, other: Control) -> bool:
        """Return which comes first of what an effort does at the same time."""
        return self._rank < other._rank

    @property
    def _rank(self) -> float:
        return self.direction * (self.kind + 2.0 * max(self.joint, 0) + (self.side < 0.0))


SINGULAR = Control(Kind.SINGULAR, 0.0)
_UPPER, _LOWER = Control(Kind.FULL, 1.0), Control(Kind.FULL, -1.0)


def full(direction: float) -> Control:
    """Return that an effort is at its limit, 1 at the upper one."""
    return _UPPER if direction > 0.0 else _LOWER


def are_full(controls: Sequence[Control]) -> bool:
    """Return whether all efforts are at their limits."""
    return all(each.kind == _FULL for each in controls)


def control_of_sign(sign: float) -> Control:
    """Return that an effort is at its limit, or that it is singular if the sign is 0."""
    return full(sign) if sign != 0.0 else SINGULAR


def at_position(side: float) -> Control:
    """Return that an effort keeps its joint at its limit of position."""
    return Control(Kind.POSITION, side)


def contact(side: float) -> Control:
    """Return that a joint has a contact point with its limit of position."""
    return Control(Kind.CONTACT_POSITION, side)


def boundary_control(
    effort: int, joint: int, side: float, direction: float, kind: Kind = Kind.SPEED
) -> Control:
    """Return that an effort keeps a joint at its limit of speed, or position.

    Args:
        effort: The joint whose effort it is.
        joint: The joint that is kept.
        side: 1 at the upper limit, -1 at the lower one.
        direction: `side` times the sign of what the effort adds to the joint's acceleration.
        kind: `Kind.SPEED` or `Kind.POSITION`.
    """
    if effort == joint:
        return Control(kind, side)
    anothers = Kind.ANOTHERS_SPEED if kind == Kind.SPEED else Kind.ANOTHERS_POSITION
    return Control(anothers, direction, joint, side)


def is_smooth(before: Control, after: Control) -> bool:
    """Return whether a joint comes to a limit of speed, or leaves it, without acceleration.

    So it does where the effort cannot hold it at the limit before or afterwards. At a handover
    from one effort to another the same holds: it has been opposing the limit until the other
    one is full.
    """
    toward = before.direction * after.direction
    if after.is_boundary_arc_of_speed:
        return before.is_full and toward < 0.0 and not after.brakes
    return before.is_boundary_arc_of_speed and after.is_full and toward > 0.0


def controls_after(controls: Controls, joint: int, control: Control) -> Controls:
    """Return what efforts (n,) do after one of them changed.

    At a handover from another effort, that one goes to its limit that pushes further, or to the
    other one where the new effort says so.
    """
    after, mine = list(controls), control.held(joint)
    for other, each in enumerate(controls):
        if mine is not None and other != joint and each.held(other) == mine:
            after[other] = full(-each.direction if control.brakes else each.direction)
    after[joint] = control
    return tuple(after)


def effort_signs(controls: Sequence[Control]) -> Vector:
    """Return the signs of full efforts (n,), 0 for what is singular or keeps a joint."""
    return np.array([each.direction if each.is_full else 0.0 for each in controls])
