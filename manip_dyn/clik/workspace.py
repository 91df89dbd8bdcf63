"""The scratch memory of the CLIK law: one flat array, its parts by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from manip_dyn.clik.pose import INNER
from manip_dyn.validate import Vector


class Task(NamedTuple):
    """What the law works with; n joints, six rows of the task.

    Attributes:
        jacobian: J times `freedom`, without the rows that are not controlled (6, n).
        rows: The same, decomposed in place (6, n).
        square: J J^T (6, 6).
        factor: Its Cholesky factor (6, 6).
        basis: Left singular vectors as columns (6, 6).
        values: Singular values (6,), falling; of the last decomposition.
        error: Error of the pose (6,).
        twist: Wanted twist: twist_d + K e (6,).
        rest: What of it the joints have to add to the null-space motion, and solution (6,).
        wish: Null-space velocity that is wanted (n,).
        null: The same with what leads out of a singularity (n,).
        freedom: 1 / sqrt(weight) of the joints, 0 where one is held at its limit (n,).
        held: 1 for joints held at their limits, 0 for others (n,).
        report: See the indices below (4,).
        lost: The direction that a singularity takes away (6,).
        speeds: Eigenvalues of the escape (n,).
    """

    jacobian: Any
    rows: Any
    square: Any
    factor: Any
    basis: Any
    values: Any
    error: Any
    twist: Any
    rest: Any
    wish: Any
    null: Any
    freedom: Any
    held: Any
    report: Any
    lost: Any
    speeds: Any


SCALE, DAMPED, ESCAPING = range(3)
"""Indices of `report`: speed scale, largest damping used, joint speed of the escape."""
FIXED = 142
"""How many numbers do not depend on n."""


def workspace(n: int) -> Vector:
    """Return the scratch memory for n joints."""
    return np.zeros(FIXED + 17 * n + 3 * n * n)


@numba.njit(**INNER)
def task_of(work, n):
    """Return the parts of `work` as a `Task`."""
    vectors = FIXED + 12 * n
    return Task(
        work[FIXED : FIXED + 6 * n].reshape((6, n)),
        work[FIXED + 6 * n : vectors].reshape((6, n)),
        work[0:36].reshape((6, 6)),
        work[36:72].reshape((6, 6)),
        work[72:108].reshape((6, 6)),
        work[108:114],
        work[114:120],
        work[120:126],
        work[126:132],
        work[vectors : vectors + n],
        work[vectors + n : vectors + 2 * n],
        work[vectors + 2 * n : vectors + 3 * n],
        work[vectors + 3 * n : vectors + 4 * n],
        work[132:136],
        work[136:142],
        work[vectors + 4 * n : vectors + 5 * n],
    )


@numba.njit(**INNER)
def squares_of(work, n):
    """Return three more matrices (n, n) of `work`."""
    first = FIXED + 17 * n
    size = n * n
    return (
        work[first : first + size].reshape((n, n)),
        work[first + size : first + 2 * size].reshape((n, n)),
        work[first + 2 * size : first + 3 * size].reshape((n, n)),
    )
