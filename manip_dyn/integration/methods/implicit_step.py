"""One step of a Rosenbrock method, linked with each right-hand side; see `rosenbrock`.

The state y = (q, v, w) has `size` entries: `positions` positions q, their rates v, and quadratures
w. If `positions` is 0, all entries belong to w. The unknowns of the linear systems belong to v, or
to w if there are no positions.
"""

from __future__ import annotations

from manip_dyn.core.arrays import part, row, rows
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.solvers import RELATIVE_CHANGE, factorize, solve
from manip_dyn.integration.methods.dense_output import fill_hermite, finish_piece
from manip_dyn.integration.methods.step_control import (
    NON_FINITE,
    PASSED,
    error_norm,
    finite,
    judge,
    plan_first,
    plan_next,
)
from manip_dyn.integration.methods.template_parameters import (
    a,
    adaptive,
    c,
    delta,
    dense,
    exact,
    gamma,
    jacobian,
    mass,
    moves,
    of_stage,
    paper,
    paper_power,
    positions,
    power,
    rhs,
    rms,
    scaled,
    size,
    stage_count,
    theta,
)


@compiled(merge=True)
def implicit_matrix(slopes, n, gamma, h, mass, matrix):
    """Write the matrix of the stages' linear systems into `matrix` (b, ..).

    For n > 0 positions with q'' = f, the matrix is M / gamma - h M J2 - h^2 gamma M J1 and b = n
    (Sandu et al. (2001), eq. 44, divided by gamma). The first 2 n columns of `slopes` (.., m)
    contain M J1 and M J2. If `mass` is set, the n columns after m contain M. Without positions,
    the matrix is I / gamma - h df/dy and b = m.

    Args:
        slopes: Output of a `Jacobian`.
        n: Number of positions.
        gamma: Diagonal entry of the matrix gamma of the method.
        h: Step, s.
        mass: Index of the first column of M in `slopes`; 0 if M = I.
        matrix: Output; only the first b columns are written.
    """
    size = matrix.shape[0]
    for i in range(size):
        for j in range(size):
            value = -h * slopes[i, n + j]
            if n > 0:
                value -= h * h * gamma * slopes[i, j]
            if mass > 0:
                value += slopes[i, mass + j] / gamma
            elif i == j:
                value += 1.0 / gamma
            matrix[i, j] = value


@compiled(merge=True)
def add_product(slopes, first, column, factor, x, out):
    """Add `factor` times the product of a block of `slopes` and `x` (k,) to `out` (b,).

    The block starts at row `first` and column `column`.
    """
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(x.shape[0]):
            total += slopes[first + i, column + k] * x[k]
        out[i] += factor * total


U, RATE, F, WRONG, BY_TIME, PIVOTS, PLACE, END, Z = range(9)
"""Rows of the work array: final state; derivative at the start of the step; derivative of a stage;
error estimate; derivatives with respect to time; row exchanges; scratch; derivative at the end of
the step; and solution of the first stage."""

ALPHA, GAMMAS, REPEATS = range(3)
"""Rows of `of_stage`: row sums of alpha and of gamma, and whether a stage reuses the evaluation of
the previous one. The rows of `moves` are the weights of the result and then of the error estimate,
each for positions and for other components."""


@inlined(always=True, counted=False)
def unknowns():
    """Return the number of unknowns of the linear systems: positions, or m without positions."""
    return positions() if positions() else size()


@inlined(always=True, counted=False)
def prepare(y, p, now, limits, tolerances, work, scratch):
    """Compute derivative and Jacobian at the start, unless they are known; plan the first step."""
    rate = row(work, RATE)
    if now.known == 0:
        rhs(now.first, y, p, rate)
        now.evaluations += 1
        now.known = 1
    if adaptive() and now.planned == 0.0:
        if not finite(rate, size()):
            return NON_FINITE
        plan_first(
            y, p, now, limits, tolerances, row(work, U), rate, row(work, F), size(), power()
        )
    if now.known == 1:
        slopes = rows(scratch, 0, size() - positions())
        by_time = part(row(work, BY_TIME), 0, size() - positions())
        if exact():
            jacobian(now.first, y, p, slopes, by_time)
        else:
            differences(y, p, now, work, slopes, by_time)
        now.known = 2
    return PASSED


@inlined(counted=False)
def differences(y, p, now, work, slopes, by_time):
    """Write central differences of the rates of v and w with respect to state and time."""
    u, above, below = row(work, U), row(work, F), row(work, WRONG)
    columns = 2 * positions() if positions() else size()
    for i in range(size()):
        u[i] = y[i]
    for column in range(columns + 1):
        early = late = now.first
        width = 1.0
        if column < columns:
            change = RELATIVE_CHANGE * max(1.0, abs(y[column]))
            u[column] = y[column] + change
            width = u[column] - y[column]
        else:
            tick = 1e-3 * (now.planned if adaptive() else now.sign * now.step)
            late = min(max(now.t + tick, now.earliest), now.latest)
            early = min(max(now.t - tick, now.earliest), now.latest)
        rhs(late, u, p, above)
        if column < columns:
            u[column] = y[column] - width
        rhs(early, u, p, below)
        if column < columns:
            u[column] = y[column]
            for i in range(size() - positions()):
                slope = above[positions() + i] - below[positions() + i]
                slopes[i, column] = slope / (2.0 * width)
        else:
            width = late - early if late != early else 1.0
            for i in range(size() - positions()):
                by_time[i] = (above[positions() + i] - below[positions() + i]) / width
    now.evaluations += 2 * columns + 2


@inlined(always=True, counted=False)
def attempt(y, p, now, limits, tolerances, work, scratch):
    """Compute a step and write its final state to row `U`; accept or reject an adaptive step."""
    u, f, h = row(work, U), row(work, F), now.h
    slopes = rows(scratch, 0, size() - positions())
    matrix = rows(scratch, size() - positions(), unknowns())
    pivots = part(row(work, PIVOTS), 0, unknowns())
    implicit_matrix(slopes, positions(), gamma(), h, size() if mass() else 0, matrix)
    factorize(matrix, pivots)
    for i in range(stage_count()):
        if i > 0 and of_stage(REPEATS, i) == 0.0:
            argument(i, y, h, work, u)
            time = now.t + of_stage(ALPHA, i) * h
            rhs(min(max(time, now.earliest), now.latest), u, p, f)
            now.evaluations += 1
        solve_stage(i, y, h, work, slopes, matrix, pivots)
    result(0, h, work, u)
    for i in range(size()):
        u[i] += y[i]
    for i in range(positions()):
        u[i] += h * y[positions() + i]
    if not adaptive():
        return PASSED if finite(u, size()) else NON_FINITE
    wrong = row(work, WRONG)
    result(1, h, work, wrong)
    if scaled():
        damp(h, work, slopes, matrix, pivots, wrong)
    now.error = error_norm(y, u, wrong, tolerances, size(), rms())
    return judge(now, limits, power())


@inlined(counted=False)
def argument(i, y, h, work, u):
    """Write the state at which stage i evaluates the right-hand side."""
    for k in range(size()):
        total = 0.0
        if k < positions():
            total = of_stage(ALPHA, i) * y[positions() + k]
            for j in range(i):
                total += theta(i, j) * work[Z + j, positions() + k]
            total *= h
        else:
            for j in range(i):
                total += a(i, j) * work[Z + j, k]
        u[k] = y[k] + total


@inlined(counted=False)
def solve_stage(i, y, h, work, slopes, matrix, pivots):
    """Solve the linear system of stage i; write the components of v and w into row `Z` + i."""
    n = positions()
    rate = row(work, RATE if i == 0 else F)
    z, place = row(work, Z + i), part(row(work, PLACE), 0, unknowns())
    by_time = h * h * of_stage(GAMMAS, i)
    for k in range(n, size()):
        total = 0.0
        for j in range(i):
            total += c(i, j) * work[Z + j, k]
        z[k] = h * rate[k] + total
    if n == 0:
        for k in range(size()):
            z[k] += by_time * work[BY_TIME, k]
        solve(matrix, pivots, z)
        return
    block = part(z, n, n)
    if mass():
        for k in range(n):
            place[k] = block[k]
            block[k] = 0.0
    for k in range(size() - n):
        z[n + k] += by_time * work[BY_TIME, k]
    if mass():
        add_product(slopes, 0, size(), 1.0, place, block)
    for k in range(n):
        total = 0.0
        for j in range(i):
            total += delta(i, j) * work[Z + j, n + k]
        place[k] = of_stage(GAMMAS, i) * y[n + k] + total
    add_product(slopes, 0, 0, h * h, place, block)
    solve(matrix, pivots, block)
    if 2 * n < size():
        tail = part(z, 2 * n, size() - 2 * n)
        for k in range(n):
            place[k] += gamma() * block[k]
        add_product(slopes, n, 0, h * h, place, tail)
        add_product(slopes, n, n, h, block, tail)
        for k in range(size() - 2 * n):
            tail[k] *= gamma()


@inlined(counted=False)
def result(kind, h, work, out):
    """Write the weighted sum of stages for the result (kind 0) or the error estimate (kind 1)."""
    for k in range(size()):
        total = 0.0
        for j in range(stage_count()):
            if k < positions():
                total += moves(2 * kind, j) * work[Z + j, positions() + k]
            else:
                total += moves(2 * kind + 1, j) * work[Z + j, k]
        out[k] = h * total if k < positions() else total


@inlined(counted=False)
def damp(h, work, slopes, matrix, pivots, wrong):
    """Multiply the error estimate `wrong` (m,) by (I - h gamma df/dy)^-1.

    This is Shampine's damping of stiff components (Hairer, Wanner, Solving ODEs II, eq. IV.8.20).
    Sandu et al. (2001), section 5.1, leave the question of such a damping open.
    """
    n = positions()
    if n == 0:
        for k in range(size()):
            wrong[k] *= 1.0 / gamma()
        solve(matrix, pivots, wrong)
        return
    moved, block = part(wrong, 0, n), part(wrong, n, n)
    if mass():
        place = part(row(work, PLACE), 0, n)
        for k in range(n):
            place[k] = block[k]
            block[k] = 0.0
        add_product(slopes, 0, size(), 1.0 / gamma(), place, block)
    else:
        for k in range(n):
            block[k] *= 1.0 / gamma()
    add_product(slopes, 0, 0, h, moved, block)
    solve(matrix, pivots, block)
    for k in range(n):
        moved[k] += h * gamma() * block[k]
    if 2 * n < size():
        tail = part(wrong, 2 * n, size() - 2 * n)
        add_product(slopes, n, 0, h * gamma(), moved, tail)
        add_product(slopes, n, n, h * gamma(), block, tail)


@inlined(always=True, counted=False)
def interpolate(y, p, now, work, spans, polynomials):
    """Store the interpolation polynomial of the step."""
    u, end = row(work, U), row(work, END)
    rhs(now.last, u, p, end)
    now.evaluations += 1
    fill_hermite(now, polynomials, y, u, row(work, RATE), end, size())
    finish_piece(now, spans)


@inlined(always=True, counted=False)
def close(now, work):
    """Store the derivative at the end of the step, if available, for the next step."""
    now.known = 0
    if dense():
        now.known = 1
        for i in range(size()):
            work[RATE, i] = work[END, i]


@inlined(always=True, counted=False)
def adapt(now, limits):
    """Plan the next step if steps are adaptive."""
    if adaptive():
        plan_next(now, limits, power(), paper(), paper_power())
