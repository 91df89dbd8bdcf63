"""Compiled linear algebra for small systems."""

from __future__ import annotations

from manip_dyn.core.compiled import compiled


@compiled(merge=True)
def factorize(matrix, pivots):
    """Compute the LU factors of a square matrix in place, with partial pivoting.

    The diagonal of the result contains the inverses of the pivots. A pivot of zero results in
    infinity or NaN. Source: Golub, Van Loan, Matrix Computations, algorithm 3.4.1.

    Args:
        matrix: Matrix (b, b). Further columns are ignored.
        pivots: Output (b,): row k is exchanged with row `pivots[k]`.
    """
    size = matrix.shape[0]
    for k in range(size):
        best = k
        for row in range(k + 1, size):
            if abs(matrix[row, k]) > abs(matrix[best, k]):
                best = row
        pivots[k] = best
        if best != k:
            for column in range(size):
                matrix[k, column], matrix[best, column] = matrix[best, column], matrix[k, column]
        inverse = 1.0 / matrix[k, k]
        matrix[k, k] = inverse
        for row in range(k + 1, size):
            factor = matrix[row, k] * inverse
            matrix[row, k] = factor
            if factor != 0.0:  # mechanisms have many sparse rows
                for column in range(k + 1, size):
                    matrix[row, column] -= factor * matrix[k, column]


@compiled(merge=True)
def solve(matrix, pivots, x):
    """Solve a linear system after `factorize`.

    Args:
        matrix: LU factors of `factorize` (b, b). Further columns are ignored.
        pivots: Row exchanges of `factorize` (b,).
        x: Right-hand side (b,). It is replaced with the solution.
    """
    size = matrix.shape[0]
    for k in range(size):
        best = int(pivots[k])
        x[k], x[best] = x[best], x[k]
    for row in range(1, size):
        for column in range(row):
            x[row] -= matrix[row, column] * x[column]
    for row in range(size - 1, -1, -1):
        for column in range(row + 1, size):
            x[row] -= matrix[row, column] * x[column]
        x[row] *= matrix[row, row]


MOST_SWEEPS = 1000
CONVERGED = 1e-12
"""Sweeps stop if the largest change is at most this fraction of the largest coordinate."""


@compiled
def box_minimum(hessian, slope, low, high, x):
    """Minimize x' H x / 2 + slope' x within a box, one coordinate at a time.

    No step increases the function. After `MOST_SWEEPS` sweeps, the method stops without
    convergence. Source: Hildreth, "A quadratic programming procedure", 1957.

    Args:
        hessian: Symmetric, positive definite matrix H (n, n).
        slope: Linear coefficients (n,).
        low: Smallest values (n,).
        high: Largest values (n,), not below `low`.
        x: Initial point (n,) within the box. It is replaced with the approximate minimizer.
    """
    n = x.size
    for _ in range(MOST_SWEEPS):
        change = largest = 0.0
        for i in range(n):
            gradient = slope[i]
            for j in range(n):
                gradient += hessian[i, j] * x[j]
            new = min(max(x[i] - gradient / hessian[i, i], low[i]), high[i])
            change = max(change, abs(new - x[i]))
            largest = max(largest, abs(new))
            x[i] = new
        if change <= CONVERGED * largest:
            return
