"""Whether an arm can have come from one measured state to the next, or was put elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

JUMP = 0.02
"""What a joint may move beyond what its speeds explain, rad or m: feedback corrects as much."""
LONG_GAP = 0.5
"""In a gap as long as this an arm may speed up and stop again, and neither end shows it, s."""


class MeasuredState(NamedTuple):
    """A measured state: stamp, ns, positions (n,), rad or m, and velocities (n,), per s."""

    stamp_ns: int
    q: Vector
    v: Vector


def reset_reason(robot: Robot, before: MeasuredState, after: MeasuredState) -> str:
    """Return why the arm must have been reset between two states, or nothing.

    Time went back; or a joint moved more than twice what its two velocities make of the time
    between the stamps, in a direction that one of them has; or, in a gap longer than `UNSEEN`,
    twice what its highest speed makes of it. So a reset shows whether stamps begin anew or are
    wall-clock time.
    """
    if after.stamp_ns < before.stamp_ns:
        return "time went back"
    duration = 1e-9 * (after.stamp_ns - before.stamp_ns)
    moved = after.q - before.q
    unseen = robot.v_max if duration > LONG_GAP else 0.0
    forward = np.maximum(np.maximum(after.v, before.v), unseen)
    backward = np.minimum(np.minimum(after.v, before.v), -unseen)
    excess = np.maximum(moved - 2.0 * forward * duration, 2.0 * backward * duration - moved) - JUMP
    joint = int(excess.argmax())
    if excess[joint] <= 0.0:
        return ""
    name, unit = robot.joint_names[joint], robot.unit(joint)
    return f"joint '{name}' jumped by {abs(moved[joint]):.3g} {unit} in {duration:.3g} s"
