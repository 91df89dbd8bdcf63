"""What is to be said of joints: which are outside their limits, which is the fastest."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

OUTSIDE = 1e-3
"""How far outside its limits a joint counts, rad or m: feedback holds it no better."""


def outside_limits(robot: Robot, q: Vector) -> str:
    """Return which joints are outside their limits at q (n,), where, and what the limit is."""
    return ", ".join(
        f"{name} at {q[i]:.4g} {robot.unit(i)} ({robot.q_min[i]:.4g} to {robot.q_max[i]:.4g})"
        for i, name in enumerate(robot.joint_names)
        if not robot.q_min[i] - OUTSIDE <= q[i] <= robot.q_max[i] + OUTSIDE
    )


def brought_within(robot: Robot, q: Vector) -> Vector:
    """Return q (n,) with joints that are just beyond a limit, as at a stop that gives, on it."""
    near = np.clip(q, robot.q_min, robot.q_max)
    return np.where(np.abs(near - q) <= OUTSIDE, near, q)


def fastest(robot: Robot, v: Vector) -> str:
    """Return the fastest joint at velocities v (n,), and how fast it is."""
    joint = int(np.abs(v).argmax())
    return f"joint '{robot.joint_names[joint]}' at {abs(v[joint]):.3g} {robot.unit(joint)}/s"
