"""Compiled constraints and generalized coordinate partitioning.

Newton's method on the constraints computes the dependent positions from the independent ones. The
constraint gradients give the dependent velocities (Sandu et al. (2001), eq. 7c, 7d and section 4).
No memory is allocated. The arrays are described in `tables`; p is the `Memory` of all arrays.
"""

from __future__ import annotations

from manip_dyn.core.arrays import part
from manip_dyn.core.compiled import compiled
from manip_dyn.multibody.equations.blocks import (
    refactor,
    solve_rows,
    solve_transposed,
    substitute,
)
from manip_dyn.multibody.equations.primitives import PLACE_SLOPE, SIZE, run_kernel
from manip_dyn.multibody.equations.tables import (
    ASSEMBLED,
    FIRST,
    KERNEL,
    SECOND,
    links_of,
    motion_of,
    reduced_of,
)

CHORDS, NEWTON, FROM_LAST = range(3)
"""Assembly attempts in order: from the predicted position with the last factors, from the
predicted position with new factors, and from the last position with new factors."""
MAX_ITERATIONS = (6, 30, 30)
"""Maximum number of iterations per attempt."""


@compiled(short=True, python=False, counted=False)
def residuals(p, out):
    """Write the constraint violations (m,) and `slopes`; return the largest violation."""
    links, motion = links_of(p), motion_of(p)
    rows, numbers, targets, slopes = links.rows, links.numbers, links.targets, links.slopes
    q, result = motion.q, motion.result
    largest = 0.0
    for k in range(rows.shape[0]):
        first, second = rows[k, FIRST], rows[k, SECOND]
        run_kernel(rows[k, KERNEL], q, q, q, first, second, numbers, 12 * k, result)
        violation = result[0] - targets[k]
        out[k] = violation
        for i in range(SIZE):
            slopes[k, i] = result[PLACE_SLOPE + i]
        if abs(violation) > largest or violation != violation:  # a NaN persists
            largest = abs(violation)
    return largest


@compiled(short=True, python=False, counted=False)
def assemble(y, p):
    """Compute all positions from the independent ones, y[:n]; return whether this succeeded.

    Newton's method starts at a prediction from the last positions and velocities, because near a
    change point the position nearest to the last one may belong to another motion.
    """
    links, q = links_of(p), motion_of(p).q
    dependent, independent, flags, limits = (
        links.dependent,
        links.independent,
        links.flags,
        links.limits,
    )
    violations, backup, ahead, before = links.work, links.spare, links.ahead, links.before
    n, m, flag = independent.shape[0], dependent.shape[0], flags[0]
    same = flag == ASSEMBLED
    for i in range(n):
        same = same and q[independent[i]] == y[i]
    if same:
        return True
    for i in range(m):
        backup[i] = q[dependent[i]]
        ahead[i] = 0.0
    for i in range(n):
        before[i] = y[i] - q[independent[i]]
    if flag == ASSEMBLED:
        add_independent(p, before, ahead)
        substitute(p, ahead)
    for i in range(n):
        before[i] = q[independent[i]]
        q[independent[i]] = y[i]
    for attempt in range(CHORDS if flag == ASSEMBLED else NEWTON, FROM_LAST + 1):
        for i in range(m):
            q[dependent[i]] = backup[i] + (ahead[i] if attempt < FROM_LAST else 0.0)
        last = 1e10
        for _ in range(MAX_ITERATIONS[attempt]):
            largest = residuals(p, violations)
            flags[1] += 1
            close = largest <= limits[0]
            if not (close or largest < last):
                break
            if attempt == CHORDS:
                last = 0.5 * largest
            elif not close:
                refactor(p)
                flags[0] = ASSEMBLED
            if flags[0] == ASSEMBLED:
                substitute(p, violations)
                for i in range(m):
                    q[dependent[i]] -= violations[i]
            if close:  # iterate to rounding, because errors grow near a change point
                residuals(p, violations)
                refactor(p)
                flags[0] = ASSEMBLED
                return True
    for i in range(m):
        q[dependent[i]] = backup[i]
    for i in range(n):
        q[independent[i]] = before[i]
    residuals(p, violations)
    refactor(p)
    flags[0] = flag
    return False


@compiled(short=True, python=False, counted=False)
def redundant_violation(p):
    """Return the largest violation of the redundant constraints."""
    links, motion = links_of(p), motion_of(p)
    rows, numbers, targets = links.extra_rows, links.extra_numbers, links.extra_targets
    q, result = motion.q, motion.result
    largest = 0.0
    for k in range(rows.shape[0]):
        first, second = rows[k, FIRST], rows[k, SECOND]
        run_kernel(rows[k, KERNEL], q, q, q, first, second, numbers, 12 * k, result)
        largest = max(largest, abs(result[0] - targets[k]))
    return largest


@compiled(short=True, python=False, counted=False)
def add_independent(p, change, out):
    """Subtract the products of the gradients and changes (n,) of independent coordinates."""
    links = links_of(p)
    rows, roles, slopes = links.rows, links.roles, links.slopes
    n = change.shape[0]
    for k in range(out.shape[0]):
        for side in range(2):
            start = rows[k, FIRST + side]
            for i in range(7):
                c = -1 - roles[start + i]
                if 0 <= c < n:
                    out[k] -= slopes[k, 7 * side + i] * change[c]


@compiled(short=True, python=False, counted=False)
def set_velocities(y, p):
    """Compute all velocities from the independent ones, y[n:]."""
    links, v = links_of(p), motion_of(p).v
    dependent, independent, work = links.dependent, links.independent, links.work
    n, m = independent.shape[0], dependent.shape[0]
    for k in range(m):
        work[k] = 0.0
    add_independent(p, part(y, n, n), work)
    substitute(p, work)
    for i in range(n):
        v[independent[i]] = y[n + i]
    for k in range(m):
        v[dependent[k]] = work[k]


@compiled(short=True, python=False, counted=False)
def set_basis(p):
    """Write `basis`."""
    links, reduced = links_of(p), reduced_of(p)
    rows, roles, slopes = links.rows, links.roles, links.slopes
    dependent, independent = links.dependent, links.independent
    place, basis = reduced.place, reduced.basis
    n, m = independent.shape[0], dependent.shape[0]
    for k in range(m):
        for c in range(n):
            place[k, c] = 0.0
        for side in range(2):
            start = rows[k, FIRST + side]
            for i in range(7):
                c = -1 - roles[start + i]
                if 0 <= c < n:
                    place[k, c] -= slopes[k, 7 * side + i]
    solve_rows(p, place)
    for c in range(n):
        for i in range(n):
            basis[independent[i], c] = 1.0 if i == c else 0.0
        for k in range(m):
            basis[dependent[k], c] = place[k, c]


@compiled(short=True, python=False, counted=False)
def condition_number(p):
    """Return an estimate of the 1-norm condition number of the factorized gradients.

    Hager (1984); Higham, Accuracy and stability of numerical algorithms, algorithm 15.1.
    """
    links = links_of(p)
    rows, roles, slopes = links.rows, links.roles, links.slopes
    x, z = links.work, links.spare
    m = x.shape[0]
    largest = 0.0
    for i in range(m):
        x[i] = 0.0
    for k in range(m):
        for side in range(2):
            start = rows[k, FIRST + side]
            for i in range(7):
                role = roles[start + i]
                if role >= 0:
                    x[role] += abs(slopes[k, 7 * side + i])
                    largest = max(largest, x[role])
    for i in range(m):
        x[i] = 1.0 / m
    estimate = 0.0
    for _ in range(4):
        for i in range(m):
            z[i] = x[i]
        substitute(p, z)
        estimate = 0.0
        for i in range(m):
            estimate += abs(z[i])
            z[i] = 1.0 if z[i] >= 0.0 else -1.0
        solve_transposed(p, z)
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
