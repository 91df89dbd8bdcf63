"""Rigid-body dynamics over any scalar: floats or expressions.

The module contains the inverse and forward dynamics, the mass matrix and its factors, the kinetic
energy, and the derivatives of the inverse dynamics. The z axis of a body frame is the axis of its
joint. Vectors are in body axes. Gravity acts as an acceleration of the base. Inertias are
arguments, so that base parameters or a payload can replace those of the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from manip_dyn.codegen.rigid_body import vectors as vec
from manip_dyn.codegen.rigid_body.bodies import Articulated, JointPose, Rigid
from manip_dyn.robot import Body


class BodyMotion(NamedTuple):
    """Motion of a body, in body axes.

    Attributes:
        omega: Angular velocity (3,), rad/s.
        alpha: Angular acceleration (3,), rad/s^2.
        spin: U = [alpha] + [omega][omega], (3, 3).
        linear: Acceleration of the origin (3,) minus gravity, m/s^2.
        carried: Motion with the joint at rest: angular velocity, and angular and linear
            acceleration of the parent at the body's origin, in body axes.
    """

    omega: vec.Vector3
    alpha: vec.Vector3
    spin: vec.Matrix3
    linear: vec.Vector3
    carried: tuple[vec.Vector3, vec.Vector3, vec.Vector3]


def body_motions(
    bodies: Sequence[Body],
    poses: Sequence[JointPose],
    v: Sequence[Any],
    a: Sequence[Any],
    gravity: Sequence[float],
) -> list[BodyMotion]:
    """Return the motions of the bodies for joint velocities and accelerations, base to tips."""
    still = [0.0 * v[0]] * 3
    base = BodyMotion(still, still, [still] * 3, [-g for g in gravity], (still,) * 3)
    motions: list[BodyMotion] = []
    for i, (body, pose) in enumerate(zip(bodies, poses, strict=True)):
        above = motions[body.parent] if body.parent >= 0 else base
        linear = pose.to_body(vec.add(above.linear, vec.times(above.spin, pose.origin)))
        omega, alpha = pose.to_body(above.omega), pose.to_body(above.alpha)
        carried = (omega, alpha, linear)
        if body.prismatic:
            slide = [2.0 * omega[1] * v[i], -2.0 * omega[0] * v[i], a[i]]
            linear = vec.add(linear, slide)
        else:
            alpha = vec.add(alpha, [omega[1] * v[i], -omega[0] * v[i], a[i]])
            omega = [omega[0], omega[1], omega[2] + v[i]]
        motions.append(BodyMotion(omega, alpha, spin_matrix(omega, alpha), linear, carried))
    return motions


def inverse_dynamics(
    bodies: Sequence[Body],
    rigid: Sequence[Rigid],
    poses: Sequence[JointPose],
    v: Sequence[Any],
    a: Sequence[Any],
    gravity: Sequence[float],
) -> list[Any]:
    """Return the efforts (n,) for velocities and accelerations, by the Newton-Euler method.

    Luh, Walker, Paul (1980), with the matrix U = [alpha] + [omega][omega] for the acceleration
    of all points of a body (Balafoutis, Patel 1989).
    """
    forces, moments = [], []
    for body, motion in zip(rigid, body_motions(bodies, poses, v, a, gravity), strict=True):
        moment, force = force_on(body, motion)
        moments.append(moment)
        forces.append(force)
    return _backward(bodies, poses, forces, moments)


def mass_matrix(
    bodies: Sequence[Body],
    rigid: Sequence[Rigid],
    poses: Sequence[JointPose],
    armature: Sequence[float],
) -> list[list[Any]]:
    """Return the joint-space inertia matrix (n, n), by the composite-rigid-body method.

    Walker, Orin (1982), method 3; Featherstone (2008), table 6.2.
    """
    n = len(bodies)
    composite = list(rigid)
    result: list[list[Any]] = [[0.0 * poses[0].cosine] * n for _ in bodies]
    for i in reversed(range(n)):
        body = bodies[i]
        moment, force = composite[i].column(body.prismatic)
        result[i][i] = (force if body.prismatic else moment)[2] + armature[i]
        j, k = i, body.parent
        while k >= 0:
            moment, force = to_parent(poses[j], moment, force)
            result[i][k] = result[k][i] = (force if bodies[k].prismatic else moment)[2]
            j, k = k, bodies[k].parent
        if body.parent >= 0:
            composite[body.parent] = composite[body.parent].plus(composite[i].seen_from(poses[i]))
    return result


def kinetic_energy(
    bodies: Sequence[Body],
    rigid: Sequence[Rigid],
    poses: Sequence[JointPose],
    v: Sequence[Any],
) -> Any:
    """Return the kinetic energy (J) of the bodies without rotors, summed body by body in O(n)."""
    total = 0.0 * v[0]
    states: list[tuple[vec.Vector3, vec.Vector3]] = []
    for i, (body, parameters, pose) in enumerate(zip(bodies, rigid, poses, strict=True)):
        omega, linear = states[body.parent] if body.parent >= 0 else ([total * 0.0] * 3,) * 2
        linear = pose.to_body(vec.add(linear, vec.cross(omega, pose.origin)))
        omega = pose.to_body(omega)
        if body.prismatic:
            linear = [linear[0], linear[1], linear[2] + v[i]]
        else:
            omega = [omega[0], omega[1], omega[2] + v[i]]
        states.append((omega, linear))
        half = vec.scale(0.5 * parameters.mass, linear)
        momentum = vec.add(half, vec.cross(omega, parameters.moment))
        total = total + vec.dot(linear, momentum)
        total = total + 0.5 * vec.dot(omega, vec.times(parameters.inertia, omega))
    return total


def solve_by_articulated_bodies(
    bodies: Sequence[Body],
    rigid: Sequence[Rigid],
    poses: Sequence[JointPose],
    armature: Sequence[float],
    efforts: Sequence[Any],
) -> list[Any]:
    """Solve M(q) a = efforts in O(n) and return the accelerations a (n,).

    Featherstone (2008), table 7.1, without gravity and velocity terms: the caller subtracts them
    from the efforts (`inverse_dynamics` at zero acceleration).
    """
    zero = 0.0 * efforts[0]
    n = len(bodies)
    articulated = [Articulated.of(body, zero) for body in rigid]
    bias = [([zero] * 3, [zero] * 3) for _ in bodies]
    steps: list[tuple] = [()] * n
    for i in reversed(range(n)):
        body, pose = bodies[i], poses[i]
        moment, force = articulated[i].column(body.prismatic)
        inertia = force[2] if body.prismatic else moment[2]
        inverse = 1.0 / (inertia + armature[i])
        resultant = efforts[i] - (bias[i][1][2] if body.prismatic else bias[i][0][2])
        steps[i] = (moment, force, inverse, resultant)
        if body.parent < 0:
            continue
        push = resultant * inverse
        rest = articulated[i].without(moment, force, inverse, body.prismatic, armature[i])
        moved = to_parent(
            pose,
            vec.add(bias[i][0], vec.scale(push, moment)),
            vec.add(bias[i][1], vec.scale(push, force)),
        )
        above = bias[body.parent]
        bias[body.parent] = (vec.add(above[0], moved[0]), vec.add(above[1], moved[1]))
        articulated[body.parent] = articulated[body.parent].plus(rest.seen_from(pose))
    return _outward(bodies, poses, steps, zero)


def spin_matrix(omega: Sequence[Any], alpha: Sequence[Any]) -> vec.Matrix3:
    """Return U = [alpha] + [omega][omega] (3, 3): point r accelerates by U r more than the origin.

    [w] denotes the matrix of the vector product with w.
    """
    xx, yy, zz = omega[0] * omega[0], omega[1] * omega[1], omega[2] * omega[2]
    xy, xz, yz = omega[0] * omega[1], omega[0] * omega[2], omega[1] * omega[2]
    return [
        [-(yy + zz), xy - alpha[2], xz + alpha[1]],
        [xy + alpha[2], -(xx + zz), yz - alpha[0]],
        [xz - alpha[1], yz + alpha[0], -(xx + yy)],
    ]


def force_on(rigid: Rigid, motion: BodyMotion) -> tuple[vec.Vector3, vec.Vector3]:
    """Return the moment about the body's origin and the force that act on a moving body."""
    omega, alpha, spin, linear, _ = motion
    force = vec.add(vec.scale(rigid.mass, linear), vec.times(spin, rigid.moment))
    momentum = vec.times(rigid.inertia, omega)
    moment = vec.add(
        vec.times(rigid.inertia, alpha),
        vec.cross(omega, momentum),
        vec.cross(rigid.moment, linear),
    )
    return moment, force


def to_parent(pose: JointPose, moment, force) -> tuple[vec.Vector3, vec.Vector3]:
    """Return the moment and force on a body about the parent's origin, in the parent's axes."""
    force = pose.to_parent(force)
    return vec.add(pose.to_parent(moment), vec.cross(pose.origin, force)), force


def _backward(bodies, poses, forces, moments) -> list[Any]:
    efforts: list[Any] = [None] * len(bodies)
    for i in reversed(range(len(bodies))):
        efforts[i] = forces[i][2] if bodies[i].prismatic else moments[i][2]
        k = bodies[i].parent
        if k >= 0:
            moment, force = to_parent(poses[i], moments[i], forces[i])
            forces[k], moments[k] = vec.add(forces[k], force), vec.add(moments[k], moment)
    return efforts


def _outward(bodies, poses, steps, zero) -> list[Any]:
    """Return the joint accelerations by the outward pass of the articulated-body method."""
    accelerations: list[Any] = []
    states: list[tuple] = []
    for i, body in enumerate(bodies):
        moment, force, inverse, resultant = steps[i]
        alpha, linear = [zero] * 3, [zero] * 3
        carried = 0.0
        if body.parent >= 0:
            alpha, linear = states[body.parent]
            pose = poses[i]
            linear = pose.to_body(vec.add(linear, vec.cross(alpha, pose.origin)))
            alpha = pose.to_body(alpha)
            carried = vec.dot(moment, alpha) + vec.dot(force, linear)
        acceleration = (resultant - carried) * inverse
        accelerations.append(acceleration)
        turned, moved = list(alpha), list(linear)
        (moved if body.prismatic else turned)[2] += acceleration
        states.append((turned, moved))
    return accelerations


Matrix = list[list[Any]]


class Factors(NamedTuple):
    """Factors of M = L^T D L, with the sparsity of a tree.

    Attributes:
        lower: Entries of L below its unit diagonal, (n, n).
        inverse: 1 / D, (n,).
        ancestors: Ancestors of each joint, nearest first.
    """

    lower: Matrix
    inverse: list[Any]
    ancestors: list[list[int]]


def factorized(mass: Sequence[Sequence[Any]], parents: Sequence[int]) -> Factors:
    """Factorize a mass matrix (n, n).

    Featherstone (2005), Efficient factorization of the joint-space inertia matrix for branched
    kinematic trees.
    """
    n = len(parents)
    rest = [list(row) for row in mass]
    lower: Matrix = [[0.0] * n for _ in range(n)]
    inverse: list[Any] = [None] * n
    ancestors = [_ancestors(parents, k) for k in range(n)]
    for k in reversed(range(n)):
        inverse[k] = 1.0 / rest[k][k]
        for depth, i in enumerate(ancestors[k]):
            lower[k][i] = rest[k][i] * inverse[k]
            for j in ancestors[k][depth:]:
                rest[i][j] = rest[i][j] - lower[k][i] * rest[k][j]
    return Factors(lower, inverse, ancestors)


def solved(factors: Factors, right: Sequence[Any]) -> list[Any]:
    """Solve M x = right and return x (n,)."""
    lower, inverse, ancestors = factors
    x = list(right)
    for k in reversed(range(len(x))):
        for i in ancestors[k]:
            x[i] = x[i] - lower[k][i] * x[k]
    x = [a * b for a, b in zip(x, inverse, strict=True)]
    for k in range(len(x)):
        for i in ancestors[k]:
            x[k] = x[k] - lower[k][i] * x[i]
    return x


def inverted(factors: Factors) -> Matrix:
    """Return the inverse (n, n), M^-1 = L^-1 D^-1 L^-T."""
    lower, inverse, ancestors = factors
    n = len(inverse)
    lower_inverse: Matrix = [[0.0] * n for _ in range(n)]
    for k in range(n):
        lower_inverse[k][k] = 1.0
        for i in ancestors[k]:
            for j in [i, *ancestors[i]]:
                lower_inverse[k][j] = lower_inverse[k][j] - lower[k][i] * lower_inverse[i][j]
    result: Matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            common = [k for k in [j, *ancestors[j]] if k in [i, *ancestors[i]]]
            for k in common:
                scaled = lower_inverse[j][k] * inverse[k]
                result[i][j] = result[i][j] + lower_inverse[i][k] * scaled
            result[j][i] = result[i][j]
    return result


def _ancestors(parents: Sequence[int], k: int) -> list[int]:
    above = []
    while parents[k] >= 0:
        k = parents[k]
        above.append(k)
    return above


class Sensitivities(NamedTuple):
    """Derivatives (n, n) of the efforts with respect to q, v and a."""

    by_position: Matrix
    by_velocity: Matrix
    by_acceleration: Matrix


class _Axis(NamedTuple):
    """First and second rates of a joint axis: motions with angular and linear parts (3,)."""

    rate: tuple[vec.Vector3, vec.Vector3]
    second_rate: tuple[vec.Vector3, vec.Vector3]


class _Flow(NamedTuple):
    """Sums 2 sum(m u) and 2 sum(m u r^T) over particles m at r with velocities u.

    The particles are those of a body or of a subtree.
    """

    momentum: vec.Vector3
    spread: vec.Matrix3

    def plus(self, flow: _Flow) -> _Flow:
        return _Flow(
            vec.add(self.momentum, flow.momentum), vec.add_matrices(self.spread, flow.spread)
        )

    def seen_from(self, pose: JointPose) -> _Flow:
        momentum = pose.to_parent(self.momentum)
        carried = [[m * p for p in pose.origin] for m in momentum]
        return _Flow(momentum, vec.add_matrices(pose.turn(self.spread), carried))

    def moment(self, alpha: Sequence[Any]) -> vec.Vector3:
        """Return the moment 2 (tr(W) 1 - W) alpha (3,), where `spread` is 2 W."""
        w = self.spread
        xx, yy, zz = w[1][1] + w[2][2], w[0][0] + w[2][2], w[0][0] + w[1][1]
        rows = [[xx, -w[0][1], -w[0][2]], [-w[1][0], yy, -w[1][2]], [-w[2][0], -w[2][1], zz]]
        return vec.times(rows, alpha)

    def row(self, prismatic: bool) -> vec.Vector3:
        """Return the moment (3,) of 2 B^T times a unit motion of the joint; the force is zero.

        `inverse_dynamics_sensitivities` defines B.
        """
        w, p = self.spread, self.momentum
        if prismatic:
            return [p[1], -p[0], 0.0 * p[0]]
        return [-w[2][0], -w[2][1], w[0][0] + w[1][1]]


def inverse_dynamics_sensitivities(
    bodies: Sequence[Body],
    rigid: Sequence[Rigid],
    poses: Sequence[JointPose],
    v: Sequence[Any],
    a: Sequence[Any],
    gravity: Sequence[float],
) -> Sensitivities:
    """Return the derivatives (n, n) of `inverse_dynamics` with respect to q, v and a.

    Singh, Russell, Wensing (2022), Efficient analytical derivatives of rigid-body dynamics using
    spatial vector algebra, eqs. 46-49. The matrix 2 B of the Coriolis force acts only on the
    angular part alpha of a motion. For particles with velocities u at r,

        force = 2 alpha x sum(m u),    moment = 2 (tr(W) 1 - W) alpha,    W = sum(m u r^T),

    so it is stored as momentum and W, both doubled (`_Flow`).
    """
    n, zero = len(bodies), 0.0 * v[0]
    motions = body_motions(bodies, poses, v, a, gravity)
    velocities = _velocities(bodies, poses, motions, v)
    axes = [
        _axis(body, motion, velocity)
        for body, motion, velocity in zip(bodies, motions, velocities, strict=True)
    ]
    composite = list(rigid)
    flows = [
        _flow(body, motion.omega, velocity)
        for body, motion, velocity in zip(rigid, motions, velocities, strict=True)
    ]
    loads = [force_on(body, motion) for body, motion in zip(rigid, motions, strict=True)]
    result = Sensitivities(*([[zero] * n for _ in range(n)] for _ in range(3)))
    for i in reversed(range(n)):
        _fill(result, i, bodies, poses, axes, composite[i], flows[i], loads[i])
        k, pose = bodies[i].parent, poses[i]
        if k >= 0:
            composite[k] = composite[k].plus(composite[i].seen_from(pose))
            flows[k] = flows[k].plus(flows[i].seen_from(pose))
            moment, force = to_parent(pose, *loads[i])
            loads[k] = (vec.add(loads[k][0], moment), vec.add(loads[k][1], force))
    return result


def _velocities(bodies, poses, motions, v) -> list[vec.Vector3]:
    """Return the velocities (3,) of the origins of the bodies, in body axes."""
    still = [0.0 * v[0]] * 3
    velocities: list[vec.Vector3] = []
    for i, (body, pose) in enumerate(zip(bodies, poses, strict=True)):
        above, omega = still, still
        if body.parent >= 0:
            above, omega = velocities[body.parent], motions[body.parent].omega
        velocity = pose.to_body(vec.add(above, vec.cross(omega, pose.origin)))
        if body.prismatic:
            velocity = [velocity[0], velocity[1], velocity[2] + v[i]]
        velocities.append(velocity)
    return velocities


def _axis(body: Body, motion: BodyMotion, velocity: vec.Vector3) -> _Axis:
    """Return the rates of a joint axis, which moves with the parent."""
    omega, alpha, linear = motion.carried
    zero = 0.0 * omega[0]
    still = [zero] * 3
    turning = [omega[1], -omega[0], zero]
    swinging = [
        omega[2] * omega[0] + alpha[1],
        omega[2] * omega[1] - alpha[0],
        -(omega[0] * omega[0] + omega[1] * omega[1]),
    ]
    if body.prismatic:
        return _Axis((still, turning), (still, swinging))
    sliding = [velocity[1], -velocity[0], zero]
    pulled = [linear[1], -linear[0], zero]
    pulled = vec.add(pulled, vec.scale(2.0, vec.cross(velocity, turning)))
    return _Axis((turning, sliding), (swinging, pulled))


def _flow(rigid: Rigid, omega: vec.Vector3, velocity: vec.Vector3) -> _Flow:
    zero = 0.0 * omega[0]
    half_trace = 0.5 * (rigid.inertia[0][0] + rigid.inertia[1][1] + rigid.inertia[2][2])
    # 2 sum(m r r^T) and 2 sum(m r)
    spread = [
        [2.0 * ((half_trace if i == j else 0.0) - rigid.inertia[i][j]) for j in range(3)]
        for i in range(3)
    ]
    moment = [2.0 * h for h in rigid.moment]
    momentum = vec.add(vec.scale(2.0 * rigid.mass, velocity), vec.cross(omega, moment))
    columns = [vec.cross(omega, column) for column in vec.transposed(spread)]
    turned = vec.transposed(columns)
    moved = [[u * h for h in moment] for u in velocity]
    return _Flow([zero + p for p in momentum], vec.add_matrices(turned, moved))


def _fill(result, i, bodies, poses, axes, composite, flow, load) -> None:
    """Write the entries of `result` in row i and column i for joint i and its ancestors."""
    prismatic, zero = bodies[i].prismatic, 0.0 * load[0][0]
    axis = [zero, zero, zero + 1.0]
    unit = composite.column(prismatic)
    row = flow.row(prismatic)
    doubled = [vec.scale(2.0, vector) for vector in _accelerated(composite, axes[i].rate)]
    if prismatic:
        by_velocity, load_rate = tuple(doubled), (vec.cross(axis, load[1]), [zero] * 3)
    else:
        moment, force = flow.moment(axis), vec.cross(axis, flow.momentum)
        by_velocity = (vec.add(moment, doubled[0]), vec.add(force, doubled[1]))
        load_rate = (vec.cross(axis, load[0]), vec.cross(axis, load[1]))
    turning = axes[i].rate[0]
    pushed = _accelerated(composite, axes[i].second_rate)
    by_position = (
        vec.add(flow.moment(turning), pushed[0], load_rate[0]),
        vec.add(vec.cross(turning, flow.momentum), pushed[1], load_rate[1]),
    )
    j = i
    while True:
        block = 1 if bodies[j].prismatic else 0
        rate, second = axes[j]
        result.by_acceleration[i][j] = result.by_acceleration[j][i] = unit[block][2]
        result.by_position[j][i] = by_position[block][2]
        result.by_velocity[j][i] = by_velocity[block][2]
        result.by_position[i][j] = vec.dot(row, rate[0]) + _power(unit, second)
        along = zero if bodies[j].prismatic else row[2]
        result.by_velocity[i][j] = along + 2.0 * _power(unit, rate)
        k = bodies[j].parent
        if k < 0:
            return
        pose = poses[j]
        row = pose.to_parent(row)
        unit, by_position, by_velocity = (
            to_parent(pose, *pair) for pair in (unit, by_position, by_velocity)
        )
        j = k


def _accelerated(composite: Rigid, motion) -> tuple[vec.Vector3, vec.Vector3]:
    """Return the moment and force that accelerate a resting body by `motion`."""
    angular, linear = motion
    moment = vec.add(vec.times(composite.inertia, angular), vec.cross(composite.moment, linear))
    force = vec.add(vec.scale(composite.mass, linear), vec.cross(angular, composite.moment))
    return moment, force


def _power(force, motion) -> Any:
    return vec.dot(force[0], motion[0]) + vec.dot(force[1], motion[1])
