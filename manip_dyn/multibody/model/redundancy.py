"""Constraints that follow from the others: which, and whether they do so beside a position too.

A planar four-bar of four revolute joints is held in its plane three times over, a Bennett linkage
moves by a law of its lengths and twists that no count of constraints knows. There the gradients
have the same rank r all along the motion, and any r independent ones describe it. Where the rank
is lower at one position only, that is singular: motions cross there, or the mechanism is locked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.multibody.equations.partition import Partition, partition

Evaluate = Callable[[Vector], tuple[Vector, Matrix]]
"""From coordinates q (N,) to violations (m,) and gradients (m, N)."""
AWAY, NEAR, DIRECTIONS, ITERATIONS = 1e-2, 1e-10, 2, 12
"""How far beside a position to look, m and per Euler parameter, and what counts as no violation
there; how many directions, and iterations to get there."""


def moves_on(evaluate: Evaluate, q: Vector, roles: Partition) -> bool:
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
        x = q + AWAY * shares @ tangents / np.linalg.norm(shares)
        for _ in range(ITERATIONS):
            violations, gradients = evaluate(x)
            left, sizes, right = np.linalg.svd(gradients, full_matrices=False)
            x = x - right[:rank].T @ ((left.T @ violations)[:rank] / sizes[:rank])
        violations, gradients = evaluate(x)
        if not np.abs(violations).max() < NEAR or len(partition(gradients).kept) != rank:
            return False
    return True
