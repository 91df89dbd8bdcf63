"""Detection of resets between two measured states of an arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

JUMP = 0.02
"""Joint motion beyond the measured speeds that feedback may cause, rad or m."""
LONG_GAP = 0.5
"""Time between states in which an arm may accelerate and stop unnoticed, s."""


class MeasuredState(NamedTuple):
    """A measured state: stamp, ns, positions (n,), rad or m, and velocities (n,), per s."""

    stamp_ns: int
    q: Vector
    v: Vector


def reset_reason(robot: Robot, before: MeasuredState, after: MeasuredState) -> str:
    """Return why the arm must have been reset between two states, or an empty string.

    Either time went back, or a joint moved by more than twice the distance that its larger
    velocity explains or, after a gap longer than `LONG_GAP`, that its largest speed explains.
    This detects resets with simulated and with wall-clock stamps.
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
