"""The equations of motion of the independent coordinates, and their derivatives, compiled.

Sandu et al. (2001), eq. 9 and 10, and 26 to 35, with the constraints' and the forces' derivatives
from the expression graph. With B the velocities of all coordinates by the independent ones,

    B^T M B v'' = B^T (Q - M a_0),     Phi_u a_0 = tau

and with F = M q'' + Phi_q^T lambda - Q the derivatives are

    M J1 = -B^T (F_q B + F_q' J + M L),   M J2 = -B^T (F_q' B + 2 M J),

J and L being how dependent velocities and accelerations change with the independent positions.
"""

from __future__ import annotations

from math import nan

from numba import njit

from manip_dyn.integrate.linear import factorize, solve
from manip_dyn.multibody.constraints import (
    OPTIONS,
    _kernels,
    assemble,
    condition,
    follow,
    gather,
    primitive_1,
    primitive_2,
    solve_rows,
    solve_transposed,
)
from manip_dyn.multibody.forces import add_forces, count_turns
from manip_dyn.multibody.primitives import (
    PLACE_CURVATURE,
    PLACE_RATE,
    PLACE_SECOND,
    SIZE,
)

inertia = _kernels.inertia
GROWTH = 1.25
"""How much the condition number may grow before a new partition."""


@njit(**OPTIONS)
def fill_1(x, value):
    """Fill a vector; quicker to compile than an assignment of slices."""
    for i in range(x.shape[0]):
        x[i] = value


@njit(**OPTIONS)
def fill(x, value):
    """Fill a matrix."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = value


@njit(**OPTIONS)
def add_inertia(p, order):
    """Subtract the bodies' inertial forces from `force`; order 0 at rest, else with `a`."""
    e, v, a = p.local[0][:4], p.local[1][:4], p.local[2][:4]
    result = p.result[0]
    for b in range(p.mass.shape[0]):
        for i in range(4):
            e[i], v[i] = p.q[7 * b + 3 + i], p.v[7 * b + 3 + i]
            a[i] = p.a[7 * b + 3 + i] if order > 0 else 0.0
        inertia(e, v, a, p.inertia[b], result)
        for i in range(4):
            p.force[7 * b + 3 + i] -= result[i]
            for j in range(4):
                p.turning[b, i, j] = result[36 + 4 * i + j]
                if order > 0:
                    p.stiffness[7 * b + 3 + i, 7 * b + 3 + j] += result[4 + 4 * i + j]
                    p.damping[7 * b + 3 + i, 7 * b + 3 + j] += result[20 + 4 * i + j]
        if order > 0:
            for i in range(3):
                p.force[7 * b + i] -= p.mass[b] * p.a[7 * b + i]


@njit(**OPTIONS)
def add_mass_times(p, x, out):
    """Add M x, (N, n), to `out`."""
    width = x.shape[1]
    for b in range(p.mass.shape[0]):
        for i in range(3):
            for c in range(width):
                out[7 * b + i, c] += p.mass[b] * x[7 * b + i, c]
        for i in range(3, 7):
            for j in range(3, 7):
                weight = p.turning[b, i - 3, j - 3]
                for c in range(width):
                    out[7 * b + i, c] += weight * x[7 * b + j, c]


@njit(**OPTIONS)
def add_gathered(left, right, out, sign, first):
    """Add sign left^T right, (n, n), of matrices (N, n) to `out` from its column `first` on."""
    width = left.shape[1]
    for i in range(left.shape[0]):
        for row in range(width):
            weight = sign * left[i, row]
            if weight != 0.0:
                for c in range(width):
                    out[row, first + c] += weight * right[i, c]


@njit(**OPTIONS)
def add_product(matrix, x, out):
    """Add matrix (N, N) x (N, n) to `out`; zeros cost nothing."""
    width = x.shape[1]
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            weight = matrix[i, k]
            if weight != 0.0:
                for c in range(width):
                    out[i, c] += weight * x[k, c]


@njit(**OPTIONS)
def add_rows(p, local, x, out, factor):
    """Add factor times the wide rows of `local` (m, 14) times x (N, n) to out (m, n)."""
    bodies, width = p.mass.shape[0], x.shape[1]
    for k in range(local.shape[0]):
        for i in range(SIZE):
            body, weight = p.rows[k, 1 + i // 7], factor * local[k, i]
            if body < bodies and weight != 0.0:
                for c in range(width):
                    out[k, c] += weight * x[7 * body + i % 7, c]


@njit(**OPTIONS)
def accelerate(t, y, p, out):
    """Fill `a`, `basis`, `reduced`; write the independent coordinates' accelerations (n,)."""
    n, m = p.independent.shape[0], p.dependent.shape[0]
    size = n + m
    if not assemble(y, p):
        fill_1(out, nan)
        return
    follow(y, p)
    fill_1(p.force, 0.0)
    add_forces(t, p, 1)
    add_inertia(p, 0)
    tau = p.work[2, :m]
    for k in range(m):
        gather(p.q, p.rows[k], p.local[0])
        gather(p.v, p.rows[k], p.local[1])
        primitive_1(p.rows[k, 0], p.local[0], p.local[1], p.numbers[k], p.result[0])
        tau[k] = 0.0
        for i in range(SIZE):
            p.bends[k, i] = p.result[0, PLACE_RATE + i]
            tau[k] -= p.bends[k, i] * p.local[1, i]
    solve(p.factors, p.pivots, tau)
    held, moved = p.held, p.moved
    fill(held, 0.0)
    fill(moved, 0.0)
    for k in range(m):
        held[p.dependent[k], 0] = tau[k]
    add_mass_times(p, held, moved)
    for i in range(size):
        p.force[i] -= moved[i, 0]
    for c in range(n):
        out[c] = 0.0
    for i in range(size):
        for c in range(n):
            out[c] += p.basis[i, c] * p.force[i]
    fill(p.mass_basis, 0.0)
    add_mass_times(p, p.basis, p.mass_basis)
    fill(p.reduced, 0.0)
    add_gathered(p.basis, p.mass_basis, p.reduced, 1.0, 0)
    factors, pivots = p.small, p.work[0, :n]
    for row in range(n):
        for c in range(n):
            factors[row, c] = p.reduced[row, c]
    factorize(factors, pivots)
    solve(factors, pivots, out)
    for i in range(size):
        total = held[i, 0]
        for c in range(n):
            total += p.basis[i, c] * out[c]
        p.a[i] = total


@njit(**OPTIONS)
def rates(t, y, p, out):
    """Write the rates (2 n,) of y = (positions, velocities) of the independent coordinates."""
    n = p.independent.shape[0]
    accelerate(t, y, p, out[n:])
    for i in range(n):
        out[i] = y[n + i]


@njit(**OPTIONS)
def linearized(t, y, p, out, by_time):
    """Write M J1, M J2 and M, (n, 3 n), and M dv''/dt (n,): a `Jacobian` with a mass."""
    n, m = p.independent.shape[0], p.dependent.shape[0]
    bodies = p.mass.shape[0]
    accelerate(t, y, p, by_time)
    fill_1(p.force, 0.0)
    fill(p.stiffness, 0.0)
    fill(p.damping, 0.0)
    fill_1(p.by_time, 0.0)
    add_forces(t, p, 2)
    add_inertia(p, 1)
    multipliers = p.work[3, :m]
    for k in range(m):
        multipliers[k] = p.force[p.dependent[k]]
    solve_transposed(p.factors, p.pivots, multipliers)
    velocities = p.place  # how dependent velocities change with independent positions, J
    fill(velocities, 0.0)
    add_rows(p, p.bends, p.basis, velocities, -1.0)
    solve_rows(p.factors, p.pivots, velocities)
    wide = p.carried  # J, for all coordinates
    fill(wide, 0.0)
    for k in range(m):
        for c in range(n):
            wide[p.dependent[k], c] = velocities[k, c]
    total = p.mass_basis  # what stands behind -B^T in M J2, then in M J1
    fill(total, 0.0)
    add_mass_times(p, wide, total)
    for i in range(n + m):
        for c in range(n):
            total[i, c] *= 2.0
    add_product(p.damping, p.basis, total)
    fill(out, 0.0)
    add_gathered(p.basis, total, out, -1.0, n)
    fill(velocities, 0.0)
    add_rows(p, p.bends, wide, velocities, -2.0)
    for k in range(m):
        row = p.rows[k]
        gather(p.q, row, p.local[0])
        gather(p.v, row, p.local[1])
        gather(p.a, row, p.local[2])
        primitive_2(row[0], p.local[0], p.local[1], p.local[2], p.numbers[k], p.result[0])
        result = p.result[0]
        for i in range(SIZE):
            p.bends[k, i] = result[PLACE_SECOND + i]
            body = row[1 + i // 7]
            if body == bodies:
                continue
            for j in range(SIZE):
                other = row[1 + j // 7]
                if other < bodies:
                    value = multipliers[k] * result[PLACE_CURVATURE + SIZE * i + j]
                    p.stiffness[7 * body + i % 7, 7 * other + j % 7] += value
    add_rows(p, p.bends, p.basis, velocities, -1.0)
    solve_rows(p.factors, p.pivots, velocities)  # how dependent accelerations change, L
    fill(total, 0.0)
    add_product(p.stiffness, p.basis, total)
    add_product(p.damping, wide, total)
    fill(wide, 0.0)
    for k in range(m):
        for c in range(n):
            wide[p.dependent[k], c] = velocities[k, c]
    add_mass_times(p, wide, total)
    add_gathered(p.basis, total, out, -1.0, 0)
    for row in range(n):
        by_time[row] = 0.0
        for i in range(n + m):
            by_time[row] += p.basis[i, row] * p.by_time[i]
        for c in range(n):
            out[row, 2 * n + c] = p.reduced[row, c]


@njit(**OPTIONS)
def worn(t, y, p, out):
    """Write how far the condition number is above what asks for a new partition, (1,).

    It is called after each step, and so counts the turns of rotational springs.
    """
    if not assemble(y, p):
        out[0] = 1.0
        return
    count_turns(p)
    out[0] = condition(p) / (GROWTH * p.limits[1]) - 1.0
