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

from manip_dyn.codegen.graph import vectors as vec
from manip_dyn.codegen.rigid_body.algorithms import BodyMotion, body_motions, force_on, to_parent
from manip_dyn.codegen.rigid_body.inertia import Rigid
from manip_dyn.codegen.rigid_body.kinematics import JointPose
from manip_dyn.robot import Body

Matrix = list[list[Any]]


class Sensitivities(NamedTuple):
    """Derivatives (n, n) of the efforts by positions, velocities and accelerations."""

    by_position: Matrix
    by_velocity: Matrix
    by_acceleration: Matrix


class _Axis(NamedTuple):
    """The first two rates of a joint's axis as a motion: angular and linear part (3,) each."""

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
    motions = body_motions(bodies, poses, v, a, gravity)
    velocities = _velocities(bodies, poses, motions, v)
    axes = [
        _axis(body, motion, velocity)
        for body, motion, velocity in zip(bodies, motions, velocities, strict=True)
    ]
    composite = list(rigid)
    flows = [
        _flow(each, motion.omega, velocity)
        for each, motion, velocity in zip(rigid, motions, velocities, strict=True)
    ]
    loads = [force_on(each, motion) for each, motion in zip(rigid, motions, strict=True)]
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
    """Return the velocities (3,) of the bodies' origins, in their own axes."""
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
    """Return how the parent's motion carries the joint's axis."""
    omega, alpha, linear = motion.carried
    zero = 0.0 * omega[0]
    still = [zero] * 3
    turning = [omega[1], -omega[0], zero]
    swinging = [omega[2] * omega[0] + alpha[1], omega[2] * omega[1] - alpha[0],
                -(omega[0] * omega[0] + omega[1] * omega[1])]  # fmt: skip
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
    """Write row and column i, for joint i and its ancestors."""
    prismatic, zero = bodies[i].prismatic, 0.0 * load[0][0]
    axis = [zero, zero, zero + 1.0]
    unit = composite.column(prismatic)
    row = flow.row(prismatic)
    doubled = [vec.scale(2.0, part) for part in _accelerated(composite, axes[i].rate)]
    if prismatic:
        by_velocity, held = tuple(doubled), (vec.cross(axis, load[1]), [zero] * 3)
    else:
        moment, force = flow.moment(axis), vec.cross(axis, flow.momentum)
        by_velocity = (vec.add(moment, doubled[0]), vec.add(force, doubled[1]))
        held = (vec.cross(axis, load[0]), vec.cross(axis, load[1]))
    turning = axes[i].rate[0]
    pushed = _accelerated(composite, axes[i].second_rate)
    by_position = (
        vec.add(flow.moment(turning), pushed[0], held[0]),
        vec.add(vec.cross(turning, flow.momentum), pushed[1], held[1]),
    )
    j = i
    while True:
        place = 1 if bodies[j].prismatic else 0
        rate, second = axes[j]
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
