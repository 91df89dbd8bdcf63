"""Whether the mass matrix can be inverted without losing what accelerations are made of."""

from __future__ import annotations

import numpy as np

from manip_dyn.inspection.comparison.agreement import largest_condition
from manip_dyn.inspection.parts.finding import Finding
from manip_dyn.robot import Robot

POSTURES = 200
HIGH = 1e6
"""Condition number of M above which accelerations have lost six of sixteen digits, and an effort
that is nothing to one joint throws another one away."""


def conditioning(robot: Robot) -> tuple[float, list[Finding]]:
    """Return the largest condition number of M over sampled postures, and what to say of it."""
    condition, mass = largest_condition(robot, POSTURES)
    if condition < HIGH:
        return condition, []
    values, vectors = np.linalg.eigh(mass)
    light, heavy = (int(np.argmax(np.abs(vectors[:, k]))) for k in (0, -1))
    unit = "kg" if robot.joint_types[light] == "prismatic" else "kg m^2"
    value = (
        f"condition number {condition:.2g}: {values[0]:.2g} {unit} along it, "
        f"{values[-1]:.2g} along '{robot.joint_names[heavy]}'"
    )
    remedy = "state the rotor's inertia as armature in the YAML, or check the masses behind it"
    name = robot.joint_names[light]
    wanted = f"below {HIGH:.0e}".replace("e+0", "e")
    return condition, [Finding("warning", "joint", name, "mass matrix", value, wanted, remedy)]
