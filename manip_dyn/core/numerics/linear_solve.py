"""The solution of small linear systems, compiled; allocates nothing."""

from __future__ import annotations

from manip_dyn.core.compiled import compiled


@compiled(merge=True)
def factorize(matrix, pivots):
    """Factorize the first b columns of `matrix` (b, ..) in place, with row exchanges.

    `pivots` (b,) are filled. Golub, Van Loan, Matrix computations, algorithm 3.4.1, with the
    inverses of the pivots on the diagonal. A singular matrix leaves infinite numbers.
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
            if factor != 0.0:  # sparse rows are many in mechanisms
                for column in range(k + 1, size):
                    matrix[row, column] -= factor * matrix[k, column]


@compiled(merge=True)
def solve(matrix, pivots, x):
    """Replace x (b,) by the solution of the factorized system."""
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
