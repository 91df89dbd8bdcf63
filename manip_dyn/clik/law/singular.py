"""Singular values and a Cholesky solution of small matrices, in place, without LAPACK.

Both allocate nothing and take fewer instructions for six rows than the call of a library.
"""

from __future__ import annotations

from math import sqrt

from manip_dyn.core.compiled import compiled, inlined

SWEEPS = 30
"""Sweeps before giving up; six rows need about six."""
ORTHOGONAL = 1e-15
"""Cosine of two rows that are orthogonal."""


@compiled
def decompose(rows, basis, values):
    """Turn `rows` (m, n) into B = U^T rows, whose rows are orthogonal, from long to short.

    One-sided Jacobi rotations (Hestenes 1958; Golub, Van Loan, Matrix Computations, section
    8.6.3): the lengths of the rows of B are the singular values, `values` (m,), to high relative
    accuracy, their directions the right singular vectors; the columns of `basis` (m, m) are U.
    """
    count, width = rows.shape
    for a in range(count):
        for b in range(count):
            basis[a, b] = 1.0 if a == b else 0.0
    for _ in range(SWEEPS):
        turned = False
        for a in range(count - 1):
            for b in range(a + 1, count):
                turned |= _rotate(rows, basis, a, b, width)
        if not turned:
            break
    for a in range(count):
        total = 0.0
        for i in range(width):
            total += rows[a, i] * rows[a, i]
        values[a] = sqrt(total)


@inlined(always=True)
def _rotate(rows, basis, a, b, width):
    """Make rows a and b orthogonal, the longer one first; return whether anything changed."""
    alpha = beta = gamma = 0.0
    for i in range(width):
        alpha += rows[a, i] * rows[a, i]
        beta += rows[b, i] * rows[b, i]
        gamma += rows[a, i] * rows[b, i]
    ordered = alpha >= beta
    if not abs(gamma) > ORTHOGONAL * sqrt(alpha * beta):
        cosine, sine = (1.0, 0.0) if ordered else (0.0, 1.0)
    else:
        ratio = (alpha - beta) / (2.0 * gamma)
        tangent = (1.0 if ratio >= 0.0 else -1.0) / (abs(ratio) + sqrt(1.0 + ratio * ratio))
        cosine = 1.0 / sqrt(1.0 + tangent * tangent)
        sine = cosine * tangent
        if not ordered:
            cosine, sine = -sine, cosine
    if sine == 0.0:
        return False
    for i in range(width):
        x, y = rows[a, i], rows[b, i]
        rows[a, i] = cosine * x + sine * y
        rows[b, i] = cosine * y - sine * x
    for i in range(rows.shape[0]):
        x, y = basis[i, a], basis[i, b]
        basis[i, a] = cosine * x + sine * y
        basis[i, b] = cosine * y - sine * x
    return True


@inlined
def factorize(square, damping, lower):
    """Write L with L L^T = square + damping^2 I into `lower`, 1/l_ii on its diagonal.

    Returns whether the matrix is positive definite beyond rounding.
    """
    n = square.shape[0]
    size = 0.0
    for i in range(n):
        if square[i, i] > size:
            size = square[i, i]
    for i in range(n):
        for j in range(i):
            total = square[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = total * lower[j, j]
        total = square[i, i] + damping * damping
        for k in range(i):
            total -= lower[i, k] * lower[i, k]
        if not total > 1e-13 * size:
            return False
        lower[i, i] = 1.0 / sqrt(total)
    return True


@inlined
def substitute(lower, x):
    """Replace `x` (m,) by the solution y of L L^T y = x, with `lower` from `factorize`."""
    n = x.size
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= lower[i, k] * x[k]
        x[i] = total * lower[i, i]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, n):
            total -= lower[k, i] * x[k]
        x[i] = total * lower[i, i]


@inlined
def inverse_trace(lower):
    """Return the trace of (L L^T)^-1: at least 1 / sigma_min^2, at most m times that."""
    n = lower.shape[0]
    total = 0.0
    for j in range(n):
        # Column j of L^-1 by substitution; kept in scalars of a small triangle above the diagonal.
        lower_jj = lower[j, j]
        total += lower_jj * lower_jj
        for i in range(j + 1, n):
            entry = lower[i, j] * lower_jj
            for k in range(j + 1, i):
                entry += lower[i, k] * lower[j, k]
            entry = -entry * lower[i, i]
            lower[j, i] = entry
            total += entry * entry
    return total
