"""Mass matrix and derivatives of the dynamics in loops over the joints, for any robot.

For long chains, where straight lines grow with the square and the cube of the joints. All that
moves is seen from the base: spatial vectors (angular part, then linear part of what is at the
base's origin), in its axes, so that composite bodies are plain sums. The derivatives of the
inverse dynamics are those of `sensitivities`: Singh, Russell, Wensing (2022), eqs. 46-49. Those
of the forward dynamics follow from M a + h(q, v) = tau: da/dx = -M^-1 dID/dx at fixed a
(Carpentier, Mansard 2018), with M = L^T D L (Featherstone 2005).

Nothing is allocated: callers bring a workspace.
"""

from __future__ import annotations

from manip_dyn.codegen.backend.row_sums import add_rows
from manip_dyn.codegen.loops.bodies import (
    accelerate,
    compose,
    gather_flows,
    gather_forces,
    move,
    place_bodies,
    push,
    weigh,
)
from manip_dyn.codegen.loops.workspace import clear, matrices_in, workspace
from manip_dyn.core.compiled import compiled, inlined


# ------------------------------------------------------------------------------------- matrices
@inlined(counted=False)
def _fill_mass(tree, space, n):
    """Set the lower triangle of the mass matrix in `factor`."""
    for j in range(n):
        row = space.factor[j]
        row[:] = 0.0
        add_rows(row, 0.0, space.weight[:, j], space.axis, 0, 6)
        for c in range(j + 1):
            row[c] *= tree.related[j, c]
        row[j] += tree.armature[j]


@inlined(counted=False)
def _fill_slopes(tree, space, n):
    """Set the derivatives of the efforts by positions and velocities in `sides`."""
    inner, outer = space.inner, space.outer
    for j in range(n):
        related, row = tree.related[j], space.sides[j]
        axis, weight, turned = space.axis[:, j], space.weight[:, j], space.turned[j]
        add_rows(inner, 0.0, weight, space.second_rate, 0, 6)
        add_rows(inner, 1.0, turned, space.rate, 0, 3)
        add_rows(outer, 0.0, axis, space.by_position, 0, 6)
        for c in range(j):
            row[c] = related[c] * inner[c]
        for c in range(j, n):
            row[c] = related[c] * outer[c]
        add_rows(inner, 0.0, weight, space.rate, 0, 6)
        add_rows(inner, 2.0, turned, space.axis, 0, 3)
        add_rows(outer, 0.0, axis, space.by_velocity, 0, 6)
        for c in range(j):
            row[n + c] = related[c] * inner[c]
        for c in range(j, n):
            row[n + c] = related[c] * outer[c]
        row[j] += tree.stiffness[j]
        row[n + j] += tree.damping[j]


@inlined(counted=False)
def _factorize(space, n):
    """Set `lower` from the mass matrix in `factor`, whose upper triangle means nothing."""
    factor, lower = space.factor, space.lower
    for k in range(n - 1, -1, -1):
        add_rows(factor[k], 1.0, lower[:, k], factor, k + 1, n)
        inverse = 1.0 / factor[k, k]
        for i in range(k):
            lower[k, i] = -inverse * factor[k, i]
        lower[k, k] = inverse


@inlined(counted=False)
def _solve_for_accelerations(space, n):
    """Set the joints' accelerations M^-1 effort."""
    x, lower = space.joint_acceleration, space.lower
    for k in range(n):
        x[k] = space.effort[k]
    for k in range(n - 1, -1, -1):
        for i in range(k):
            x[i] += lower[k, i] * x[k]
    for k in range(n):
        x[k] *= lower[k, k]
        for i in range(k):
            x[k] += lower[k, i] * x[i]


@inlined(counted=False)
def _solve_for_sides(lower, sides, n):
    """Turn `sides` into M^-1 sides."""
    for k in range(n - 1, -1, -1):
        add_rows(sides[k], 1.0, lower[:, k], sides, k + 1, n)
    for k in range(n):
        add_rows(sides[k], lower[k, k], lower[k], sides, 0, k)


@inlined(counted=False)
def _accelerations(tree, space, q, v, tau):
    """Set the joints' accelerations under the efforts tau, and L and D in `factor`."""
    accelerate(tree, space, v, space.joint_acceleration)
    gather_forces(tree, space, q, v, space.joint_acceleration)
    for i in range(q.shape[0]):
        space.effort[i] = tau[i] - space.effort[i]
    _factorize(space, q.shape[0])
    _solve_for_accelerations(space, q.shape[0])


# ------------------------------------------------------------------------------ parts of kernels
@compiled(python=False, counted=False)
def _prepare(tree, memory, q):
    """Set all that depends on the positions alone, the mass matrix in `factor` included."""
    n = q.shape[0]
    clear(n, memory)
    space = workspace(n, memory)
    place_bodies(tree, space, q)
    weigh(tree, space, n)
    compose(tree, space, n)
    _fill_mass(tree, space, n)


@compiled(python=False, counted=False)
def _differentiate(tree, memory, q, v, given, forward):
    """Set `sides` to the derivatives of the efforts, after `_prepare`.

    Args:
        tree: The robot's numbers.
        memory: The workspace's.
        q: Positions (n,).
        v: Velocities (n,).
        given: The accelerations (n,); if `forward`, the efforts that make them.
        forward: Whether L and D take the place of the mass matrix in `factor`.
    """
    n = q.shape[0]
    space = workspace(n, memory)
    a = space.joint_acceleration
    move(tree, space, v)
    if forward:
        _accelerations(tree, space, q, v, given)
    else:
        for i in range(n):
            a[i] = given[i]
    accelerate(tree, space, v, a)
    gather_forces(tree, space, q, v, a)
    gather_flows(tree, space, n)
    push(space, n)
    _fill_slopes(tree, space, n)


# -------------------------------------------------------------------------------------- kernels
@compiled(python=False, counted=False)
def mass_matrix(tree, memory, q, out):
    """Write the joint-space inertia matrix (n, n)."""
    n = q.shape[0]
    _prepare(tree, memory, q)
    factor, _, _ = matrices_in(n, memory)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = factor[i, j]


@compiled(python=False, counted=False)
def forward_dynamics(tree, memory, q, v, tau, out):
    """Write the accelerations (n,) under the efforts tau: plain, to compare kernels with."""
    n = q.shape[0]
    _prepare(tree, memory, q)
    space = workspace(n, memory)
    move(tree, space, v)
    _accelerations(tree, space, q, v, tau)
    for i in range(n):
        out[i] = space.joint_acceleration[i]


@compiled(python=False, counted=False)
def inverse_dynamics_derivatives(tree, memory, q, v, a, out):
    """Write the derivatives of the efforts by q, v and a, (3, n, n)."""
    n = q.shape[0]
    _prepare(tree, memory, q)
    _differentiate(tree, memory, q, v, a, False)
    factor, _, sides = matrices_in(n, memory)
    for i in range(n):
        for j in range(n):
            out[0, i, j] = sides[i, j]
            out[1, i, j] = sides[i, n + j]
        for j in range(i + 1):
            out[2, i, j] = out[2, j, i] = factor[i, j]


@compiled(python=False, counted=False)
def forward_dynamics_derivatives(tree, memory, q, v, tau, out):
    """Write the derivatives of the accelerations by q, v and tau, (3, n, n)."""
    n = q.shape[0]
    _prepare(tree, memory, q)
    _differentiate(tree, memory, q, v, tau, True)
    _, lower, sides = matrices_in(n, memory)
    for i in range(n):
        unit = sides[i, 2 * n :]
        unit[:] = 0.0
        unit[i] = 1.0
    _solve_for_sides(lower, sides, n)
    for i in range(n):
        for j in range(n):
            out[0, i, j] = -sides[i, j]
            out[1, i, j] = -sides[i, n + j]
        for j in range(i + 1):
            out[2, i, j] = out[2, j, i] = sides[i, 2 * n + j]


@compiled(python=False, counted=False)
def linear_motion(tree, memory, y, tau, out):
    """Write M da/dq, M da/dv and M side by side, (n, 3 n), for y = (q, v).

    Or with a column of zeros before M and a row below for the rate of the work of efforts and
    damping, (n + 1, 3 n + 1).
    """
    n = tau.shape[0]
    q, v = y[:n], y[n : 2 * n]
    last = out.shape[1] - n
    out[:] = 0.0
    _prepare(tree, memory, q)
    factor, _, sides = matrices_in(n, memory)
    for i in range(n):
        for j in range(i + 1):
            out[i, last + j] = out[j, last + i] = factor[i, j]
    _differentiate(tree, memory, q, v, tau, True)
    for i in range(n):
        for j in range(n):
            out[i, j] = -sides[i, j]
            out[i, n + j] = -sides[i, n + j]
    if last > 2 * n:
        for i in range(n):
            out[n, n + i] = tau[i] - 2.0 * tree.damping[i] * v[i]
