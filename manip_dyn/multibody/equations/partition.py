"""Partition into independent and dependent coordinates, and redundant constraints.

The method is Gauss-Jordan elimination with full pivoting (Sandu et al. (2001), eq. 6). The columns
with the largest pivots become dependent, so that the gradients with respect to them are
well-conditioned. Rows without a pivot depend on the others, so the elimination also reveals the
rank.

Mechanisms may have redundant constraints. A planar four-bar with four revolute joints has three
redundant constraints to its plane. A Bennett linkage moves although a count of its constraints
predicts that it is locked. The gradients have the same rank r along the whole motion, and any r
independent ones describe it. A position is singular if the rank is lower only at that position.
There several motions meet, or the mechanism is locked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector

RANK_TOLERANCE = 1e-9
"""Pivots up to this fraction of the largest entry count as zero."""


class Partition(NamedTuple):
    """Partition of the coordinates and of the constraints.

    Attributes:
        dependent: Indices of the dependent coordinates (m,), sorted in each block.
        independent: Indices of the independent coordinates, sorted.
        redundant: Indices of the redundant constraints, sorted.
        active: Indices of the other constraints (m,), sorted in each block.
        ranks: Number of active constraints of each block.
    """

    dependent: np.ndarray
    independent: np.ndarray
    redundant: np.ndarray
    active: np.ndarray
    ranks: tuple[int, ...]


def partition(gradients: Vector, rank: int | None = None, first: int = 0) -> Partition:
    """Partition N coordinates by the gradients of the constraints.

    Args:
        gradients: Gradients of the constraints (m, N).
        rank: Largest number of pivots. Default: all nonzero pivots.
        first: Number of rows at the end of `gradients` that receive their pivots first.
    """
    remainder = np.array(gradients)
    m, size = remainder.shape
    rows, columns = np.ones(m, dtype=bool), np.ones(size, dtype=bool)
    smallest = RANK_TOLERANCE * np.abs(remainder).max(initial=0.0)
    groups = [np.arange(m) >= m - first, np.ones(m, dtype=bool)] if first else [rows.copy()]
    for group in groups:
        for _ in range(m if rank is None else rank - int(np.sum(~columns))):
            candidates = np.abs(remainder)
            candidates[~(rows & group)] = 0.0
            row, column = divmod(int(candidates.argmax()), size)
            if not candidates[row, column] > smallest:
                break
            remainder[row] /= remainder[row, column]
            factors = remainder[:, column].copy()
            factors[row] = 0.0
            remainder -= factors[:, np.newaxis] * remainder[row]
            rows[row] = columns[column] = False
    return Partition(
        np.flatnonzero(~columns),
        np.flatnonzero(columns),
        np.flatnonzero(rows),
        np.flatnonzero(~rows),
        (int(np.sum(~rows)),),
    )


class Block(NamedTuple):
    """Indices of the constraints and of the coordinates of a block, sorted."""

    rows: np.ndarray
    columns: np.ndarray


def partition_blocks(
    gradients: Vector,
    blocks: Sequence[Block],
    ranks: Sequence[int | None],
    first: int = 0,
) -> Partition:
    """Partition N coordinates block by block.

    Args:
        gradients: Gradients of the constraints (m, N).
        blocks: Blocks. The constraints of a block depend on its own coordinates and on those of
            earlier blocks.
        ranks: Largest number of pivots of each block; None: all nonzero pivots.
        first: Number of rows at the end of `gradients` that receive their pivots first.
    """
    parts = []
    for (rows, columns), rank in zip(blocks, ranks, strict=True):
        last = int(np.sum(rows >= len(gradients) - first))
        part = partition(gradients[np.ix_(rows, columns)], rank, last)
        parts.append((columns[part[0]], columns[part[1]], rows[part[2]], rows[part[3]]))
    dependent, independent, redundant, active = map(np.concatenate, zip(*parts, strict=True))
    return Partition(
        dependent,
        np.sort(independent),
        np.sort(redundant),
        active,
        tuple(len(part[3]) for part in parts),
    )


Evaluate = Callable[[Vector], tuple[Vector, Matrix]]
"""Function from coordinates q (N,) to violations (m,) and gradients (m, N)."""
PROBE_DISTANCE, PROBE_TOLERANCE, DIRECTIONS, ITERATIONS = 1e-2, 1e-10, 2, 12
"""Distance of the probe positions, m or Euler parameters; largest violation at these positions;
number of directions; and iterations for each direction."""


def has_constant_rank(evaluate: Evaluate, q: Vector, roles: Partition) -> bool:
    """Return whether the rank at q (N,) equals the rank at `DIRECTIONS` nearby positions.

    Gauss-Newton iterations with the r largest singular values start at q + d, where d is tangent
    to the constraints. They satisfy all constraints only if the redundant ones depend on the
    others.
    """
    rank = len(roles.active)
    if rank == len(q):
        return True
    tangents = np.linalg.svd(evaluate(q)[1])[2][rank:]
    for seed in range(DIRECTIONS):
        weights = np.random.default_rng(seed).normal(size=len(tangents))
        x = q + PROBE_DISTANCE * weights @ tangents / np.linalg.norm(weights)
        for _ in range(ITERATIONS):
            violations, gradients = evaluate(x)
            left, sizes, right = np.linalg.svd(gradients, full_matrices=False)
            x = x - right[:rank].T @ ((left.T @ violations)[:rank] / sizes[:rank])
        violations, gradients = evaluate(x)
        if (
            not np.abs(violations).max() < PROBE_TOLERANCE
            or len(partition(gradients).active) != rank
        ):
            return False
    return True
