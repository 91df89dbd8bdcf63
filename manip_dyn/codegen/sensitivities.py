"""Derivatives of the inverse dynamics by positions and velocities, over any scalar.

Singh, Russell, Wensing (2022), Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra, eqs. 46-49, with each force of one joint's composite body carried along
its ancestors. Their matrix 2 B of the Coriolis force acts, for a body of particles with the
velocities u at r, on the angular part alpha of a motion alone:

    force = 2 alpha x sum(m u),    moment = 2 (tr(W) 1 - W) alpha,    W = sum(m u r^T),

so it is carried as the momentum and W, both doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from manip_dyn.codegen import vectors as vec
from manip_dyn.codegen.algorithms import force_on, spin_matrix, to_parent
from manip_dyn.codegen.inertia import Rigid
from manip_dyn.codegen.motion import JointPose
from manip_dyn.robot import Body

Matrix = list[list[Any]]


class Sensitivities(NamedTuple):
    """Derivatives (n, n) of the efforts by positions, velocities and accelerations."""

    by_position: Matrix
    by_velocity: Matrix
    by_acceleration: Matrix


class _Motion(NamedTuple):
    """A body in motion, and the first two rates of its joint's axis as a motion."""

    omega: vec.Vector3
    alpha: vec.Vector3
    spin: vec.Matrix3
    velocity: vec.Vector3
    acceleration: vec.Vector3
    rate: tuple[vec.Vector3, vec.Vector3]
    second_rate: tuple[vec.Vector3, vec.Vector3]


class _Flow(NamedTuple):
    """2 sum(m u) and 2 sum(m u r^T) over the particles of a body or of a subtree."""

    momentum: vec.Vector3
    spread: vec.Matrix3

    def plus(self, other: _Flow) -> _Flow:
        return _Flow(
            vec.add(self.momentum, other.momentum), vec.add_matrices(self.spread, other.spread)
        )

    def seen_from(self, pose: JointPose) -> _Flow:
        momentum = pose.to_parent(self.momentum)
        carried = [[m * p for p in pose.origin] for m in momentum]
        return _Flow(momentum, vec.add_matrices(pose.turn(self.spread), carried))

    def moment(self, alpha: Sequence[Any]) -> vec.Vector3:
        """Return (tr(W) 1 - W) alpha, doubled."""
        w = self.spread
        xx, yy, zz = w[1][1] + w[2][2], w[0][0] + w[2][2], w[0][0] + w[1][1]
        rows = [[xx, -w[0][1], -w[0][2]], [-w[1][0], yy, -w[1][2]], [-w[2][0], -w[2][1], zz]]
        return vec.times(rows, alpha)

    def row(self, prismatic: bool) -> vec.Vector3:
        """Return the moment that 2 B transposed gives the joint's axis; it gives no force."""
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
    """Return the derivatives of `algorithms.inverse_dynamics` by q, v and a, each (n, n)."""
    n, zero = len(bodies), 0.0 * v[0]
    motions = _outward(bodies, poses, v, a, gravity)
    composite = list(rigid)
    flows = [_flow(each, motion) for each, motion in zip(rigid, motions, strict=True)]
    loads = [
        force_on(each, motion.omega, motion.alpha, motion.spin, motion.acceleration)
        for each, motion in zip(rigid, motions, strict=True)
    ]
    result = Sensitivities(*([[zero] * n for _ in range(n)] for _ in range(3)))
    for i in reversed(range(n)):
        _fill(result, i, bodies, poses, motions, composite[i], flows[i], loads[i])
        k, pose = bodies[i].parent, poses[i]
        if k >= 0:
            composite[k] = composite[k].plus(composite[i].seen_from(pose))
            flows[k] = flows[k].plus(flows[i].seen_from(pose))
            moment, force = to_parent(pose, *loads[i])
            loads[k] = (vec.add(loads[k][0], moment), vec.add(loads[k][1], force))
    return result


def _outward(bodies, poses, v, a, gravity) -> list[_Motion]:
    zero = 0.0 * v[0]
    still = [zero] * 3
    spin = [still] * 3
    base = _Motion(
        still, still, spin, still, [-g for g in gravity], (still, still), (still, still)
    )
    motions: list[_Motion] = []
    for i, (body, pose) in enumerate(zip(bodies, poses, strict=True)):
        above = motions[body.parent] if body.parent >= 0 else base
        omega, alpha = pose.to_body(above.omega), pose.to_body(above.alpha)
        velocity = pose.to_body(vec.add(above.velocity, vec.cross(above.omega, pose.origin)))
        acceleration = pose.to_body(
            vec.add(above.acceleration, vec.times(above.spin, pose.origin))
        )
        # The parent's own motion, in this body's axes, carries the joint's axis.
        turning = [omega[1], -omega[0], zero]
        swinging = [omega[2] * omega[0] + alpha[1], omega[2] * omega[1] - alpha[0],
                    -(omega[0] * omega[0] + omega[1] * omega[1])]  # fmt: skip
        if body.prismatic:
            rate, second = (still, turning), (still, swinging)
            slide = [2.0 * omega[1] * v[i], -2.0 * omega[0] * v[i], a[i]]
            acceleration = vec.add(acceleration, slide)
            velocity = [velocity[0], velocity[1], velocity[2] + v[i]]
        else:
            sliding = [velocity[1], -velocity[0], zero]
            pulled = [acceleration[1], -acceleration[0], zero]
            pulled = vec.add(pulled, vec.scale(2.0, vec.cross(velocity, turning)))
            rate, second = (turning, sliding), (swinging, pulled)
            alpha = vec.add(alpha, [omega[1] * v[i], -omega[0] * v[i], a[i]])
            omega = [omega[0], omega[1], omega[2] + v[i]]
        spin = spin_matrix(omega, alpha)
        motions.append(_Motion(omega, alpha, spin, velocity, acceleration, rate, second))
    return motions


def _flow(rigid: Rigid, motion: _Motion) -> _Flow:
    zero = 0.0 * motion.omega[0]
    half_trace = 0.5 * (rigid.inertia[0][0] + rigid.inertia[1][1] + rigid.inertia[2][2])
    # 2 sum(m r r^T) and 2 sum(m r)
    spread = [
        [2.0 * ((half_trace if i == j else 0.0) - rigid.inertia[i][j]) for j in range(3)]
        for i in range(3)
    ]
    moment = [2.0 * h for h in rigid.moment]
    momentum = vec.add(
        vec.scale(2.0 * rigid.mass, motion.velocity), vec.cross(motion.omega, moment)
    )
    columns = [vec.cross(motion.omega, column) for column in vec.transposed(spread)]
    turned = vec.transposed(columns)
    moved = [[u * h for h in moment] for u in motion.velocity]
    return _Flow([zero + p for p in momentum], vec.add_matrices(turned, moved))


def _fill(result, i, bodies, poses, motions, composite, flow, load) -> None:
    """Write row and column i, for joint i and its ancestors."""
    prismatic, zero = bodies[i].prismatic, 0.0 * load[0][0]
    axis = [zero, zero, zero + 1.0]
    unit = composite.column(prismatic)
    row = flow.row(prismatic)
    doubled = [vec.scale(2.0, part) for part in _accelerated(composite, motions[i].rate)]
    if prismatic:
        by_velocity, held = tuple(doubled), (vec.cross(axis, load[1]), [zero] * 3)
    else:
        moment, force = flow.moment(axis), vec.cross(axis, flow.momentum)
        by_velocity = (vec.add(moment, doubled[0]), vec.add(force, doubled[1]))
        held = (vec.cross(axis, load[0]), vec.cross(axis, load[1]))
    turning = motions[i].rate[0]
    pushed = _accelerated(composite, motions[i].second_rate)
    by_position = (
        vec.add(flow.moment(turning), pushed[0], held[0]),
        vec.add(vec.cross(turning, flow.momentum), pushed[1], held[1]),
    )
    j = i
    while True:
        place = 1 if bodies[j].prismatic else 0
        rate, second = motions[j].rate, motions[j].second_rate
        result.by_acceleration[i][j] = result.by_acceleration[j][i] = unit[place][2]
        result.by_position[j][i] = by_position[place][2]
        result.by_velocity[j][i] = by_velocity[place][2]
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
    """Return moment and force that accelerate a resting body by a motion (angular, linear)."""
    angular, linear = motion
    moment = vec.add(vec.times(composite.inertia, angular), vec.cross(composite.moment, linear))
    force = vec.add(vec.scale(composite.mass, linear), vec.cross(angular, composite.moment))
    return moment, force


def _power(force, motion) -> Any:
    return vec.dot(force[0], motion[0]) + vec.dot(force[1], motion[1])
