"""Which coordinates lead and which follow: Gauss-Jordan elimination with full pivoting.

Sandu et al. (2001), eq. 6: columns with the largest pivots become dependent, so that the gradients
of the constraints by them are as far from singular as elimination finds. Rows without a pivot
follow from the others: the same elimination reveals the rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector

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
