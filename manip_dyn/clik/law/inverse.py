"""The inverses of the Jacobian: velocities of least (weighted) norm for a twist.

With J (6, n), its columns divided by the square roots of the joints' weights, and singular values
s_i with left singular vectors u_i:

    pseudo_inverse  J^T (J J^T)^-1; singular values below 1e-12 of the largest count as zero
    constant        J^T (J J^T + d^2 I)^-1 (Wampler 1986; Nakamura, Hanafusa 1986)
    manipulability  the same with d = d_max (1 - w / w_0) where w = sqrt(det J J^T) is below w_0
                    (Nakamura, Hanafusa 1986, eq. 22; Yoshikawa 1985)
    filtered        sum_i v_i s_i / (s_i^2 + d_i^2) u_i^T with d_i^2 = (1 - (s_i / s_0)^2) d_max^2
                    where s_i is below s_0: damping only along directions that get lost (numerical
                    filtering, Maciejewski, Klein 1988; Chiaverini, Siciliano, Egeland 1994,
                    eq. 17), so that all others are followed exactly

`filtered` needs singular values only near a singularity: while the trace of (J J^T)^-1, at least
1 / s_min^2, is below 1 / s_0^2, the Cholesky solution is exact.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from manip_dyn.clik.law.settings import (
    CONSTANT,
    CONTROLLED,
    DAMPING,
    FILTERED,
    INVERSE,
    MANIPULABILITY,
    THRESHOLD,
)
from manip_dyn.clik.law.singular import decompose, factorize, inverse_trace, substitute
from manip_dyn.clik.law.workspace import DAMPED, MEASURED, task_of
from manip_dyn.core.compiled import inlined
from manip_dyn.core.compiled.late import late

NEGLIGIBLE = 1e-12
"""Singular values below this share of the largest are zero."""


@inlined
def factorized(task, memory):
    """Factorize J J^T + d^2 I; return whether that is the inverse, without singular values."""
    numbers = task.numbers
    task.report[DAMPED] = 0.0
    multiply(task.jacobian, numbers, task.square)
    kind, damping = numbers[INVERSE], 0.0
    if kind == CONSTANT:
        damping = numbers[DAMPING]
    elif kind == MANIPULABILITY:
        measure(memory)
        share = 1.0 - task.report[MEASURED] / numbers[THRESHOLD]
        damping = numbers[DAMPING] * (share if share > 0.0 else 0.0)
    if not factorize(task.square, damping, task.factor):
        return False
    if kind == FILTERED:
        limit = numbers[THRESHOLD]
        return inverse_trace(task.factor) * limit * limit <= 1.0
    task.report[DAMPED] = damping
    return True


@late
def measure(memory):
    """Report sqrt(det J J^T) over the controlled rows, from ``task.square``."""
    task = task_of(memory)
    task.report[MEASURED] = 0.0
    if factorize(task.square, 0.0, task.factor):
        task.report[MEASURED] = determinant_root(task.factor, task.numbers)


@inlined
def determinant_root(factor, numbers):
    """Return the root of the determinant of the controlled rows from a Cholesky factor."""
    measure = 1.0
    for i in range(6):
        if numbers[CONTROLLED + i] != 0.0:
            measure /= factor[i, i]
    return measure


@inlined
def find_singular_values(task):
    """Decompose ``task.jacobian`` into ``task.rows``, ``task.basis`` and ``task.values``."""
    for r in range(6):
        for i in range(task.jacobian.shape[1]):
            task.rows[r, i] = task.jacobian[r, i]
    decompose(task.rows, task.basis, task.values)


@inlined
def add_factorized(task, v):
    """Add the velocities (n,) for ``task.rest`` to `v`, from the Cholesky factor.

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
    """Add the velocities (n,) for ``task.rest`` to `v`, from the singular values."""
    smallest = NEGLIGIBLE * task.values[0]
    for k in range(6):
        value = task.values[k]
        if value <= smallest:
            continue
        squared = damping_of(value, task.numbers)
        task.report[DAMPED] = max(task.report[DAMPED], sqrt(squared))
        share = 0.0
        for r in range(6):
            share += task.basis[r, k] * task.rest[r]
        share /= value * value + squared
        for i in range(task.freedom.size):
            v[i] += task.freedom[i] * share * task.rows[k, i]


@inlined
def damping_of(value, numbers):
    """Return d^2 for a singular value when the Jacobian is decomposed."""
    kind, damping = numbers[INVERSE], numbers[DAMPING]
    if kind == CONSTANT:
        return damping * damping
    ratio = value / numbers[THRESHOLD]
    if kind != FILTERED or ratio >= 1.0:
        return 0.0
    return (1.0 - ratio * ratio) * (damping * damping)


@inlined
def multiply(jacobian, numbers, square):
    """Write J J^T; a row that is not controlled becomes one of the unit matrix, scaled."""
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


def singular_values(jacobian: np.ndarray) -> np.ndarray:
    """Return the singular values (6,) of a matrix (6, n), falling."""
    rows = np.array(jacobian, dtype=np.float64)
    values = np.empty(6)
    decompose(rows, np.empty((6, 6)), values)
    return values
