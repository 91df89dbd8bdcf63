"""The damped inverse of the Jacobian."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.validate import Vector


class InverseSolution(NamedTuple):
    """Joint velocities (n,), the smallest singular value of J and the damping that was used."""

    velocity: Vector
    smallest_singular_value: float
    damping: float


def damped_least_squares(
    jacobian: Vector, twist: Vector, threshold: float, max_damping: float
) -> InverseSolution:
    """Return the velocities that give `twist`, damped near a singularity only.

    Minimizes |J v - twist|^2 + d^2 |v|^2 with
    d^2 = (1 - (sigma_min / threshold)^2) max_damping^2 below the threshold and 0 above it, so
    that a well conditioned posture is tracked exactly (Nakamura, Hanafusa 1986; Chiaverini,
    Siciliano, Egeland 1994, eq. 17).

    Args:
        jacobian: J (6, n).
        twist: Linear and angular velocity (6,), m/s and rad/s.
        threshold: Singular value below which damping begins.
        max_damping: d at the singularity.
    """
    left, singular, right = np.linalg.svd(jacobian, full_matrices=False)
    smallest = float(singular[-1])
    ratio = smallest / threshold
    squared = 0.0 if ratio >= 1.0 else (1.0 - ratio * ratio) * max_damping**2
    filtered = singular / np.maximum(singular**2 + squared, np.finfo(float).tiny)
    velocity = right.T @ (filtered * (left.T @ twist))
    return InverseSolution(velocity, smallest, float(np.sqrt(squared)))
