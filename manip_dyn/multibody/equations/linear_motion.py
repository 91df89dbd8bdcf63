"""The linear motion about a state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.multibody.equations.memory import Memory
from manip_dyn.multibody.equations.state_space import linearized
from manip_dyn.multibody.equations.tables import Reduced


class Linearization(NamedTuple):
    """The motion about a state, in the n independent coordinates.

    Attributes:
        mass: Reduced mass matrix (n, n).
        by_position: J1, derivatives of the accelerations (n, n).
        by_velocity: J2 (n, n).
        by_time: (n,).
        acceleration: (n,).
        y: The independent positions and velocities (2 n,).
    """

    mass: Matrix
    by_position: Matrix
    by_velocity: Matrix
    by_time: Vector
    acceleration: Vector
    y: Vector

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of the linear motion (2 n,), 1/s, fastest first."""
        n = len(self.mass)
        matrix = np.zeros((2 * n, 2 * n))
        matrix[:n, n:] = np.eye(n)
        matrix[n:, :n], matrix[n:, n:] = self.by_position, self.by_velocity
        found = np.linalg.eigvals(matrix)
        return found[np.argsort(found.real)]


def linear_motion(memory: Memory, y: Vector, t: float) -> Linearization:
    """Return J1, J2 and the rest about a state y (2 n,) of prepared memory."""
    n = len(y) // 2
    out, by_time = np.zeros((n, 3 * n)), np.zeros(n)
    linearized(t, y, memory, out, by_time)
    mass = out[:, 2 * n :]
    slopes: Vector = np.asarray(
        np.linalg.solve(mass, np.column_stack([out[:, : 2 * n], by_time])), dtype=np.float64
    )
    acceleration = memory.group(Reduced).acceleration.copy()
    return Linearization(
        mass,
        slopes[:, :n],
        slopes[:, n : 2 * n],
        slopes[:, 2 * n],
        acceleration,
        y,
    )
