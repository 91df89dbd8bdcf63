"""Inverses of the Jacobian: joint velocities of least (weighted) norm for a twist.

J (6, n) is the Jacobian with each column divided by the square root of the joint's weight. It has
the singular values s_i, the left singular vectors u_i and the right singular vectors v_i.

    pseudo_inverse  J^T (J J^T)^-1; singular values up to 1e-12 of the largest count as zero
    constant        J^T (J J^T + d^2 I)^-1 (Wampler 1986; Nakamura, Hanafusa 1986)
    manipulability  the same with d = d_max (1 - w / w_0) if w = sqrt(det J J^T) is below w_0
                    and d = 0 otherwise (Nakamura, Hanafusa 1986, eq. 22; Yoshikawa 1985)
    filtered        sum_i v_i s_i / (s_i^2 + d_i^2) u_i^T with d_i^2 = (1 - (s_i / s_0)^2) d_max^2
                    if s_i is below s_0. Only the directions that become singular are damped
                    (numerical filtering, Maciejewski, Klein 1988; Chiaverini, Siciliano, Egeland
                    1994, eq. 17). All others are followed exactly.

`filtered` requires singular values only near a singularity. The trace of (J J^T)^-1 is at least
1 / s_min^2. If it is at most 1 / s_0^2, no damping is necessary and the Cholesky solution is
exact.

The decompositions work in place, without LAPACK. For six rows they require fewer instructions than
a library call.
"""

from __future__ import annotations

from math import sqrt

from manip_dyn.clik.law.settings import (
    CONSTANT,
    CONTROLLED,
    DAMPED,
    DAMPING,
    FILTERED,
    INVERSE,
    MANIPULABILITY,
    MEASURED,
    THRESHOLD,
)
from manip_dyn.core.compiled import compiled, inlined

SWEEPS = 30
"""Maximum number of sweeps; six rows require about six."""
ORTHOGONAL = 1e-15
"""Largest cosine between rows that count as orthogonal."""


@compiled
def decompose(rows, basis, values):
    """Compute the singular value decomposition of `rows` (m, n) in place.

    One-sided Jacobi rotations (Hestenes 1958; Golub, Van Loan, Matrix Computations, section 8.6.3)
    replace `rows` with B = U^T rows. The rows of B are orthogonal and sorted by descending length.
    Their lengths are the singular values, which are written into `values` (m,) with high relative
    accuracy. Their directions are the right singular vectors. U is written into `basis` (m, m).
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
    """Orthogonalize rows a and b, sort them by length and update `basis`.

    Return whether the rows changed.
    """
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


@compiled(short=True)
def factorize(square, damping, lower):
    """Write L with L L^T = square + damping^2 I into `lower`, with 1 / l_ii on the diagonal.

    Return whether the matrix is positive definite beyond rounding.
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
    """Replace `x` (m,) with the solution y of L L^T y = x; `lower` contains L of `factorize`."""
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
    """Return the trace of (L L^T)^-1 and write L^-T above the diagonal of `lower`.

    `lower` (m, m) contains L of `factorize`. The trace is between 1 / s^2 and m / s^2, with the
    smallest singular value s of L.
    """
    n = lower.shape[0]
    total = 0.0
    for j in range(n):
        # Column j of L^-1 by substitution, stored in row j.
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


NEGLIGIBLE = 1e-12
"""Singular values up to this fraction of the largest one count as zero."""


@inlined
def factorize_damped(task):
    """Factorize J J^T + d^2 I; return False if the inverse requires singular values instead."""
    numbers = task.numbers
    task.report[DAMPED] = 0.0
    write_gram_matrix(task.jacobian, numbers, task.square)
    kind, damping = numbers[INVERSE], 0.0
    if kind == CONSTANT:
        damping = numbers[DAMPING]
    elif kind == MANIPULABILITY:
        task.report[MEASURED] = 0.0
        if factorize(task.square, 0.0, task.factor):
            task.report[MEASURED] = determinant_root(task.factor, numbers)
        fraction = 1.0 - task.report[MEASURED] / numbers[THRESHOLD]
        damping = numbers[DAMPING] * (fraction if fraction > 0.0 else 0.0)
    if not factorize(task.square, damping, task.factor):
        return False
    if kind == FILTERED:
        limit = numbers[THRESHOLD]
        return inverse_trace(task.factor) * limit * limit <= 1.0
    task.report[DAMPED] = damping
    return True


@inlined
def determinant_root(factor, numbers):
    """Return sqrt(det) of the controlled rows of the matrix J J^T + d^2 I from its `factor`."""
    measure = 1.0
    for i in range(6):
        if numbers[CONTROLLED + i] != 0.0:
            measure /= factor[i, i]
    return measure


@inlined
def find_singular_values(task):
    """Decompose ``task.jacobian`` into ``rows``, ``basis`` and ``values`` of the task."""
    for r in range(6):
        for i in range(task.jacobian.shape[1]):
            task.rows[r, i] = task.jacobian[r, i]
    decompose(task.rows, task.basis, task.values)


@inlined
def add_factorized(task, v):
    """Add the velocities (n,) for the twist ``task.rest`` to `v`, using the Cholesky factor.

    ``task.rest`` is overwritten.
    """
    x = task.rest
    substitute(task.factor, x)
    for i in range(task.freedom.size):
        total = 0.0
        for r in range(6):
            total += task.jacobian[r, i] * x[r]
        v[i] += task.freedom[i] * total


@inlined
def add_decomposed(task, v):
    """Add the velocities (n,) for the twist ``task.rest`` to `v`, using the singular values.

    The largest damping is written to ``task.report``.
    """
    smallest = NEGLIGIBLE * task.values[0]
    for k in range(6):
        value = task.values[k]
        if value <= smallest:
            continue
        squared = damping_of(value, task.numbers)
        task.report[DAMPED] = max(task.report[DAMPED], sqrt(squared))
        component = 0.0
        for r in range(6):
            component += task.basis[r, k] * task.rest[r]
        component /= value * value + squared
        for i in range(task.freedom.size):
            v[i] += task.freedom[i] * component * task.rows[k, i]


@inlined
def damping_of(value, numbers):
    """Return the squared damping d^2 of a singular value; 0 unless ``constant`` or ``filtered``.

    With ``manipulability``, matrices are decomposed only if their damping is negligible.
    """
    kind, damping = numbers[INVERSE], numbers[DAMPING]
    if kind == CONSTANT:
        return damping * damping
    ratio = value / numbers[THRESHOLD]
    if kind != FILTERED or ratio >= 1.0:
        return 0.0
    return (1.0 - ratio * ratio) * (damping * damping)


@inlined
def write_gram_matrix(jacobian, numbers, square):
    """Write J J^T, with rows of a scaled identity matrix for uncontrolled rows."""
    n, threshold = jacobian.shape[1], numbers[THRESHOLD]
    size = 0.0
    for r in range(6):
        for s in range(r + 1):
            total = 0.0
            for i in range(n):
                total += jacobian[r, i] * jacobian[s, i]
            square[r, s] = square[s, r] = total
        size += square[r, r]
    for r in range(6):
        if numbers[CONTROLLED + r] == 0.0:
            unit = 1e8 * (threshold * threshold)
            square[r, r] = size if size > unit else unit
