"""Solvers of equations: compiled linear algebra for small systems, and Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled

Evaluated = TypeVar("Evaluated")
RELATIVE_CHANGE = 6e-6
"""Relative step of central differences: about the cube root of the machine epsilon."""


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
    """Minimize x^T H x / 2 + slope^T x within a box, one coordinate at a time.

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


class Damping(NamedTuple):
    """Parameters of the damped Newton method.

    Attributes:
        most: Largest number of steps. The residual is not checked after the last one.
        converged: Residual below which the method has converged.
        shrink: Factor (< 1) that a rejected step is multiplied by.
        least: Only fractions of a step above this value are tried.
    """

    most: int
    converged: float
    shrink: float
    least: float


def damped_newton(
    x: Vector,
    at_x: Evaluated,
    evaluate: Callable[[Vector], Evaluated | None],
    size: Callable[[Evaluated], float],
    step: Callable[[Vector, Evaluated], tuple[Vector, float] | None],
    damping: Damping,
) -> tuple[Vector, Evaluated, bool]:
    """Solve equations by Newton's method with damping.

    Args:
        x: Initial unknowns (k,).
        at_x: Evaluation of the initial unknowns.
        evaluate: Function of the unknowns. It returns their evaluation, or None if it fails.
        size: Function of an evaluation. It returns the norm of the residual. Only steps that
            reduce it are accepted.
        step: Function of the unknowns and their evaluation. It returns the Newton step (k,) and
            the fraction of it to try first, or None if there is no step.
        damping: Parameters of the method.

    Returns:
        The last accepted or initial unknowns (k,), their evaluation, and whether the method
        converged.
    """
    for _ in range(damping.most):
        before = size(at_x)
        if before < damping.converged:
            return x, at_x, True
        direction = step(x, at_x)
        if direction is None:
            break
        newton_step, fraction = direction
        change = fraction * newton_step
        while fraction > damping.least:
            trial = evaluate(x + change)
            if trial is not None and size(trial) < before:
                x, at_x = x + change, trial
                break
            change, fraction = damping.shrink * change, damping.shrink * fraction
        else:
            break
    return x, at_x, False
