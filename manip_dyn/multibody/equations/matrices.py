"""Compiled, allocation-free matrix products of a mechanism's equations."""

from __future__ import annotations

from manip_dyn.core.compiled import compiled
from manip_dyn.multibody.equations.tables import FIRST


@compiled(short=True, python=False, counted=False)
def fill_1(x, value):
    """Fill a vector; this compiles faster than a slice assignment."""
    for i in range(x.shape[0]):
        x[i] = value


@compiled(short=True, python=False, counted=False)
def fill(x, value):
    """Fill a matrix."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = value


@compiled(short=True, python=False, counted=False)
def add_mass_times(mass, turning, x, out):
    """Add the product of the mass matrix M and x (N, n) to `out` (N, n)."""
    width = x.shape[1]
    for b in range(mass.shape[0]):
        for i in range(3):
            for c in range(width):
                out[7 * b + i, c] += mass[b] * x[7 * b + i, c]
        for i in range(3, 7):
            for j in range(3, 7):
                weight = turning[b, i - 3, j - 3]
                for c in range(width):
                    out[7 * b + i, c] += weight * x[7 * b + j, c]


@compiled(python=False, counted=False)
def add_gathered(left, right, out, sign, first):
    """Add sign left^T right to n columns of `out` from column `first`; both factors are (N, n)."""
    width = left.shape[1]
    for i in range(left.shape[0]):
        for row in range(width):
            weight = sign * left[i, row]
            if weight != 0.0:
                for c in range(width):
                    out[row, first + c] += weight * right[i, c]


@compiled(python=False, counted=False)
def add_product(matrix, x, out):
    """Add the product of matrix (N, N) and x (N, n) to `out`, skipping zeros."""
    width = x.shape[1]
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            weight = matrix[i, k]
            if weight != 0.0:
                for c in range(width):
                    out[i, c] += weight * x[k, c]


@compiled(python=False, counted=False)
def add_rows(rows, local, x, out, factor):
    """Add `factor` times the product of sparse rows (m, N) and x (N, n) to `out` (m, n).

    `local` (m, 14) contains the entries for the two bodies in `rows`; the ground is skipped.
    """
    size, width = x.shape
    for k in range(local.shape[0]):
        for side in range(2):
            start = rows[k, FIRST + side]
            if start < size:
                for i in range(7):
                    weight = factor * local[k, 7 * side + i]
                    if weight != 0.0:
                        for c in range(width):
                            out[k, c] += weight * x[start + i, c]


@compiled(short=True, python=False, counted=False)
def scatter_rows(rows, indices, out):
    """Write `rows` (m, n) to the rows `indices` (m,) of `out` (N, n), and zeros to the others."""
    fill(out, 0.0)
    for k in range(indices.shape[0]):
        for c in range(rows.shape[1]):
            out[indices[k], c] = rows[k, c]
