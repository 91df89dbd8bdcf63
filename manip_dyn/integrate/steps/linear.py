"""The linear systems of implicit steps, compiled once for all engines; allocates nothing."""

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
def add_product(slopes, first, column, factor, x, out):
    """Add `factor` times the product of a block of `slopes` with x (k,) to out (b,).

    The block's first row is `first`, its first column `column`.
    """
    for row in range(out.shape[0]):
        total = 0.0
        for k in range(x.shape[0]):
            total += slopes[first + row, column + k] * x[k]
        out[row] += factor * total
