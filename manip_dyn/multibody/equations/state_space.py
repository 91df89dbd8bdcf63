"""Compiled equations of motion of the independent coordinates, and their derivatives.

Sandu et al. (2001), eq. 9, 10 and 26 to 35, with the derivatives of the constraints and forces
from the expression graph. B contains the derivatives of all velocities with respect to the
independent ones. The equations of motion of the independent coordinates z are

    B^T M B z'' = B^T (Q - M a_0),     Phi_u a_0 = tau = -(d/dt Phi_q) q'.

Primes denote time derivatives. q are all coordinates, M is their mass matrix, and Q are the
generalized forces. Phi_q and Phi_u are the gradients of the constraints with respect to all and to
the dependent coordinates, and a_0 are the accelerations for z'' = 0. The module `sparse_system`
computes z'' from the equivalent equations of all accelerations and multipliers. With
F = M q'' + Phi_q^T lambda - Q, the multipliers lambda and the reduced mass matrix M_r = B^T M B,
the derivatives of z'' with respect to z and z' are

    M_r J1 = -B^T (F_q B + F_q' J + M L),   M_r J2 = -B^T (F_q' B + 2 M J).

J and L are the derivatives of the dependent velocities and accelerations with respect to the
independent positions.
"""

from __future__ import annotations

from math import inf, nan

from manip_dyn.core.arrays import row
from manip_dyn.core.compiled import compiled
from manip_dyn.multibody.equations.blocks import solve_rows, solve_transposed
from manip_dyn.multibody.equations.constraints import (
    assemble,
    condition_number,
    redundant_violation,
    residuals,
    set_basis,
    set_velocities,
)
from manip_dyn.multibody.equations.forces import add_forces, count_turns
from manip_dyn.multibody.equations.matrices import (
    add_gathered,
    add_mass_times,
    add_product,
    add_rows,
    fill,
    fill_1,
    scatter_rows,
)
from manip_dyn.multibody.equations.primitives import (
    INERTIA_BY_A,
    INERTIA_BY_E,
    INERTIA_BY_V,
    PLACE_CURVATURE,
    PLACE_RATE,
    PLACE_SECOND,
    SIZE,
    run_kernel,
)
from manip_dyn.multibody.equations.sparse_system import solve_accelerations
from manip_dyn.multibody.equations.tables import (
    DERIVATIVES,
    FIRST,
    KERNEL,
    SECOND,
    VALUES,
    bodies_of,
    links_of,
    loads_of,
    motion_of,
    reduced_of,
)

GROWTH = 1.25
"""Largest growth of the condition number before a new partition."""


@compiled(short=True, python=False, counted=False)
def add_inertial_forces(p, order):
    """Subtract the inertial forces from `force`, and write `turning`.

    The forces are those at zero acceleration. With DERIVATIVES, they are those at `a`, and their
    derivatives are added to `stiffness` and `damping`.
    """
    bodies, motion, loads = bodies_of(p), motion_of(p), loads_of(p)
    rows, mass, inertia, turning = bodies.rows, bodies.mass, bodies.inertia, bodies.turning
    q, v, a, result = motion.q, motion.v, motion.a, motion.result
    force, stiffness, damping = loads.force, loads.stiffness, loads.damping
    for b in range(mass.shape[0]):
        kernel, first, second = rows[b, KERNEL + order], rows[b, FIRST], rows[b, SECOND]
        run_kernel(kernel, q, v, a, first, second, inertia, 6 * b, result)
        start = first + 3
        for i in range(4):
            force[start + i] -= result[i]
            for j in range(4):
                turning[b, i, j] = result[INERTIA_BY_A + 4 * i + j]
                if order == DERIVATIVES:
                    stiffness[start + i, start + j] += result[INERTIA_BY_E + 4 * i + j]
                    damping[start + i, start + j] += result[INERTIA_BY_V + 4 * i + j]
        if order == DERIVATIVES:
            for i in range(3):
                force[first + i] -= mass[b] * a[first + i]


@compiled(short=True, python=False, counted=False)
def add_constraint_stiffness(p):
    """Add the derivatives of the constraint forces to `stiffness`.

    `work` contains the multipliers. The second rates of the gradients are written into `bends`.
    """
    links, motion, stiffness = links_of(p), motion_of(p), loads_of(p).stiffness
    rows, numbers, bends, multipliers = links.rows, links.numbers, links.bends, links.work
    q, v, a, result, size = motion.q, motion.v, motion.a, motion.result, stiffness.shape[0]
    for k in range(rows.shape[0]):
        first, second = rows[k, FIRST], rows[k, SECOND]
        run_kernel(rows[k, KERNEL + DERIVATIVES], q, v, a, first, second, numbers, 12 * k, result)
        for i in range(SIZE):
            bends[k, i] = result[PLACE_SECOND + i]
        for above in range(2):
            for side in range(2):
                start, begin = rows[k, FIRST + above], rows[k, FIRST + side]
                if start < size and begin < size:
                    entry = PLACE_CURVATURE + 7 * (SIZE * above + side)
                    for i in range(7):
                        for j in range(7):
                            value = multipliers[k] * result[entry + SIZE * i + j]
                            stiffness[start + i, begin + j] += value


@compiled(short=True, python=False, counted=False)
def set_gradient_rates(p):
    """Write the rates of the gradients into `bends`, and tau into `work`."""
    links, motion = links_of(p), motion_of(p)
    rows, numbers, bends, tau = links.rows, links.numbers, links.bends, links.work
    q, v, result = motion.q, motion.v, motion.result
    for k in range(rows.shape[0]):
        first, second = rows[k, FIRST], rows[k, SECOND]
        run_kernel(rows[k, KERNEL + VALUES], q, v, v, first, second, numbers, 12 * k, result)
        tau[k] = 0.0
        for i in range(SIZE):
            bends[k, i] = result[PLACE_RATE + i]
        for side in range(2):
            start = rows[k, FIRST + side]
            for i in range(7):
                tau[k] -= bends[k, 7 * side + i] * v[start + i]


@compiled(short=True, counted=False)
def rates(t, y, p, out):
    """Write the rates (2 n,) of y = (positions, velocities) of the independent coordinates.

    The accelerations are NaN if the mechanism cannot be assembled.
    """
    force, acceleration, a = loads_of(p).force, reduced_of(p).acceleration, motion_of(p).a
    independent = links_of(p).independent
    n = acceleration.shape[0]
    for i in range(n):
        out[i] = y[n + i]
        out[n + i] = nan
    if not assemble(y, p):
        return
    set_velocities(y, p)
    fill_1(force, 0.0)
    add_forces(t, p, VALUES)
    add_inertial_forces(p, VALUES)
    set_gradient_rates(p)
    solve_accelerations(p)
    for i in range(n):
        acceleration[i] = a[independent[i]]
        out[n + i] = acceleration[i]


@compiled(short=True, counted=False)
def linearized_rates(t, y, p, out, by_time):
    """Write (M J1, M J2, M) (n, 3 n) and M dz''/dt (n,), as a `Jacobian` with `mass` set.

    M is the reduced mass matrix, and dz''/dt the partial derivative with respect to time of the
    accelerations z'' of the independent coordinates.
    """
    loads = loads_of(p)
    rates(t, y, p, reduced_of(p).rates)
    set_basis(p)
    fill_1(loads.force, 0.0)
    fill_1(loads.by_time, 0.0)
    fill(loads.stiffness, 0.0)
    fill(loads.damping, 0.0)
    add_forces(t, p, DERIVATIVES)
    add_inertial_forces(p, DERIVATIVES)
    differentiate_rates(p, out, by_time)


@compiled(short=True, python=False, counted=False)
def differentiate_rates(p, out, by_time):
    """Write M J1, M J2, M and M dz''/dt from `stiffness`, `damping` and the constraints."""
    links, bodies, loads, reduced = links_of(p), bodies_of(p), loads_of(p), reduced_of(p)
    rows, dependent, bends = links.rows, links.dependent, links.bends
    multipliers = links.work
    force, stiffness, damping = loads.force, loads.stiffness, loads.damping
    mass, turning, basis = bodies.mass, bodies.turning, reduced.basis
    forces_by_time = loads.by_time
    velocities = reduced.place  # J
    wide = reduced.carried  # J for all coordinates
    total = reduced.mass_basis  # the factor of -B^T in M J2, then in M J1
    size, n = basis.shape
    fill(out, 0.0)
    for k in range(multipliers.shape[0]):
        multipliers[k] = force[dependent[k]]
    solve_transposed(p, multipliers)
    fill(total, 0.0)
    add_mass_times(mass, turning, basis, total)
    add_gathered(basis, total, out, 1.0, 2 * n)
    fill(velocities, 0.0)
    add_rows(rows, bends, basis, velocities, -1.0)
    solve_rows(p, velocities)
    scatter_rows(velocities, dependent, wide)
    fill(total, 0.0)
    add_mass_times(mass, turning, wide, total)
    for i in range(size):
        for c in range(n):
            total[i, c] *= 2.0
    add_product(damping, basis, total)
    add_gathered(basis, total, out, -1.0, n)
    fill(velocities, 0.0)
    add_rows(rows, bends, wide, velocities, -2.0)
    add_constraint_stiffness(p)
    add_rows(rows, bends, basis, velocities, -1.0)
    solve_rows(p, velocities)  # L: derivatives of the dependent accelerations
    fill(total, 0.0)
    add_product(stiffness, basis, total)
    add_product(damping, wide, total)
    scatter_rows(velocities, dependent, wide)
    add_mass_times(mass, turning, wide, total)
    add_gathered(basis, total, out, -1.0, 0)
    for r in range(n):
        by_time[r] = 0.0
        for i in range(size):
            by_time[r] += basis[i, r] * forces_by_time[i]


@compiled(short=True, counted=False)
def needs_repartition(t, y, p, out):
    """Write to `out` (1,) how far the condition number exceeds its limit, relative to the limit.

    The value is 1 if the mechanism cannot be assembled. The time loop calls this function after
    each step, so it also counts the turns of rotational springs.
    """
    if not assemble(y, p):
        out[0] = 1.0
        return
    count_turns(p)
    out[0] = condition_number(p) / (GROWTH * links_of(p).limits[1]) - 1.0


@compiled(short=True, counted=False)
def expand(states, p, q, v, worst):
    """Write all coordinates and their rates (k, N) at the states (k, 2 n).

    `worst` (2,) is raised to the largest violations of the constraints and of the redundant ones.
    Return the number of states before the first one that cannot be assembled. The function also
    counts the turns of rotational springs, and stores the condition number of a new partition.
    """
    motion, limits, work = motion_of(p), links_of(p).limits, links_of(p).work
    for k in range(states.shape[0]):
        y = row(states, k)
        if not assemble(y, p):
            return k
        if limits[1] == inf:
            limits[1] = condition_number(p)
        worst[0] = max(worst[0], residuals(p, work))
        worst[1] = max(worst[1], redundant_violation(p))
        set_velocities(y, p)
        count_turns(p)
        for i in range(q.shape[1]):
            q[k, i] = motion.q[i]
            v[k, i] = motion.v[i]
    return states.shape[0]
