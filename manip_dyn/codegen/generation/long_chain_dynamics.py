"""Mass matrix and derivatives of the dynamics in compiled loops, for long chains.

The size of straight-line code would grow with the square or cube of the number of joints. These
loops are compiled once for all robots and allocate no memory. Arguments of the kernels are the
parameters of a robot, `Tree`, and scratch memory of `workspace_size` numbers.

Spatial vectors (angular part, then linear part at the base origin) are in base axes, so that
composite bodies are sums. Derivatives of the inverse dynamics: Singh, Russell, Wensing (2022),
eqs. 46-49. Those of the forward dynamics follow from M a + h(q, v) = tau: da/dx = -M^-1 dID/dx at
fixed a, where ID denotes the inverse dynamics (Carpentier, Mansard 2018), with M = L^T D L
(Featherstone 2005).
"""

from __future__ import annotations

from math import cos, sin

from manip_dyn.codegen.backend.vectors import add_rows
from manip_dyn.codegen.generation.long_chain_workspace import (
    accelerated,
    added,
    clear,
    column,
    cross,
    crossed,
    dot,
    keep,
    less_trace,
    matrices_in,
    scaled,
    three,
    times,
    transposed_times,
    workspace,
)
from manip_dyn.core.compiled import compiled, inlined


# --------------------------------------------------------------------------- bodies, base to tips
@inlined(counted=False)
def place_bodies(tree, space, q):
    """Set the axes and origins of the bodies, and the joint axes."""
    for i in range(q.shape[0]):
        k = tree.parent[i]
        local, placed, origin = tree.rotation[i], space.rotation[i], space.origin[i]
        along = 0.0
        c, s = 1.0, 0.0
        if tree.prismatic[i]:
            along = q[i]
        else:
            c, s = cos(q[i]), sin(q[i])
        for r in range(3):
            x, y, z = local[r, 0], local[r, 1], local[r, 2]
            shift = tree.translation[i, r] + along * z
            x, y = c * x + s * y, c * y - s * x
            placed[r, 0], placed[r, 1], placed[r, 2] = x, y, z
            origin[r] = shift
        if k >= 0:
            above = space.rotation[k]
            for axis in range(3):
                turned = times(above, (placed[0, axis], placed[1, axis], placed[2, axis]))
                placed[0, axis], placed[1, axis], placed[2, axis] = turned
            moved = added(three(space.origin[k], 0), times(above, three(origin, 0)))
            origin[0], origin[1], origin[2] = moved
        z_axis = (placed[0, 2], placed[1, 2], placed[2, 2])
        if tree.prismatic[i]:
            keep(space.axis, i, (0.0, 0.0, 0.0), z_axis)
        else:
            keep(space.axis, i, z_axis, cross(three(origin, 0), z_axis))


@inlined(counted=False)
def weigh(tree, space, n):
    """Set the mass moments of single bodies, and initialize the composite bodies with them."""
    for i in range(n):
        mass, rotation, origin = tree.mass[i], space.rotation[i], three(space.origin[i], 0)
        h = times(rotation, three(tree.moment[i], 0))
        own, spread = tree.spread[i], space.spread[i]
        first = times(rotation, three(own[0], 0))
        second = times(rotation, three(own[1], 0))
        third = times(rotation, three(own[2], 0))
        for r in range(3):
            across = (first[r], second[r], third[r])
            for s in range(r + 1):
                turned = dot(rotation[s], across)
                shifted = h[r] * origin[s] + origin[r] * h[s] + mass * origin[r] * origin[s]
                spread[r, s] = spread[s, r] = turned + shifted
        for r in range(3):
            space.moment[i, r] = h[r] + mass * origin[r]
            space.composite_moment[i, r] = space.moment[i, r]
            for s in range(3):
                space.composite_spread[i, r, s] = spread[r, s]
        space.composite_mass[i] = mass


@inlined(counted=False)
def compose(tree, space, n):
    """Add each composite body to its parent, and set the forces for unit accelerations."""
    for i in range(n - 1, -1, -1):
        mass = space.composite_mass[i]
        moment, spread = space.composite_moment[i], space.composite_spread[i]
        force = accelerated(mass, moment, spread, column(space.axis, i))
        keep(space.weight, i, force[0], force[1])
        k = tree.parent[i]
        if k >= 0:
            space.composite_mass[k] += mass
            for r in range(3):
                space.composite_moment[k, r] += moment[r]
                for s in range(3):
                    space.composite_spread[k, r, s] += spread[r, s]


@inlined(counted=False)
def move(tree, space, v):
    """Set body velocities, rates of the joint axes, and momentum and flow of single bodies."""
    for i in range(v.shape[0]):
        k = tree.parent[i]
        axis = column(space.axis, i)
        above = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        if k >= 0:
            above = three(space.velocity[k], 0), three(space.velocity[k], 3)
        rate = crossed(above, axis)
        keep(space.rate, i, rate[0], rate[1])
        omega = added(above[0], scaled(v[i], axis[0]))
        linear = added(above[1], scaled(v[i], axis[1]))
        velocity, h, spread = space.velocity[i], three(space.moment[i], 0), space.spread[i]
        velocity[0], velocity[1], velocity[2] = omega
        velocity[3], velocity[4], velocity[5] = linear
        momentum = added(scaled(tree.mass[i], linear), cross(omega, h))
        for r in range(3):
            space.momentum[i, r] = 2.0 * momentum[r]
            turned = cross(omega, (spread[0, r], spread[1, r], spread[2, r]))
            space.flow[i, 0, r] = 2.0 * (turned[0] + linear[0] * h[r])
            space.flow[i, 1, r] = 2.0 * (turned[1] + linear[1] * h[r])
            space.flow[i, 2, r] = 2.0 * (turned[2] + linear[2] * h[r])


@inlined(counted=False)
def accelerate(tree, space, v, a):
    """Set body accelerations, second rates of the joint axes, and forces on single bodies."""
    for i in range(v.shape[0]):
        k = tree.parent[i]
        axis, rate = column(space.axis, i), column(space.rate, i)
        below = scaled(-1.0, three(tree.gravity, 0))
        above, carried = ((0.0, 0.0, 0.0), below), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        if k >= 0:
            above = three(space.acceleration[k], 0), three(space.acceleration[k], 3)
            carried = three(space.velocity[k], 0), three(space.velocity[k], 3)
        pulled, swung = crossed(above, axis), crossed(carried, rate)
        keep(space.second_rate, i, added(pulled[0], swung[0]), added(pulled[1], swung[1]))
        alpha = added(added(above[0], scaled(a[i], axis[0])), scaled(v[i], rate[0]))
        linear = added(added(above[1], scaled(a[i], axis[1])), scaled(v[i], rate[1]))
        acceleration, moment = space.acceleration[i], space.moment[i]
        acceleration[0], acceleration[1], acceleration[2] = alpha
        acceleration[3], acceleration[4], acceleration[5] = linear
        mass, spread = tree.mass[i], space.spread[i]
        velocity = three(space.velocity[i], 0), three(space.velocity[i], 3)
        resting = accelerated(mass, moment, spread, (alpha, linear))
        spin, momentum = accelerated(mass, moment, spread, velocity)
        gyral = added(cross(velocity[0], spin), cross(velocity[1], momentum))
        force = space.force[i]
        force[0], force[1], force[2] = added(resting[0], gyral)
        force[3], force[4], force[5] = added(resting[1], cross(velocity[0], momentum))


# --------------------------------------------------------------------------- bodies, tips to base
@inlined(counted=False)
def gather_flows(tree, space, n):
    """Add the momentum and flow of each composite body to those of its parent."""
    for i in range(n - 1, 0, -1):
        k = tree.parent[i]
        if k >= 0:
            for r in range(3):
                space.momentum[k, r] += space.momentum[i, r]
                for s in range(3):
                    space.flow[k, r, s] += space.flow[i, r, s]


@inlined(counted=False)
def gather_forces(tree, space, q, v, a):
    """Add the force on each composite body to that on its parent, and set the joint efforts."""
    for i in range(q.shape[0] - 1, -1, -1):
        force, axis = space.force[i], column(space.axis, i)
        passive = tree.damping[i] * v[i] + tree.stiffness[i] * (q[i] - tree.rest[i])
        along = dot(axis[0], three(force, 0)) + dot(axis[1], three(force, 3))
        space.effort[i] = along + tree.armature[i] * a[i] + passive
        k = tree.parent[i]
        if k >= 0:
            for r in range(6):
                space.force[k, r] += force[r]


@inlined(counted=False)
def push(space, n):
    """Set the derivatives `by_position` and `by_velocity`, and `turned`, of all joints."""
    for i in range(n):
        axis, rate = column(space.axis, i), column(space.rate, i)
        mass = space.composite_mass[i]
        moment, spread = space.composite_moment[i], space.composite_spread[i]
        flow, momentum = space.flow[i], three(space.momentum[i], 0)
        load = three(space.force[i], 0), three(space.force[i], 3)

        turned = less_trace(flow, times(flow, rate[0]), rate[0])
        pulled = accelerated(mass, moment, spread, column(space.second_rate, i))
        swung = added(cross(axis[0], load[0]), cross(axis[1], load[1]))
        linear = added(cross(rate[0], momentum), cross(axis[0], load[1]))
        keep(
            space.by_position, i, added(added(turned, pulled[0]), swung), added(linear, pulled[1])
        )
        turned = less_trace(flow, times(flow, axis[0]), axis[0])
        doubled = accelerated(mass, moment, spread, rate)
        keep(
            space.by_velocity,
            i,
            added(turned, scaled(2.0, doubled[0])),
            added(cross(axis[0], momentum), scaled(2.0, doubled[1])),
        )
        row = less_trace(flow, transposed_times(flow, axis[0]), axis[0])
        row = added(row, cross(momentum, axis[1]))
        space.turned[i, 0], space.turned[i, 1], space.turned[i, 2] = row


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
    """Write the derivatives of the efforts with respect to q and v to `sides`."""
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
    """Set `lower` from the lower triangle of M in `factor`, which becomes D L."""
    factor, lower = space.factor, space.lower
    for k in range(n - 1, -1, -1):
        add_rows(factor[k], 1.0, lower[:, k], factor, k + 1, n)
        inverse = 1.0 / factor[k, k]
        for i in range(k):
            lower[k, i] = -inverse * factor[k, i]
        lower[k, k] = inverse


@inlined(counted=False)
def _solve_for_accelerations(space, n):
    """Set the joint accelerations M^-1 effort."""
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
    """Replace `sides` with M^-1 `sides`."""
    for k in range(n - 1, -1, -1):
        add_rows(sides[k], 1.0, lower[:, k], sides, k + 1, n)
    for k in range(n):
        add_rows(sides[k], lower[k, k], lower[k], sides, 0, k)


@inlined(counted=False)
def _accelerations(tree, space, q, v, tau):
    """Set the joint accelerations for the efforts tau, and factorize the mass matrix."""
    accelerate(tree, space, v, space.joint_acceleration)
    gather_forces(tree, space, q, v, space.joint_acceleration)
    for i in range(q.shape[0]):
        space.effort[i] = tau[i] - space.effort[i]
    _factorize(space, q.shape[0])
    _solve_for_accelerations(space, q.shape[0])


# ------------------------------------------------------------------------ common steps of kernels
@compiled(python=False, counted=False)
def _prepare(tree, memory, q):
    """Set all quantities that depend only on positions, with the mass matrix in `factor`."""
    n = q.shape[0]
    clear(n, memory)
    space = workspace(n, memory)
    place_bodies(tree, space, q)
    weigh(tree, space, n)
    compose(tree, space, n)
    _fill_mass(tree, space, n)


@compiled(python=False, counted=False)
def _differentiate(tree, memory, q, v, drive, forward):
    """Write the derivatives of the efforts to `sides`, after a call of `_prepare`.

    Args:
        tree: Parameters of the robot.
        memory: Memory of the workspace.
        q: Positions (n,).
        v: Velocities (n,).
        drive: The accelerations (n,), or the efforts (n,) if `forward`.
        forward: Whether `drive` contains efforts; if so, the mass matrix is factorized.
    """
    n = q.shape[0]
    space = workspace(n, memory)
    a = space.joint_acceleration
    move(tree, space, v)
    if forward:
        _accelerations(tree, space, q, v, drive)
    else:
        for i in range(n):
            a[i] = drive[i]
    accelerate(tree, space, v, a)
    gather_forces(tree, space, q, v, a)
    gather_flows(tree, space, n)
    push(space, n)
    _fill_slopes(tree, space, n)


# -------------------------------------------------------------------------------------- kernels
@compiled(python=False, counted=False)
def mass_matrix(tree, memory, q, out):
    """Write the joint-space inertia matrix into `out` (n, n)."""
    n = q.shape[0]
    _prepare(tree, memory, q)
    factor, _, _ = matrices_in(n, memory)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = factor[i, j]


@compiled(python=False, counted=False)
def forward_dynamics(tree, memory, q, v, tau, out):
    """Write the accelerations (n,) for the efforts tau into `out`.

    Kernels have straight-line code instead, to which a study compares this loop.
    """
    n = q.shape[0]
    _prepare(tree, memory, q)
    space = workspace(n, memory)
    move(tree, space, v)
    _accelerations(tree, space, q, v, tau)
    for i in range(n):
        out[i] = space.joint_acceleration[i]


@compiled(python=False, counted=False)
def inverse_dynamics_derivatives(tree, memory, q, v, a, out):
    """Write the derivatives (3, n, n) of the efforts with respect to q, v and a."""
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
    """Write the derivatives (3, n, n) of the accelerations with respect to q, v and tau."""
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
    """Write M da/dq, M da/dv and M for the state y = (q, v) into `out` (n, 3 n).

    If `out` is (n + 1, 3 n + 1), it includes the work: a column of zeros precedes M, and the last
    row contains the derivatives of the power of efforts and damping.
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
