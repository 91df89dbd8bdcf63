"""Partition of the coordinates into independent and dependent ones, and redundant constraints.

Gauss-Jordan elimination with full pivoting, Sandu et al. (2001), eq. 6: the columns with the
largest pivots become dependent, so that the gradients of the constraints by them are as far from
singular as elimination finds. Rows without a pivot follow from the others: the same elimination
reveals the rank.

Redundant constraints: a planar four-bar of four revolute joints is constrained to its plane three
times, and a Bennett linkage moves although a count of its constraints predicts that it is locked.
Their gradients have the same rank r along the whole motion, and any r independent ones describe
it. A position is singular if the rank is lower only there: motions cross there, or the mechanism
is locked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector

RANK_TOLERANCE = 1e-9
"""Pivots below this part of the largest entry count as zero."""


class Partition(NamedTuple):
    """The coordinates' roles.

    Attributes:
        dependent: Columns with a pivot, sorted.
        independent: The others, sorted.
        redundant: Rows without a pivot, sorted.
        kept: The others, sorted.
    """

    dependent: np.ndarray
    independent: np.ndarray
    redundant: np.ndarray
    kept: np.ndarray


def partition(gradients: Vector, rank: int | None = None, first: int = 0) -> Partition:
    """Return the roles of the N coordinates from the constraints' gradients (m, N).

    Args:
        gradients: (m, N).
        rank: At most so many pivots; default: as many as are not zero.
        first: The last `first` rows are not left out while they have a pivot.
    """
    left = np.array(gradients)
    m, size = left.shape
    rows, columns = np.ones(m, dtype=bool), np.ones(size, dtype=bool)
    smallest = RANK_TOLERANCE * np.abs(left).max(initial=0.0)
    groups = [np.arange(m) >= m - first, np.ones(m, dtype=bool)] if first else [rows.copy()]
    for group in groups:
        for _ in range(m if rank is None else rank - int(np.sum(~columns))):
            open_part = np.abs(left) * (rows & group)[:, np.newaxis] * columns
            row, column = np.unravel_index(np.argmax(open_part), left.shape)
            if not open_part[row, column] > smallest:
                break
            left[row] /= left[row, column]
            factors = left[:, column].copy()
            factors[row] = 0.0
            left -= np.outer(factors, left[row])
            rows[row] = columns[column] = False
    return Partition(
        np.flatnonzero(~columns),
        np.flatnonzero(columns),
        np.flatnonzero(rows),
        np.flatnonzero(~rows),
    )


Evaluate = Callable[[Vector], tuple[Vector, Matrix]]
"""From coordinates q (N,) to violations (m,) and gradients (m, N)."""
PROBE_DISTANCE, PROBE_TOLERANCE, DIRECTIONS, ITERATIONS = 1e-2, 1e-10, 2, 12
"""How far beside a position to look, m and per Euler parameter, and what counts as no violation
there; how many directions, and iterations to get there."""


def has_constant_rank(evaluate: Evaluate, q: Vector, roles: Partition) -> bool:
    """Return whether the rank at q (N,) is that of the positions beside it.

    Gauss-Newton iterations that see r singular values only lead from q + d, with d a tangent,
    back to the constraints: all of them hold there just if those that were left out follow.
    """
    rank = len(roles.kept)
    if rank == len(q):
        return True
    tangents = np.linalg.svd(evaluate(q)[1])[2][rank:]
    for seed in range(DIRECTIONS):
        shares = np.random.default_rng(seed).normal(size=len(tangents))
        x = q + PROBE_DISTANCE * shares @ tangents / np.linalg.norm(shares)
        for _ in range(ITERATIONS):
            violations, gradients = evaluate(x)
            left, sizes, right = np.linalg.svd(gradients, full_matrices=False)
            x = x - right[:rank].T @ ((left.T @ violations)[:rank] / sizes[:rank])
        violations, gradients = evaluate(x)
        if (
            not np.abs(violations).max() < PROBE_TOLERANCE
            or len(partition(gradients).kept) != rank
        ):
            return False
    return True
