"""Rigid-body algorithms, written once over any scalar: floats or expressions.

Every body's frame has its joint's axis as z. Vectors are in the body's own axes. Gravity acts
as an acceleration of the base. Inertias are given beside the bodies, so that base parameters
or a payload known only at run time can take the place of the bodies' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from manip_dyn.codegen.graph import vectors as vec
from manip_dyn.codegen.rigid_body.inertia import Articulated, Rigid
from manip_dyn.codegen.rigid_body.kinematics import JointPose
from manip_dyn.robot import Body


class BodyMotion(NamedTuple):
    """How a body moves, in its own axes; `carried` is what it would do with its joint at rest.

    Attributes:
        omega: Angular velocity (3,), rad/s.
        alpha: Angular acceleration (3,), rad/s^2.
        spin: U = [alpha] + [omega][omega], (3, 3).
        linear: Acceleration of the origin (3,), less gravity, m/s^2.
        carried: Angular velocity, angular and linear acceleration of the parent at the origin.
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
    """Return the bodies' motions for joint velocities and accelerations, base to tips."""
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
    """Return the efforts (n,) for velocities and accelerations, by Newton and Euler.

    Luh, Walker, Paul (1980), with the matrix U = [alpha] + [omega][omega] shared by all that
    a body's points need (Balafoutis, Patel 1989).
    """
    forces, moments = [], []
    for each, motion in zip(rigid, body_motions(bodies, poses, v, a, gravity), strict=True):
        moment, force = force_on(each, motion)
        moments.append(moment)
        forces.append(force)
    return _backward(bodies, poses, forces, moments)


def mass_matrix(
    bodies: Sequence[Body],
    rigid: Sequence[Rigid],
    poses: Sequence[JointPose],
    armature: Sequence[float],
) -> list[list[Any]]:
    """Return the joint-space inertia matrix (n, n), by composite rigid bodies.

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
    """Return the kinetic energy of the bodies, J, from body to body in O(n)."""
    total = 0.0 * v[0]
    states: list[tuple[vec.Vector3, vec.Vector3]] = []
    for i, (body, each, pose) in enumerate(zip(bodies, rigid, poses, strict=True)):
        omega, linear = states[body.parent] if body.parent >= 0 else ([total * 0.0] * 3,) * 2
        linear = pose.to_body(vec.add(linear, vec.cross(omega, pose.origin)))
        omega = pose.to_body(omega)
        if body.prismatic:
            linear = [linear[0], linear[1], linear[2] + v[i]]
        else:
            omega = [omega[0], omega[1], omega[2] + v[i]]
        states.append((omega, linear))
        momentum = vec.add(vec.scale(0.5 * each.mass, linear), vec.cross(omega, each.moment))
        total = total + vec.dot(linear, momentum)
        total = total + 0.5 * vec.dot(omega, vec.times(each.inertia, omega))
    return total


def solve_by_articulated_bodies(
    bodies: Sequence[Body],
    rigid: Sequence[Rigid],
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
    articulated = [Articulated.of(each, zero) for each in rigid]
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
    """Return U = [alpha] + [omega][omega]: the acceleration of a body's points is a + U r."""
    xx, yy, zz = omega[0] * omega[0], omega[1] * omega[1], omega[2] * omega[2]
    xy, xz, yz = omega[0] * omega[1], omega[0] * omega[2], omega[1] * omega[2]
    return [
        [-(yy + zz), xy - alpha[2], xz + alpha[1]],
        [xy + alpha[2], -(xx + zz), yz - alpha[0]],
        [xz - alpha[1], yz + alpha[0], -(xx + yy)],
    ]


def force_on(rigid: Rigid, motion: BodyMotion) -> tuple[vec.Vector3, vec.Vector3]:
    """Return moment (about the origin) and force that give a body its motion."""
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
    """Return moment and force on the body as seen at the parent's origin."""
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
