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

from math import cos, sin
from typing import Any, NamedTuple

from manip_dyn.codegen.rows import add_rows
from manip_dyn.codegen.straight_line import LANES
from manip_dyn.core.compiled import compiled, inlined


class Tree(NamedTuple):
    """The numbers of a robot whose n joints have their descendants right behind them.

    Attributes:
        parent: Number of each joint's parent, (n,); -1 at the base.
        related: 1 where one of two joints carries the other, or both are one, else 0, (n, n).
        prismatic: 1 for prismatic joints, 0 for revolute ones, (n,).
        rotation: Of the body in its parent's axes at q = 0, (n, 3, 3).
        translation: Of the body's origin in its parent's axes at q = 0, (n, 3), m.
        mass: kg, (n,).
        moment: First moments of mass about the body's origin, in its axes, (n, 3), kg m.
        spread: Second moments sum(m r r^T), (n, 3, 3), kg m^2.
        gravity: In the base's axes, (3,), m/s^2.
        armature: Rotor inertias, (n,), kg m^2 or kg.
        damping: (n,), N m s or N s/m.
        stiffness: Of the springs, (n,), N m or N/m.
        rest: Positions of the springs without effort, (n,), rad or m.
    """

    parent: Any
    related: Any
    prismatic: Any
    rotation: Any
    translation: Any
    mass: Any
    moment: Any
    spread: Any
    gravity: Any
    armature: Any
    damping: Any
    stiffness: Any
    rest: Any


class Workspace(NamedTuple):
    """What is known of the bodies in a state; all is seen from the base.

    Rows of `width` joints are filled up with zeros. "Composite" is a body with all that it
    carries. u is the velocity of a particle of mass m at r.

    Attributes:
        rotation: Axes of the bodies, (n, 3, 3).
        origin: Origins of the bodies, (n, 3), m.
        velocity: Spatial velocities, (n, 6).
        acceleration: Spatial accelerations, less gravity, (n, 6).
        moment: First moments of the bodies alone, (n, 3).
        spread: Second moments sum(m r r^T) of the bodies alone, (n, 3, 3).
        force: Spatial forces on the composite bodies, moments first, (n, 6).
        composite_mass: (n,).
        composite_moment: (n, 3).
        composite_spread: (n, 3, 3).
        momentum: 2 sum(m u) of the composite bodies, (n, 3).
        flow: 2 sum(m u r^T) of the composite bodies, (n, 3, 3).
        axis: Motions of the joints at unit velocity, (6, width).
        rate: First rates of the axes as their parents carry them, (6, width).
        second_rate: Second rates, (6, width).
        weight: Forces that unit accelerations of the joints take, (6, width).
        by_position: Forces on the ancestors per change of position, (6, width).
        by_velocity: Forces on the ancestors per change of velocity, (6, width).
        turned: Efforts of the joint per angular motion of its ancestors, (n, 3).
        factor: M, then D L, lower triangles, (n, width).
        lower: -L below the diagonal, 1 / D on it, (n, width).
        sides: Derivatives by q and by v, and the identity, side by side, (n, 3 n filled up).
        inner: Part of a row of the derivatives due to the joint's ancestors, (width,).
        outer: Part due to the joint itself and what it carries, (width,).
        effort: Of the joints, (n,).
        joint_acceleration: Zero at first, (n,).
    """

    rotation: Any
    origin: Any
    velocity: Any
    acceleration: Any
    moment: Any
    spread: Any
    force: Any
    composite_mass: Any
    composite_moment: Any
    composite_spread: Any
    momentum: Any
    flow: Any
    axis: Any
    rate: Any
    second_rate: Any
    weight: Any
    by_position: Any
    by_velocity: Any
    turned: Any
    factor: Any
    lower: Any
    sides: Any
    inner: Any
    outer: Any
    effort: Any
    joint_acceleration: Any


@compiled(merge=True)
def row_width(n):
    """Return the length of a row of n numbers that is filled up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@compiled(merge=True)
def workspace_size(n):
    """Return the numbers that `workspace` needs for n joints."""
    return 72 * n + (38 + 2 * n) * row_width(n) + n * row_width(3 * n)


@inlined
def workspace(n, memory):
    """Return a workspace for n joints in an array of `workspace_size` numbers."""
    width, wide = row_width(n), row_width(3 * n)
    rows = memory[72 * n :]
    matrices = rows[38 * width :]
    rows[: 38 * width] = 0.0
    memory[71 * n : 72 * n] = 0.0
    return Workspace(
        rotation=memory[: 9 * n].reshape((n, 3, 3)),
        origin=memory[9 * n : 12 * n].reshape((n, 3)),
        velocity=memory[12 * n : 18 * n].reshape((n, 6)),
        acceleration=memory[18 * n : 24 * n].reshape((n, 6)),
        moment=memory[24 * n : 27 * n].reshape((n, 3)),
        spread=memory[27 * n : 36 * n].reshape((n, 3, 3)),
        force=memory[36 * n : 42 * n].reshape((n, 6)),
        composite_mass=memory[42 * n : 43 * n],
        composite_moment=memory[43 * n : 46 * n].reshape((n, 3)),
        composite_spread=memory[46 * n : 55 * n].reshape((n, 3, 3)),
        momentum=memory[55 * n : 58 * n].reshape((n, 3)),
        flow=memory[58 * n : 67 * n].reshape((n, 3, 3)),
        turned=memory[67 * n : 70 * n].reshape((n, 3)),
        effort=memory[70 * n : 71 * n],
        joint_acceleration=memory[71 * n : 72 * n],
        axis=rows[: 6 * width].reshape((6, width)),
        rate=rows[6 * width : 12 * width].reshape((6, width)),
        second_rate=rows[12 * width : 18 * width].reshape((6, width)),
        weight=rows[18 * width : 24 * width].reshape((6, width)),
        by_position=rows[24 * width : 30 * width].reshape((6, width)),
        by_velocity=rows[30 * width : 36 * width].reshape((6, width)),
        inner=rows[36 * width : 37 * width],
        outer=rows[37 * width : 38 * width],
        factor=matrices[: n * width].reshape((n, width)),
        lower=matrices[n * width : 2 * n * width].reshape((n, width)),
        sides=matrices[2 * n * width : 2 * n * width + n * wide].reshape((n, wide)),
    )


# ------------------------------------------------------------------------ vectors in registers
@inlined
def _cross(a, b):
    """Return a x b of triples."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inlined
def _sum(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def _scaled(x, a):
    return x * a[0], x * a[1], x * a[2]


@inlined
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def _three(row, first):
    """Return three entries of an array with one axis."""
    return row[first], row[first + 1], row[first + 2]


@inlined
def _times(matrix, a):
    """Return a matrix (3, 3) times a triple."""
    return _dot(matrix[0], a), _dot(matrix[1], a), _dot(matrix[2], a)


@inlined
def _transposed_times(matrix, a):
    return (
        matrix[0, 0] * a[0] + matrix[1, 0] * a[1] + matrix[2, 0] * a[2],
        matrix[0, 1] * a[0] + matrix[1, 1] * a[1] + matrix[2, 1] * a[2],
        matrix[0, 2] * a[0] + matrix[1, 2] * a[1] + matrix[2, 2] * a[2],
    )


@inlined
def _less_trace(matrix, turned, a):
    """Return tr(A) a - A a, from A and `turned`, A a."""
    trace = matrix[0, 0] + matrix[1, 1] + matrix[2, 2]
    return trace * a[0] - turned[0], trace * a[1] - turned[1], trace * a[2] - turned[2]


@inlined
def _column(columns, i):
    """Return a spatial vector as two triples."""
    return (columns[0, i], columns[1, i], columns[2, i]), (
        columns[3, i],
        columns[4, i],
        columns[5, i],
    )


@inlined
def _keep(columns, i, angular, linear):
    columns[0, i], columns[1, i], columns[2, i] = angular
    columns[3, i], columns[4, i], columns[5, i] = linear


@inlined
def _crossed(a, b):
    """Return the rate of the motion b (two triples) that the motion a carries."""
    return _cross(a[0], b[0]), _sum(_cross(a[0], b[1]), _cross(a[1], b[0]))


@inlined
def _accelerated(mass, moment, spread, motion):
    """Return moment and force that accelerate a resting body by a motion (two triples)."""
    angular, linear = motion
    h = _three(moment, 0)
    inertial = _less_trace(spread, _times(spread, angular), angular)
    return _sum(inertial, _cross(h, linear)), _sum(_scaled(mass, linear), _cross(angular, h))


# --------------------------------------------------------------------------- bodies, base to tips
@inlined
def _place(tree, space, q):
    """Set the bodies' axes and origins and the joints' axes."""
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
            for column in range(3):
                turned = _times(above, (placed[0, column], placed[1, column], placed[2, column]))
                placed[0, column], placed[1, column], placed[2, column] = turned
            moved = _sum(_three(space.origin[k], 0), _times(above, _three(origin, 0)))
            origin[0], origin[1], origin[2] = moved
        z_axis = (placed[0, 2], placed[1, 2], placed[2, 2])
        if tree.prismatic[i]:
            _keep(space.axis, i, (0.0, 0.0, 0.0), z_axis)
        else:
            _keep(space.axis, i, z_axis, _cross(_three(origin, 0), z_axis))


@inlined
def _weigh(tree, space, n):
    """Set the bodies' moments of mass, and begin the composite bodies with them."""
    for i in range(n):
        mass, rotation, origin = tree.mass[i], space.rotation[i], _three(space.origin[i], 0)
        h = _times(rotation, _three(tree.moment[i], 0))
        own, spread = tree.spread[i], space.spread[i]
        first = _times(rotation, _three(own[0], 0))
        second = _times(rotation, _three(own[1], 0))
        third = _times(rotation, _three(own[2], 0))
        for r in range(3):
            across = (first[r], second[r], third[r])
            for s in range(r + 1):
                turned = _dot(rotation[s], across)
                shifted = h[r] * origin[s] + origin[r] * h[s] + mass * origin[r] * origin[s]
                spread[r, s] = spread[s, r] = turned + shifted
        for r in range(3):
            space.moment[i, r] = h[r] + mass * origin[r]
            space.composite_moment[i, r] = space.moment[i, r]
            for s in range(3):
                space.composite_spread[i, r, s] = spread[r, s]
        space.composite_mass[i] = mass


@inlined
def _compose(tree, space, n):
    """Add every composite body to its parent, and set what their joints' accelerations take."""
    for i in range(n - 1, -1, -1):
        mass = space.composite_mass[i]
        moment, spread = space.composite_moment[i], space.composite_spread[i]
        force = _accelerated(mass, moment, spread, _column(space.axis, i))
        _keep(space.weight, i, force[0], force[1])
        k = tree.parent[i]
        if k >= 0:
            space.composite_mass[k] += mass
            for r in range(3):
                space.composite_moment[k, r] += moment[r]
                for s in range(3):
                    space.composite_spread[k, r, s] += spread[r, s]


@inlined
def _move(tree, space, v):
    """Set the bodies' velocities, the axes' rates, and the flow of the bodies alone."""
    for i in range(v.shape[0]):
        k = tree.parent[i]
        axis = _column(space.axis, i)
        above = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        if k >= 0:
            above = _three(space.velocity[k], 0), _three(space.velocity[k], 3)
        rate = _crossed(above, axis)
        _keep(space.rate, i, rate[0], rate[1])
        omega = _sum(above[0], _scaled(v[i], axis[0]))
        linear = _sum(above[1], _scaled(v[i], axis[1]))
        velocity, h, spread = space.velocity[i], _three(space.moment[i], 0), space.spread[i]
        velocity[0], velocity[1], velocity[2] = omega
        velocity[3], velocity[4], velocity[5] = linear
        momentum = _sum(_scaled(tree.mass[i], linear), _cross(omega, h))
        for r in range(3):
            space.momentum[i, r] = 2.0 * momentum[r]
            turned = _cross(omega, (spread[0, r], spread[1, r], spread[2, r]))
            space.flow[i, 0, r] = 2.0 * (turned[0] + linear[0] * h[r])
            space.flow[i, 1, r] = 2.0 * (turned[1] + linear[1] * h[r])
            space.flow[i, 2, r] = 2.0 * (turned[2] + linear[2] * h[r])


@inlined
def _accelerate(tree, space, v, a):
    """Set accelerations, the axes' second rates, and the forces on the bodies alone."""
    for i in range(v.shape[0]):
        k = tree.parent[i]
        axis, rate = _column(space.axis, i), _column(space.rate, i)
        below = _scaled(-1.0, _three(tree.gravity, 0))
        above, carried = ((0.0, 0.0, 0.0), below), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        if k >= 0:
            above = _three(space.acceleration[k], 0), _three(space.acceleration[k], 3)
            carried = _three(space.velocity[k], 0), _three(space.velocity[k], 3)
        pulled, swung = _crossed(above, axis), _crossed(carried, rate)
        _keep(space.second_rate, i, _sum(pulled[0], swung[0]), _sum(pulled[1], swung[1]))
        alpha = _sum(_sum(above[0], _scaled(a[i], axis[0])), _scaled(v[i], rate[0]))
        linear = _sum(_sum(above[1], _scaled(a[i], axis[1])), _scaled(v[i], rate[1]))
        acceleration, moment = space.acceleration[i], space.moment[i]
        acceleration[0], acceleration[1], acceleration[2] = alpha
        acceleration[3], acceleration[4], acceleration[5] = linear
        mass, spread = tree.mass[i], space.spread[i]
        velocity = _three(space.velocity[i], 0), _three(space.velocity[i], 3)
        resting = _accelerated(mass, moment, spread, (alpha, linear))
        spin, momentum = _accelerated(mass, moment, spread, velocity)
        gyral = _sum(_cross(velocity[0], spin), _cross(velocity[1], momentum))
        force = space.force[i]
        force[0], force[1], force[2] = _sum(resting[0], gyral)
        force[3], force[4], force[5] = _sum(resting[1], _cross(velocity[0], momentum))


# --------------------------------------------------------------------------- bodies, tips to base
@inlined
def _gather_flows(tree, space, n):
    """Add momentum and flow of every composite body to its parent's."""
    for i in range(n - 1, 0, -1):
        k = tree.parent[i]
        if k >= 0:
            for r in range(3):
                space.momentum[k, r] += space.momentum[i, r]
                for s in range(3):
                    space.flow[k, r, s] += space.flow[i, r, s]


@inlined
def _gather_forces(tree, space, q, v, a):
    """Add the force on every composite body to its parent's, and set the joints' efforts."""
    for i in range(q.shape[0] - 1, -1, -1):
        force, axis = space.force[i], _column(space.axis, i)
        passive = tree.damping[i] * v[i] + tree.stiffness[i] * (q[i] - tree.rest[i])
        along = _dot(axis[0], _three(force, 0)) + _dot(axis[1], _three(force, 3))
        space.effort[i] = along + tree.armature[i] * a[i] + passive
        k = tree.parent[i]
        if k >= 0:
            for r in range(6):
                space.force[k, r] += force[r]


@inlined
def _push(space, n):
    """Set the forces that changes of the joints' positions and velocities make."""
    for i in range(n):
        axis, rate = _column(space.axis, i), _column(space.rate, i)
        mass = space.composite_mass[i]
        moment, spread = space.composite_moment[i], space.composite_spread[i]
        flow, momentum = space.flow[i], _three(space.momentum[i], 0)
        load = _three(space.force[i], 0), _three(space.force[i], 3)

        turned = _less_trace(flow, _times(flow, rate[0]), rate[0])
        pulled = _accelerated(mass, moment, spread, _column(space.second_rate, i))
        swung = _sum(_cross(axis[0], load[0]), _cross(axis[1], load[1]))
        linear = _sum(_cross(rate[0], momentum), _cross(axis[0], load[1]))
        _keep(space.by_position, i, _sum(_sum(turned, pulled[0]), swung), _sum(linear, pulled[1]))
        turned = _less_trace(flow, _times(flow, axis[0]), axis[0])
        doubled = _accelerated(mass, moment, spread, rate)
        _keep(
            space.by_velocity,
            i,
            _sum(turned, _scaled(2.0, doubled[0])),
            _sum(_cross(axis[0], momentum), _scaled(2.0, doubled[1])),
        )
        row = _less_trace(flow, _transposed_times(flow, axis[0]), axis[0])
        row = _sum(row, _cross(momentum, axis[1]))
        space.turned[i, 0], space.turned[i, 1], space.turned[i, 2] = row


# ------------------------------------------------------------------------------------- matrices
@inlined
def _fill_mass(tree, space, n):
    """Set the lower triangle of the mass matrix in `factor`."""
    for j in range(n):
        row = space.factor[j]
        row[:] = 0.0
        add_rows(row, 0.0, space.weight[:, j], space.axis, 0, 6)
        for c in range(j + 1):
            row[c] *= tree.related[j, c]
        row[j] += tree.armature[j]


@inlined
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


@inlined
def _factorize(space, n):
    """Set `lower` from the mass matrix in `factor`, whose upper triangle means nothing."""
    factor, lower = space.factor, space.lower
    for k in range(n - 1, -1, -1):
        add_rows(factor[k], 1.0, lower[:, k], factor, k + 1, n)
        inverse = 1.0 / factor[k, k]
        for i in range(k):
            lower[k, i] = -inverse * factor[k, i]
        lower[k, k] = inverse


@inlined
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


@inlined
def _solve_for_sides(space, n):
    """Turn `sides` into M^-1 sides."""
    lower, sides = space.lower, space.sides
    for k in range(n - 1, -1, -1):
        add_rows(sides[k], 1.0, lower[:, k], sides, k + 1, n)
    for k in range(n):
        add_rows(sides[k], lower[k, k], lower[k], sides, 0, k)


@inlined
def _sensitivities(tree, space, q, v, a):
    """Set `sides` to the derivatives of the efforts that give the accelerations a."""
    _accelerate(tree, space, v, a)
    _gather_forces(tree, space, q, v, a)
    _gather_flows(tree, space, q.shape[0])
    _push(space, q.shape[0])
    _fill_slopes(tree, space, q.shape[0])


@inlined
def _accelerations(tree, space, q, v, tau):
    """Set the joints' accelerations under the efforts tau, and L and D in `factor`."""
    _accelerate(tree, space, v, space.joint_acceleration)
    _gather_forces(tree, space, q, v, space.joint_acceleration)
    for i in range(q.shape[0]):
        space.effort[i] = tau[i] - space.effort[i]
    _factorize(space, q.shape[0])
    _solve_for_accelerations(space, q.shape[0])


@inlined
def _prepare(tree, space, q):
    """Set all that depends on the positions alone, the mass matrix in `factor` included."""
    _place(tree, space, q)
    _weigh(tree, space, q.shape[0])
    _compose(tree, space, q.shape[0])
    _fill_mass(tree, space, q.shape[0])


# -------------------------------------------------------------------------------------- kernels
@compiled(python=False)
def mass_matrix(tree, memory, q, out):
    """Write the joint-space inertia matrix (n, n)."""
    n = q.shape[0]
    space = workspace(n, memory)
    _prepare(tree, space, q)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = space.factor[i, j]


@compiled(python=False)
def inverse_dynamics_derivatives(tree, memory, q, v, a, out):
    """Write the derivatives of the efforts by q, v and a, (3, n, n)."""
    n = q.shape[0]
    space = workspace(n, memory)
    _prepare(tree, space, q)
    _move(tree, space, v)
    _sensitivities(tree, space, q, v, a)
    for i in range(n):
        for j in range(n):
            out[0, i, j] = space.sides[i, j]
            out[1, i, j] = space.sides[i, n + j]
        for j in range(i + 1):
            out[2, i, j] = out[2, j, i] = space.factor[i, j]


@compiled(python=False)
def forward_dynamics_derivatives(tree, memory, q, v, tau, out):
    """Write the derivatives of the accelerations by q, v and tau, (3, n, n)."""
    n = q.shape[0]
    space = workspace(n, memory)
    _prepare(tree, space, q)
    _move(tree, space, v)
    _accelerations(tree, space, q, v, tau)
    _sensitivities(tree, space, q, v, space.joint_acceleration)
    for i in range(n):
        unit = space.sides[i, 2 * n :]
        unit[:] = 0.0
        unit[i] = 1.0
    _solve_for_sides(space, n)
    for i in range(n):
        for j in range(n):
            out[0, i, j] = -space.sides[i, j]
            out[1, i, j] = -space.sides[i, n + j]
        for j in range(i + 1):
            out[2, i, j] = out[2, j, i] = space.sides[i, 2 * n + j]


@compiled(python=False)
def linear_motion(tree, memory, y, tau, out):
    """Write M da/dq, M da/dv and M side by side, (n, 3 n), for y = (q, v).

    Or with a column of zeros before M and a row below for the rate of the work of efforts and
    damping, (n + 1, 3 n + 1).
    """
    n = tau.shape[0]
    space = workspace(n, memory)
    q, v = y[:n], y[n : 2 * n]
    last = out.shape[1] - n
    out[:] = 0.0
    _prepare(tree, space, q)
    for i in range(n):
        for j in range(i + 1):
            out[i, last + j] = out[j, last + i] = space.factor[i, j]
    _move(tree, space, v)
    _accelerations(tree, space, q, v, tau)
    _sensitivities(tree, space, q, v, space.joint_acceleration)
    for i in range(n):
        for j in range(n):
            out[i, j] = -space.sides[i, j]
            out[i, n + j] = -space.sides[i, n + j]
    if last > 2 * n:
        for i in range(n):
            out[n, n + i] = tau[i] - 2.0 * tree.damping[i] * v[i]
