"""Which coordinates lead and which follow: Gauss-Jordan elimination with full pivoting.

Sandu et al. (2001), eq. 6: columns with the largest pivots become dependent, so that the gradients
of the constraints by them are as far from singular as elimination finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.validate import Vector

RANK_TOLERANCE = 1e-9
"""Pivots below this part of the largest entry count as zero."""


class Partition(NamedTuple):
    """The coordinates' roles.

    Attributes:
        dependent: Columns with a pivot, sorted.
        independent: The others, sorted.
        redundant: Rows without a pivot.
    """

    dependent: np.ndarray
    independent: np.ndarray
    redundant: np.ndarray


def partition(gradients: Vector) -> Partition:
    """Return the roles of the N coordinates from the constraints' gradients (m, N)."""
    left = np.array(gradients)
    m, size = left.shape
    rows, columns = np.ones(m, dtype=bool), np.ones(size, dtype=bool)
    smallest = RANK_TOLERANCE * np.abs(left).max(initial=0.0)
    for _ in range(m):
        open_part = np.abs(left) * rows[:, np.newaxis] * columns
        row, column = np.unravel_index(np.argmax(open_part), left.shape)
        if not open_part[row, column] > smallest:
            break
        left[row] /= left[row, column]
        others = np.arange(m) != row
        left[others] -= np.outer(left[others, column], left[row])
        rows[row] = columns[column] = False
    return Partition(np.flatnonzero(~columns), np.flatnonzero(columns), np.flatnonzero(rows))
