"""Constraints and generalized coordinate partitioning, in compiled code.

Positions follow from the independent ones by Newton's method on the constraints, velocities by
their gradients: Sandu et al. (2001), eq. 7c, 7d and section 4. Nothing is allocated.

Machine code is kept on disk by those who call this, `compiled` and the engines: they know when the
generated primitives have changed.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from manip_dyn.integrate.linear import factorize, solve
from manip_dyn.multibody.primitives import DISTANCE, DOT_1, DOT_2, POINT, SIZE, kernels
from manip_dyn.multibody.tables import ASSEMBLED

OPTIONS: Any = {"error_model": "numpy", "fastmath": {"contract"}}
MOST_CHORDS, MOST_NEWTONS = 6, 30

_kernels = kernels()
dot_1_0, dot_1_1, dot_1_2 = _kernels.dot_1_0, _kernels.dot_1_1, _kernels.dot_1_2
dot_2_0, dot_2_1, dot_2_2 = _kernels.dot_2_0, _kernels.dot_2_1, _kernels.dot_2_2
point_0, point_1, point_2 = _kernels.point_0, _kernels.point_1, _kernels.point_2
distance_0, distance_1, distance_2 = (
    _kernels.distance_0,
    _kernels.distance_1,
    _kernels.distance_2,
)
norm_0, norm_1, norm_2 = _kernels.norm_0, _kernels.norm_1, _kernels.norm_2


@njit(**OPTIONS)
def gather(values, row, out):
    """Copy the coordinates of a row's two bodies into out (14,)."""
    for k in range(7):
        out[k] = values[7 * row[1] + k]
        out[7 + k] = values[7 * row[2] + k]


@njit(**OPTIONS)
def primitive_0(kind, x, r, out):
    """Write value and gradient (15,)."""
    if kind == DOT_1:
        dot_1_0(x, r, out)
    elif kind == DOT_2:
        dot_2_0(x, r, out)
    elif kind == POINT:
        point_0(x, r, out)
    elif kind == DISTANCE:
        distance_0(x, r, out)
    else:
        norm_0(x, r, out)


@njit(**OPTIONS)
def primitive_1(kind, x, v, r, out):
    """Write value, gradient and its rate (29,)."""
    if kind == DOT_1:
        dot_1_1(x, v, r, out)
    elif kind == DOT_2:
        dot_2_1(x, v, r, out)
    elif kind == POINT:
        point_1(x, v, r, out)
    elif kind == DISTANCE:
        distance_1(x, v, r, out)
    else:
        norm_1(x, v, r, out)


@njit(**OPTIONS)
def primitive_2(kind, x, v, a, r, out):
    """Write all of (239,)."""
    if kind == DOT_1:
        dot_1_2(x, v, a, r, out)
    elif kind == DOT_2:
        dot_2_2(x, v, a, r, out)
    elif kind == POINT:
        point_2(x, v, a, r, out)
    elif kind == DISTANCE:
        distance_2(x, v, a, r, out)
    else:
        norm_2(x, v, a, r, out)


@njit(**OPTIONS)
def residuals(p, out):
    """Write the constraints' violations (m,), fill `slopes`, return the largest violation."""
    largest = 0.0
    x = p.local[0]
    result = p.result[0]
    for k in range(p.rows.shape[0]):
        gather(p.q, p.rows[k], x)
        primitive_0(p.rows[k, 0], x, p.numbers[k], result)
        out[k] = result[0] - p.targets[k]
        for i in range(SIZE):
            p.slopes[k, i] = result[1 + i]
        if not abs(out[k]) <= largest:
            largest = abs(out[k])
    return largest


@njit(**OPTIONS)
def refactor(p):
    """Factorize the gradients by the dependent coordinates."""
    size = p.dependent.shape[0]
    for k in range(size):
        for i in range(size):
            p.factors[k, i] = 0.0
        for i in range(SIZE):
            role = p.roles[7 * p.rows[k, 1 + i // 7] + i % 7]
            if role >= 0:
                p.factors[k, role] += p.slopes[k, i]
    factorize(p.factors, p.pivots)


@njit(**OPTIONS)
def solve_rows(factors, pivots, x):
    """Replace x (m, n) by the solutions with its columns; zeros cost nothing."""
    size, width = x.shape
    for k in range(size):
        best = int(pivots[k])
        if best != k:
            for c in range(width):
                x[k, c], x[best, c] = x[best, c], x[k, c]
    for row in range(1, size):
        for k in range(row):
            factor = factors[row, k]
            if factor != 0.0:
                for c in range(width):
                    x[row, c] -= factor * x[k, c]
    for row in range(size - 1, -1, -1):
        for k in range(row + 1, size):
            factor = factors[row, k]
            if factor != 0.0:
                for c in range(width):
                    x[row, c] -= factor * x[k, c]
        for c in range(width):
            x[row, c] *= factors[row, row]


@njit(**OPTIONS)
def solve_transposed(factors, pivots, x):
    """Replace x (m,) by the solution with the transposed matrix."""
    size = x.shape[0]
    for k in range(size):
        x[k] *= factors[k, k]
        for i in range(k + 1, size):
            x[i] -= factors[k, i] * x[k]
    for k in range(size - 1, -1, -1):
        for i in range(k):
            x[i] -= factors[k, i] * x[k]
    for k in range(size - 1, -1, -1):
        best = int(pivots[k])
        x[k], x[best] = x[best], x[k]


@njit(**OPTIONS)
def assemble(y, p):
    """Put all positions where the independent ones are y[:n]; return whether that was possible.

    The last factors serve for chord steps; Newton's method follows where they do not converge.
    """
    n, m = p.independent.shape[0], p.dependent.shape[0]
    same = p.flags[0] == ASSEMBLED
    for i in range(n):
        same = same and p.q[p.independent[i]] == y[i]
    if same:
        return True
    backup, wrong = p.work[0], p.work[1, :m]
    for i in range(m):
        backup[i] = p.q[p.dependent[i]]
    for i in range(n):
        p.q[p.independent[i]] = y[i]
    for count in range(MOST_CHORDS + MOST_NEWTONS):
        largest = residuals(p, wrong)
        p.flags[1] += 1
        if largest <= p.limits[0]:
            refactor(p)
            p.flags[0] = ASSEMBLED
            return True
        if not largest < 1e10:
            break
        if count >= MOST_CHORDS or p.flags[0] == 0:
            refactor(p)
        solve(p.factors, p.pivots, wrong)
        for i in range(m):
            p.q[p.dependent[i]] -= wrong[i]
    for i in range(m):
        p.q[p.dependent[i]] = backup[i]
    p.flags[0] = 0
    return False


@njit(**OPTIONS)
def follow(y, p):
    """Fill `basis`, and all velocities from the independent ones, y[n:]."""
    n, m = p.independent.shape[0], p.dependent.shape[0]
    for k in range(m):
        for c in range(n):
            p.place[k, c] = 0.0
        for i in range(SIZE):
            c = -1 - p.roles[7 * p.rows[k, 1 + i // 7] + i % 7]
            if 0 <= c < n:
                p.place[k, c] -= p.slopes[k, i]
    solve_rows(p.factors, p.pivots, p.place)
    for c in range(n):
        for i in range(n):
            p.basis[p.independent[i], c] = 1.0 if i == c else 0.0
        for k in range(m):
            p.basis[p.dependent[k], c] = p.place[k, c]
    for i in range(n):
        p.v[p.independent[i]] = y[n + i]
    for k in range(m):
        total = 0.0
        for c in range(n):
            total += p.place[k, c] * y[n + c]
        p.v[p.dependent[k]] = total


@njit(**OPTIONS)
def condition(p):
    """Return an estimate of the 1-norm condition number of the factorized gradients.

    Hager (1984); Higham, Accuracy and stability of numerical algorithms, algorithm 15.1.
    """
    m = p.dependent.shape[0]
    x, z = p.work[2, :m], p.work[3, :m]
    largest = 0.0
    for i in range(m):
        x[i] = 0.0
    for k in range(m):
        for i in range(SIZE):
            role = p.roles[7 * p.rows[k, 1 + i // 7] + i % 7]
            if role >= 0:
                x[role] += abs(p.slopes[k, i])
                largest = max(largest, x[role])
    for i in range(m):
        x[i] = 1.0 / m
    estimate = 0.0
    for _ in range(4):
        for i in range(m):
            z[i] = x[i]
        solve(p.factors, p.pivots, z)
        estimate = 0.0
        for i in range(m):
            estimate += abs(z[i])
            z[i] = 1.0 if z[i] >= 0.0 else -1.0
        solve_transposed(p.factors, p.pivots, z)
        best, along = 0, 0.0
        for i in range(m):
            along += z[i] * x[i]
            if abs(z[i]) > abs(z[best]):
                best = i
        if not abs(z[best]) > along:
            break
        for i in range(m):
            x[i] = 1.0 if i == best else 0.0
    return largest * estimate
