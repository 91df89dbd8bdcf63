"""Small linear algebra of implicit steps, compiled once for all engines; allocates nothing."""

from __future__ import annotations

from manip_dyn.core.compiled import compiled


@compiled(merge=True)
def implicit_matrix(slopes, n, gamma, h, mass, matrix):
    """Write the matrix of the stages' linear systems, (b, b), into `matrix`.

    With n positions q'' = f: M / gamma - h M J2 - h^2 gamma M J1 (Sandu et al. (2001), eq. 44,
    divided by gamma), b = n, from M J1 and M J2 in the first 2 n columns of `slopes` (.., m) and
    M, if `mass`, in the n columns after m. Without positions: I / gamma - h df/dy, b = m.

    Args:
        slopes: What a `Jacobian` wrote.
        n: Number of positions.
        gamma: The method's number.
        h: The step.
        mass: How many columns stand before M in `slopes`; 0 for M = I.
        matrix: Is written, (b, ..).
    """
    size = matrix.shape[0]
    for row in range(size):
        for column in range(size):
            value = -h * slopes[row, n + column]
            if n > 0:
                value -= h * h * gamma * slopes[row, column]
            if mass > 0:
                value += slopes[row, mass + column] / gamma
            elif row == column:
                value += 1.0 / gamma
            matrix[row, column] = value


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


@compiled(merge=True)
def add_product(slopes, first, column, factor, x, out):
    """Add `factor` times the product of a block of `slopes` with x (k,) to out (b,).

    The block's first row is `first`, its first column `column`.
    """
    for row in range(out.shape[0]):
        total = 0.0
        for k in range(x.shape[0]):
            total += slopes[first + row, column + k] * x[k]
        out[row] += factor * total
