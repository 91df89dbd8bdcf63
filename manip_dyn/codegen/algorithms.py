"""Rigid-body algorithms, written once over any scalar: floats or expressions.

Every body's frame has its joint's axis as z. Vectors are in the body's own axes. Gravity acts
as an acceleration of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manip_dyn.codegen import vectors as vec
from manip_dyn.codegen.motion import JointPose
from manip_dyn.robot import Body
from manip_dyn.validate import Vector


def inverse_dynamics(
    bodies: Sequence[Body],
    poses: Sequence[JointPose],
    v: Sequence[Any],
    a: Sequence[Any],
    gravity: Sequence[float],
) -> list[Any]:
    """Return the efforts (n,) for velocities and accelerations, by Newton and Euler.

    Luh, Walker, Paul (1980), with the matrix U = [alpha] + [omega][omega] shared by all that
    a body's points and its inertia need (Balafoutis, Patel 1989).
    """
    zero = 0.0 * v[0]
    base = ([zero] * 3, [zero] * 3, [[zero] * 3] * 3, [-g for g in gravity])
    states: list[tuple] = []
    forces, moments = [], []
    for i, body in enumerate(bodies):
        omega, alpha, spin, linear = states[body.parent] if body.parent >= 0 else base
        pose = poses[i]
        linear = pose.to_body(vec.add(linear, vec.times(spin, pose.origin)))
        omega, alpha = pose.to_body(omega), pose.to_body(alpha)
        if body.prismatic:
            slide = [2.0 * omega[1] * v[i], -2.0 * omega[0] * v[i], a[i]]
            linear = vec.add(linear, slide)
        else:
            alpha = vec.add(alpha, [omega[1] * v[i], -omega[0] * v[i], a[i]])
            omega = [omega[0], omega[1], omega[2] + v[i]]
        spin = _spin(omega, alpha)
        states.append((omega, alpha, spin, linear))
        first_moment = (body.mass * body.com).tolist()
        force = vec.add(vec.scale(body.mass, linear), vec.times(spin, first_moment))
        forces.append(force)
        moments.append(vec.add(_euler(spin, body), vec.cross(first_moment, linear)))
    return _backward(bodies, poses, forces, moments)


def mass_matrix(
    bodies: Sequence[Body], poses: Sequence[JointPose], armature: Sequence[float]
) -> list[list[Any]]:
    """Return the joint-space inertia matrix (n, n), by composite rigid bodies.

    Walker, Orin (1982), method 3; Featherstone (2008), table 6.2.
    """
    n = len(bodies)
    zero = 0.0 * poses[0].cosine
    composite = [_rigid(body, zero) for body in bodies]
    result = [[zero] * n for _ in bodies]
    for i in reversed(range(n)):
        body = bodies[i]
        moment, force = composite[i].column(body.prismatic)
        result[i][i] = (force[2] if body.prismatic else moment[2]) + armature[i]
        j, k = i, body.parent
        while k >= 0:
            moment, force = _to_parent(poses[j], moment, force)
            result[i][k] = result[k][i] = force[2] if bodies[k].prismatic else moment[2]
            j, k = k, bodies[k].parent
        if body.parent >= 0:
            composite[body.parent] = composite[body.parent].plus(composite[i].seen_from(poses[i]))
    return result


def solve_by_articulated_bodies(
    bodies: Sequence[Body],
    poses: Sequence[JointPose],
    armature: Sequence[float],
    efforts: Sequence[Any],
) -> list[Any]:
    """Return the accelerations (n,) that resting bodies without gravity get from `efforts`.

    This solves M(q) a = efforts in O(n). Featherstone (2008), table 7.1, without the velocity
    terms: those are in the efforts, from `inverse_dynamics` at zero acceleration.
    """
    zero = 0.0 * efforts[0]
    n = len(bodies)
    articulated = [_rigid(body, zero) for body in bodies]
    bias = [([zero] * 3, [zero] * 3) for _ in bodies]
    steps: list[tuple] = [()] * n
    for i in reversed(range(n)):
        body, pose = bodies[i], poses[i]
        moment, force = articulated[i].column(body.prismatic)
        held = force[2] if body.prismatic else moment[2]
        inverse = 1.0 / (held + armature[i])
        left = efforts[i] - (bias[i][1][2] if body.prismatic else bias[i][0][2])
        steps[i] = (moment, force, inverse, left)
        if body.parent < 0:
            continue
        push = left * inverse
        rest = articulated[i].without(moment, force, inverse, body.prismatic, armature[i])
        moved = _to_parent(
            pose,
            vec.add(bias[i][0], vec.scale(push, moment)),
            vec.add(bias[i][1], vec.scale(push, force)),
        )
        above = bias[body.parent]
        bias[body.parent] = (vec.add(above[0], moved[0]), vec.add(above[1], moved[1]))
        articulated[body.parent] = articulated[body.parent].plus(rest.seen_from(pose))
    return _outward(bodies, poses, steps, zero)


class Inertia:
    """A spatial inertia at a body's origin: blocks angular (symmetric), coupling, linear.

    moment = angular @ alpha + coupling @ a; force = coupling^T @ alpha + linear @ a.
    """

    def __init__(self, angular: vec.Matrix3, coupling: vec.Matrix3, linear: vec.Matrix3):
        """Take the three blocks, each (3, 3)."""
        self.angular, self.coupling, self.linear = angular, coupling, linear

    def column(self, prismatic: bool) -> tuple[vec.Vector3, vec.Vector3]:
        """Return moment and force for a unit acceleration of the joint."""
        if prismatic:
            return [row[2] for row in self.coupling], [row[2] for row in self.linear]
        return [row[2] for row in self.angular], list(self.coupling[2])

    def plus(self, other: Inertia) -> Inertia:
        """Return the sum."""
        return Inertia(
            vec.add_matrices(self.angular, other.angular),
            vec.add_matrices(self.coupling, other.coupling),
            vec.add_matrices(self.linear, other.linear),
        )

    def without(self, moment, force, inverse, prismatic: bool, armature: float) -> Inertia:
        """Return what is left when the joint gives way: self - (m, f)(m, f)^T * inverse."""
        moment_share, force_share = vec.scale(inverse, moment), vec.scale(inverse, force)
        if armature == 0.0:
            (force_share if prismatic else moment_share)[2] = 1.0
        return Inertia(
            [[self.angular[i][j] - _symmetric(moment, moment_share, i, j) for j in range(3)]
             for i in range(3)],
            [[self.coupling[i][j] - (moment_share[i] * force[j] if not prismatic
              else moment[i] * force_share[j]) for j in range(3)] for i in range(3)],
            [[self.linear[i][j] - _symmetric(force, force_share, i, j) for j in range(3)]
             for i in range(3)],
        )  # fmt: skip

    def seen_from(self, pose: JointPose) -> Inertia:
        """Return the inertia in the parent's frame, at the parent's origin."""
        angular = _turned(pose, self.angular, symmetric=True)
        coupling = _turned(pose, self.coupling, symmetric=False)
        linear = _turned(pose, self.linear, symmetric=True)
        lever = vec.skew(pose.origin)
        moved = vec.product(lever, linear)
        shift = vec.product(lever, vec.transposed(coupling))
        across = vec.add_matrices(coupling, moved)
        inward = vec.product(moved, lever)
        angular = [
            [angular[i][j] + shift[i][j] + shift[j][i] - inward[i][j] for j in range(3)]
            for i in range(3)
        ]
        return Inertia(_mirrored(angular), across, linear)


def _symmetric(a, share, i: int, j: int) -> Any:
    """Return a_i share_j by the same operation for (i, j) and (j, i)."""
    low, high = min(i, j), max(i, j)
    return a[low] * share[high]


def _mirrored(matrix: vec.Matrix3) -> vec.Matrix3:
    return [[matrix[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)]


def _turned(pose: JointPose, matrix: vec.Matrix3, symmetric: bool) -> vec.Matrix3:
    """Return R matrix R^T for the pose's rotation R."""
    rows = [vec.about_z(pose.cosine, pose.sine, column) for column in vec.transposed(matrix)]
    both = [vec.about_z(pose.cosine, pose.sine, row) for row in vec.transposed(rows)]
    if symmetric:
        both = _mirrored(both)
    result = vec.product(vec.product(pose.rotation, both), vec.transposed(pose.rotation))
    return _mirrored(result) if symmetric else result


def _rigid(body: Body, zero: Any) -> Inertia:
    """Return a rigid body's inertia about its origin."""
    lever: Vector = np.array(vec.skew(body.com.tolist()))
    angular = body.inertia - body.mass * lever @ lever
    linear = body.mass * np.eye(3)
    return Inertia(
        *([[zero + x for x in row] for row in block.tolist()]
          for block in (angular, body.mass * lever, linear))
    )  # fmt: skip


def _spin(omega: Sequence[Any], alpha: Sequence[Any]) -> vec.Matrix3:
    """Return U = [alpha] + [omega][omega]."""
    xx, yy, zz = omega[0] * omega[0], omega[1] * omega[1], omega[2] * omega[2]
    xy, xz, yz = omega[0] * omega[1], omega[0] * omega[2], omega[1] * omega[2]
    return [
        [-(yy + zz), xy - alpha[2], xz + alpha[1]],
        [xy + alpha[2], -(xx + zz), yz - alpha[0]],
        [xz - alpha[1], yz + alpha[0], -(xx + yy)],
    ]


def _euler(spin: vec.Matrix3, body: Body) -> vec.Vector3:
    """Return I alpha + omega x I omega about the origin, from U and the pseudo-inertia."""
    lever: Vector = np.array(vec.skew(body.com.tolist()))
    inertia = body.inertia - body.mass * lever @ lever
    pseudo = (0.5 * np.trace(inertia) * np.eye(3) - inertia).tolist()
    moved = vec.product(spin, pseudo)
    return [moved[2][1] - moved[1][2], moved[0][2] - moved[2][0], moved[1][0] - moved[0][1]]


def _to_parent(pose: JointPose, moment, force) -> tuple[vec.Vector3, vec.Vector3]:
    """Return moment and force on the body as seen at the parent's origin."""
    force = pose.to_parent(force)
    return vec.add(pose.to_parent(moment), vec.cross(pose.origin, force)), force


def _backward(bodies, poses, forces, moments) -> list[Any]:
    efforts: list[Any] = [None] * len(bodies)
    for i in reversed(range(len(bodies))):
        efforts[i] = forces[i][2] if bodies[i].prismatic else moments[i][2]
        k = bodies[i].parent
        if k >= 0:
            moment, force = _to_parent(poses[i], moments[i], forces[i])
            forces[k], moments[k] = vec.add(forces[k], force), vec.add(moments[k], moment)
    return efforts


def _outward(bodies, poses, steps, zero) -> list[Any]:
    """Return the accelerations from the articulated bodies, base to tips."""
    accelerations: list[Any] = []
    states: list[tuple] = []
    for i, body in enumerate(bodies):
        moment, force, inverse, left = steps[i]
        alpha, linear = [zero] * 3, [zero] * 3
        carried = 0.0
        if body.parent >= 0:
            alpha, linear = states[body.parent]
            pose = poses[i]
            linear = pose.to_body(vec.add(linear, vec.cross(alpha, pose.origin)))
            alpha = pose.to_body(alpha)
            carried = vec.dot(moment, alpha) + vec.dot(force, linear)
        acceleration = (left - carried) * inverse
        accelerations.append(acceleration)
        turned, moved = list(alpha), list(linear)
        (moved if body.prismatic else turned)[2] += acceleration
        states.append((turned, moved))
    return accelerations
