"""What friction holds joints at rest with, where several may begin to slide at once."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.numerics.box_minimum import box_minimum


def holding_friction(static: Vector, mass: Matrix, drive: Vector, resting: Vector) -> Vector:
    """Return what holds joints at rest (n,), 0 for the others; it is unique.

    Those that are held do not accelerate; the others are at their static level, against the
    direction in which they begin to slide. This is the least of f' A f / 2 - f' a over
    |f| <= Fs, with A the part of M^-1 of the resting joints and a what they would accelerate by
    (Moreau, "Unilateral contact and dry friction in finite freedom dynamics", 1988).

    Args:
        static: Greatest friction Fs (n,) at rest.
        mass: M (n, n).
        drive: Efforts less bias and friction of sliding joints (n,).
        resting: Which joints rest (n,).
    """
    held = np.zeros_like(drive)
    joints = np.flatnonzero(resting)
    if joints.size:
        inverse = np.linalg.inv(mass)
        force, most = np.zeros(joints.size), np.ascontiguousarray(static[joints])
        mobility = np.ascontiguousarray(inverse[np.ix_(joints, joints)])
        box_minimum(mobility, -(inverse @ drive)[joints], -most, most, force)
        held[joints] = force
    return held
