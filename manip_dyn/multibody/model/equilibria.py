"""`rest`: a position in which a mechanism stays at rest, and whether it is stable.

At rest the independent coordinates y feel the forces F(y) = M y'' with the stiffness K = -dF/dy.
In the modes of K against M a step is F_i / max(|k_i|, 1 / d): Newton's where k_i is positive and d
long, downhill where it is not (saddle-free Newton, Dauphin et al. 2014). A step at whose end the
forces push back more than half as hard as they pushed is tried again with a shorter d. Where
nothing pushes, as on a car along a level road, the mechanism stays where it is.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody.equations.expansion import expand
from manip_dyn.multibody.equations.linear_motion import Linearization, linear_motion
from manip_dyn.multibody.equations.memory import Memory
from manip_dyn.multibody.equations.partition import Partition
from manip_dyn.multibody.equations.tables import Forces, Loads
from manip_dyn.multibody.model.prepared import Tabulated, prepared

FIRST, LONGEST, SHORTEST = 1e-3, 1e4, 1e-12
"""The first d, and its bounds, s^2."""
LONGER, SHORTER, BACK = 4.0, 0.25, 0.5
REACH = 0.05
"""Longest step of a coordinate, m or Euler parameter."""
MOST = 400


class Held(Tabulated, Protocol):
    """What can rest: a `Mechanism`."""

    q0: Vector
    freedoms: int
    partition: Partition

    def roles_at(self, q: Vector) -> Partition | None:
        """Return the coordinates' roles at q (N,)."""
        ...


class Rest(NamedTuple):
    """Coordinates (N,), largest acceleration, iterations, eigenvalues (2 n,), 1/s."""

    q: Vector
    acceleration: float
    iterations: int
    eigenvalues: np.ndarray


def rest(mechanism: Held, tolerance: float, t: float) -> Rest:
    """Return where a mechanism rests, downhill of its start; see `Mechanism.equilibrium`."""
    q, roles, angles, length = mechanism.q0, mechanism.partition, None, FIRST
    n, count, left = mechanism.freedoms, 0, np.inf
    while count < MOST and length > SHORTEST:
        memory, y = prepared(mechanism, q, np.zeros(mechanism.size), roles, angles)
        found = linear_motion(memory, y, t)
        left = float(np.abs(found.acceleration).max())
        if left < tolerance:
            return Rest(q, left, count, found.eigenvalues)
        force = found.mass @ found.acceleration
        while length > SHORTEST:
            count += 1
            change = _downhill(found, force, length)
            end = np.concatenate([y[:n] + change, np.zeros(n)])
            beyond, there = _positions(memory, end), linear_motion(memory, end, t)
            pushed, pushes = force @ change, (there.mass @ there.acceleration) @ change
            next_roles = None if beyond is None else mechanism.roles_at(beyond)
            if beyond is not None and next_roles is not None and pushes >= -BACK * pushed:
                q, roles, angles = beyond, next_roles, memory.group(Forces).angles
                length = min(LONGER * length, LONGEST)
                break
            length *= SHORTER
    raise ManipDynError(
        f"no equilibrium was found: after {count} iterations an acceleration of {left:.3g} is "
        "left; expected forces that hold the mechanism somewhere on its way"
    )


def _downhill(motion: Linearization, force: Vector, length: float) -> Vector:
    """Return the step (n,) of the independent coordinates under their forces (n,)."""
    stiffness = -motion.mass @ motion.by_position
    inverse = np.linalg.inv(np.linalg.cholesky(motion.mass))
    sizes, modes = np.linalg.eigh(inverse @ (0.5 * (stiffness + stiffness.T)) @ inverse.T)
    modes = inverse.T @ modes
    change = modes @ (modes.T @ force / np.maximum(np.abs(sizes), 1.0 / length))
    return change * min(1.0, REACH / max(float(np.abs(change).max()), REACH))


def _positions(memory: Memory, y: Vector) -> Vector | None:
    """Return all coordinates (N,) at a state y (2 n,); None where it cannot be assembled."""
    q, v = np.empty((2, 1, len(memory.group(Loads).force)))
    return q[0] if expand(y[np.newaxis], memory, q, v, np.zeros(2)) == 1 else None
