"""What an effort can do besides -1 and 1, its limits, as numbers."""

from __future__ import annotations

import math

import numpy as np

from manip_dyn.validate import Vector

SINGULAR, AT_SPEED, AT_REST, TOUCH, TOUCH_SPEED, KEEPS = 0.0, 2.0, 3.0, 4.0, 5.0, 6.0
"""Be singular; keep its joint at the upper limit of speed or at rest at the upper limit of
position (lower ones: negative); go on while the joint touches the limit of position or of speed;
from `KEEPS` on: keep another joint at a limit of speed, as `keeps` says."""


def keeps(effort: int, joint: int, side: float, direction: float) -> float:
    """Return the number of an effort that keeps a joint at its limit of speed.

    Its sign is the `direction` in which the effort pushes the joint further into the limit.

    Args:
        effort: The joint whose effort it is.
        joint: The joint that is kept.
        side: 1 at the upper limit, -1 at the lower one.
        direction: `side` times the sign of what the effort adds to the joint's acceleration.
    """
    if effort == joint:
        return side * AT_SPEED
    return direction * (KEEPS + 2.0 * joint + (side < 0.0))


def kept_by(effort: int, value: float) -> tuple[int, float] | None:
    """Return the joint that an effort keeps at a limit of speed, and the side, if it does."""
    size = abs(value)
    if size == AT_SPEED:
        return effort, math.copysign(1.0, value)
    if size >= KEEPS:
        joint, lower = divmod(int(size - KEEPS), 2)
        return joint, -1.0 if lower else 1.0
    return None


def touches(value: float) -> bool:
    """Return whether it is a touch, at which the effort goes on."""
    return abs(value) in (TOUCH, TOUCH_SPEED)


def smooth(before: float, after: float) -> bool:
    """Return whether a joint comes to a limit of speed, or leaves it, without acceleration.

    So it does where the effort cannot hold it at the limit before or afterwards. Where one
    effort takes over from another the same holds: it has been opposing the limit until the other
    one is full.
    """
    if kept_by(0, after) is not None:
        return abs(before) == 1.0 and before * after < 0.0
    return kept_by(0, before) is not None and abs(after) == 1.0 and before * after > 0.0


def changed(signs: Vector, joint: int, value: float) -> Vector:
    """Return what efforts (n,) do after one of them changed.

    If it takes over a joint from another effort, that one goes to its limit that pushes further.
    """
    after, mine = signs.copy(), kept_by(joint, value)
    for other, each in enumerate(signs):
        if mine is not None and other != joint and kept_by(other, float(each)) == mine:
            after[other] = np.sign(each)
    after[joint] = value
    return after
