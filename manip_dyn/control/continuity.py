"""Detection of arm resets between two measured states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

JUMP = 0.02
"""Joint displacement that feedback may cause in addition to the measured speeds, rad or m."""
LONG_GAP = 0.5
"""Time between states that allows an arm to accelerate and stop unnoticed, s."""


class MeasuredState(NamedTuple):
    """A measured state.

    Attributes:
        stamp_ns: Time of the measurement, ns.
        q: Positions (n,), rad or m.
        v: Velocities (n,), rad/s or m/s.
    """

    stamp_ns: int
    q: Vector
    v: Vector


def reset_reason(robot: Robot, before: MeasuredState, after: MeasuredState) -> str:
    """Return the reason if the arm must have been reset between two states, otherwise "".

    A reset is detected if time went back or a joint moved too far. The limit is `JUMP` plus twice
    the distance at the larger of both velocities. After a gap longer than `LONG_GAP`, the speed
    limit of the joint replaces a smaller velocity. This works with simulated and with wall-clock
    stamps.
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
