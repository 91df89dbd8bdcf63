"""Linearization of a mechanism about a state, and equilibria.

At an equilibrium the generalized forces F of the independent coordinates z vanish: F(z) = M z'' =
0 with the reduced mass matrix M and the accelerations z''. The stiffness is K = -dF/dz, and k_i
are its eigenvalues relative to M. In the modes of K a step is F_i / max(|k_i|, 1 / d), where d
(s^2) limits its length. This is Newton's method if k_i is positive and d is large, and a descent
otherwise (saddle-free Newton, Dauphin et al. 2014). A step is repeated with a smaller d if the
forces at its end oppose it by more than half of their initial value, or if the mechanism cannot be
assembled there. In directions without a force, such as the direction of a car along a level road,
the mechanism does not move.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody.equations.partition import Partition
from manip_dyn.multibody.equations.state_space import expand, linearized_rates
from manip_dyn.multibody.equations.tables import (
    Forces,
    Loads,
    Memory,
    Reduced,
    Tables,
    memory_with,
)


class MechanismModel(Protocol):
    """Interface of `Mechanism` for its linearization and equilibria."""

    size: int
    freedoms: int
    q0: Vector
    v0: Vector
    partition: Partition

    def tables(self, q: Vector, roles: Partition, derivatives: bool = True) -> Tables:
        """Create the arrays for positions q (N,) and a partition."""
        ...

    def roles_at(self, q: Vector) -> Partition | None:
        """Return the partition at q (N,), or None in a singular position."""
        ...


def prepare_memory(
    mechanism: MechanismModel,
    q: Vector,
    v: Vector,
    roles: Partition,
    angles: Vector | None = None,
    derivatives: bool = True,
) -> tuple[Memory, Vector]:
    """Return memory and the state y (2 n,) for coordinates q, rates v (N,) and a partition.

    `angles` (f,) are earlier angles of rotational springs, which determine the full turns. By
    default they are those at assembly. Without `derivatives`, the memory serves for `rates` but
    not for `linearized_rates`.

    Raises:
        ManipDynError: If the mechanism cannot be assembled at q.
    """
    tables = mechanism.tables(q, roles, derivatives)
    if angles is not None:
        tables.forces.angles[:] = angles
    memory = memory_with(tables)
    y = np.concatenate([q[roles.independent], v[roles.independent]])
    all_q, all_v = np.empty((2, 1, mechanism.size))
    if expand(y[np.newaxis], memory, all_q, all_v, np.zeros(2)) < 1:
        raise ManipDynError("the mechanism cannot be assembled in its position.")
    return memory, y


class Linearization(NamedTuple):
    """Linearization about a state, in the n independent coordinates.

    Attributes:
        mass: Reduced mass matrix (n, n).
        by_position: Derivatives J1 (n, n) of the accelerations with respect to the positions.
        by_velocity: Derivatives J2 (n, n) of the accelerations with respect to the velocities.
        by_time: Derivatives (n,) of the accelerations with respect to time.
        acceleration: Accelerations (n,).
        y: Independent positions and velocities (2 n,).
    """

    mass: Matrix
    by_position: Matrix
    by_velocity: Matrix
    by_time: Vector
    acceleration: Vector
    y: Vector

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues (2 n,) of the linearization, 1/s, sorted by real part."""
        n = len(self.mass)
        matrix = np.zeros((2 * n, 2 * n))
        matrix[:n, n:] = np.eye(n)
        matrix[n:, :n], matrix[n:, n:] = self.by_position, self.by_velocity
        values = np.linalg.eigvals(matrix)
        return values[np.argsort(values.real)]


def linear_motion(memory: Memory, y: Vector, t: float) -> Linearization:
    """Linearize the motion about a state y (2 n,); see `prepare_memory`."""
    n = len(y) // 2
    out, by_time = np.zeros((n, 3 * n)), np.zeros(n)
    linearized_rates(t, y, memory, out, by_time)
    mass = out[:, 2 * n :]
    slopes: Vector = np.asarray(
        np.linalg.solve(mass, np.column_stack([out[:, : 2 * n], by_time])), dtype=np.float64
    )
    acceleration = memory.array(Reduced, "acceleration").copy()
    return Linearization(
        mass,
        slopes[:, :n],
        slopes[:, n : 2 * n],
        slopes[:, 2 * n],
        acceleration,
        y,
    )


def linearize(mechanism: MechanismModel, t: float = 0.0) -> Linearization:
    """Linearize a mechanism about its initial state (Sandu et al. (2001), eq. 26).

    Args:
        mechanism: The mechanism.
        t: Time for time-dependent forces, s.
    """
    memory, y = prepare_memory(mechanism, mechanism.q0, mechanism.v0, mechanism.partition)
    return linear_motion(memory, y, t)


FIRST, LONGEST, SHORTEST = 1e-3, 1e4, 1e-12
"""Initial value and bounds of d, s^2."""
LONGER, SHORTER, MAX_REVERSAL = 4.0, 0.25, 0.5
LONGEST_STEP = 0.05
"""Largest step of a coordinate, m or Euler parameter."""
MAX_ITERATIONS = 400


class EquilibriumPoint(NamedTuple):
    """An equilibrium; the fields are those of `Equilibrium` without the mechanism."""

    q: Vector
    acceleration: float
    iterations: int
    eigenvalues: np.ndarray


def find_equilibrium(mechanism: MechanismModel, tolerance: float, t: float) -> EquilibriumPoint:
    """Search downhill from the start for an equilibrium, see `Mechanism.equilibrium`.

    Raises:
        ManipDynError: If no equilibrium is found.
    """
    q, roles, angles, length = mechanism.q0, mechanism.partition, None, FIRST
    n, count, residual = mechanism.freedoms, 0, np.inf
    while count < MAX_ITERATIONS and length > SHORTEST:
        memory, y = prepare_memory(mechanism, q, np.zeros(mechanism.size), roles, angles)
        motion = linear_motion(memory, y, t)
        residual = float(np.abs(motion.acceleration).max())
        if residual < tolerance:
            return EquilibriumPoint(q, residual, count, motion.eigenvalues)
        force = motion.mass @ motion.acceleration
        while length > SHORTEST:
            count += 1
            change = _downhill(motion, force, length)
            end = np.concatenate([y[:n] + change, np.zeros(n)])
            next_q, next_motion = _assembled_positions(memory, end), linear_motion(memory, end, t)
            work = force @ change
            next_work = (next_motion.mass @ next_motion.acceleration) @ change
            next_roles = None if next_q is None else mechanism.roles_at(next_q)
            accepted = next_work >= -MAX_REVERSAL * work
            if next_q is not None and next_roles is not None and accepted:
                q, roles, angles = next_q, next_roles, memory.array(Forces, "angles")
                length = min(LONGER * length, LONGEST)
                break
            length *= SHORTER
    raise ManipDynError(
        f"no equilibrium was found: after {count} iterations the acceleration is {residual:.3g}. "
        "The forces must balance in some position of the mechanism."
    )


def _downhill(motion: Linearization, force: Vector, length: float) -> Vector:
    """Return the downhill step (n,) of the independent coordinates under their forces (n,)."""
    stiffness = -motion.mass @ motion.by_position
    inverse = np.linalg.inv(np.linalg.cholesky(motion.mass))
    sizes, modes = np.linalg.eigh(inverse @ (0.5 * (stiffness + stiffness.T)) @ inverse.T)
    modes = inverse.T @ modes
    change = modes @ (modes.T @ force / np.maximum(np.abs(sizes), 1.0 / length))
    return change * min(1.0, LONGEST_STEP / max(float(np.abs(change).max()), LONGEST_STEP))


def _assembled_positions(memory: Memory, y: Vector) -> Vector | None:
    """Return all coordinates (N,) at a state y (2 n,), or None if it cannot be assembled."""
    q, v = np.empty((2, 1, len(memory.array(Loads, "force"))))
    return q[0] if expand(y[np.newaxis], memory, q, v, np.zeros(2)) == 1 else None
