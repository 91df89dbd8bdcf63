"""Memory of the compiled equations for a mechanism in a position."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody.equations.expansion import expand
from manip_dyn.multibody.equations.memory import Memory, memory_of
from manip_dyn.multibody.equations.partition import Partition
from manip_dyn.multibody.equations.tables import Tables


class Tabulated(Protocol):
    """What has tables: a `Mechanism`."""

    size: int

    def tables(self, q: Vector, roles: Partition) -> Tables:
        """Return new arrays with positions q (N,) and a partition."""
        ...


def prepared(
    mechanism: Tabulated,
    q: Vector,
    v: Vector,
    roles: Partition,
    angles: Vector | None = None,
) -> tuple[Memory, Vector]:
    """Return memory and state y (2 n,) of a partition, with consistent velocities.

    The angles (f,) of rotational springs are those of earlier memory; default: as assembled.
    """
    tables = mechanism.tables(q, roles)
    if angles is not None:
        tables.forces.angles[:] = angles
    memory = memory_of(tables)
    y = np.concatenate([q[roles.independent], v[roles.independent]])
    all_q, all_v = np.empty((2, 1, mechanism.size))
    if expand(y[np.newaxis], memory, all_q, all_v, np.zeros(2)) < 1:
        raise ManipDynError("the mechanism cannot be assembled in its position")
    return memory, y
