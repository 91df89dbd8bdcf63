"""Poses and inertias of bodies over any scalar.

Base parameters describe the same dynamics with fewer nonzero numbers. The part of a body's
inertia whose effect does not depend on the joint position is added to the parent. For a revolute
joint about z these are the mass, the first moment along z, and equal moments of inertia about x
and y; for a prismatic joint the whole inertia matrix. The remainder does not describe a real body,
but it yields the efforts, mass matrix and accelerations of the arm.

Gautier, Khalil (1990), Direct calculation of minimum set of inertial parameters of serial
robots; Khalil, Kleinfinger (1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.rigid_body import vectors as vec
from manip_dyn.codegen.rigid_body.graph import cosine, sine
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Body, Frame


class JointPose(NamedTuple):
    """Pose of a body in its parent frame: a fixed rotation, a rotation about z, and the origin."""

    rotation: vec.Matrix3
    cosine: Any
    sine: Any
    origin: vec.Vector3

    def to_parent(self, a: Sequence[Any]) -> vec.Vector3:
        """Rotate a vector from the body's axes into the parent's axes."""
        return vec.times(self.rotation, vec.about_z(self.cosine, self.sine, a))

    def to_body(self, a: Sequence[Any]) -> vec.Vector3:
        """Rotate a vector from the parent's axes into the body's axes."""
        turned = vec.times(vec.transposed(self.rotation), a)
        return vec.about_z(self.cosine, -self.sine, turned)

    def turn(self, matrix: vec.Matrix3) -> vec.Matrix3:
        """Rotate a matrix (3, 3) from the body's axes into the parent's axes."""
        turned = vec.matrix_about_z(self.cosine, self.sine, matrix)
        return vec.product(vec.product(self.rotation, turned), vec.transposed(self.rotation))

    def turn_symmetric(self, matrix: vec.Matrix3) -> vec.Matrix3:
        """Rotate a symmetric matrix (3, 3) from the body's axes into the parent's axes."""
        return vec.mirrored(self.turn(matrix))


def joint_poses(bodies: Sequence[Body], q: Sequence[Any]) -> list[JointPose]:
    """Return the pose of each body in its parent's frame at the joint positions `q`."""
    poses = []
    for body, position in zip(bodies, q, strict=True):
        rotation, origin = body.rotation.tolist(), body.translation.tolist()
        if body.prismatic:
            axis = [row[2] for row in rotation]
            origin = [position * a + b for a, b in zip(axis, origin, strict=True)]
            one = 0.0 * position + 1.0
            poses.append(JointPose(rotation, one, 0.0 * position, origin))
        else:
            poses.append(JointPose(rotation, cosine(position), sine(position), origin))
    return poses


def world_poses(
    bodies: Sequence[Body], poses: Sequence[JointPose]
) -> list[tuple[vec.Matrix3, vec.Vector3]]:
    """Return rotation (3, 3) and origin (3,) of each body in the base frame."""
    world: list[tuple[vec.Matrix3, vec.Vector3]] = []
    for body, pose in zip(bodies, poses, strict=True):
        columns = [pose.to_parent(unit) for unit in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])]
        columns.append([row[2] for row in pose.rotation])
        rotation, origin = vec.transposed(columns), pose.origin
        if body.parent >= 0:
            above, base = world[body.parent]
            rotation = vec.product(above, rotation)
            origin = vec.add(base, vec.times(above, origin))
        world.append((rotation, origin))
    return world


def frame_pose(
    frame: Frame, world: Sequence[tuple[vec.Matrix3, vec.Vector3]]
) -> tuple[vec.Matrix3, vec.Vector3]:
    """Return rotation (3, 3) and origin (3,) of a body-fixed frame in the base frame."""
    if frame.body < 0:
        return frame.rotation.tolist(), frame.translation.tolist()
    rotation, origin = world[frame.body]
    turned = vec.product(rotation, frame.rotation.tolist())
    return turned, vec.add(origin, vec.times(rotation, frame.translation.tolist()))


def jacobian(
    bodies: Sequence[Body], frame: Frame, world: Sequence[tuple[vec.Matrix3, vec.Vector3]]
) -> list[list[Any]]:
    """Return the geometric Jacobian (6, n) of a frame: linear, then angular, base frame."""
    point = frame_pose(frame, world)[1]
    columns = [[0.0] * 6 for _ in bodies]
    i = frame.body
    while i >= 0:
        rotation, origin = world[i]
        axis = [row[2] for row in rotation]
        if bodies[i].prismatic:
            columns[i] = [*axis, 0.0, 0.0, 0.0]
        else:
            columns[i] = [*vec.cross(axis, vec.subtract(point, origin)), *axis]
        i = bodies[i].parent
    return [list(row) for row in zip(*columns, strict=True)]


class Rigid(NamedTuple):
    """The ten inertial parameters of a rigid body, about its origin and in its axes.

    Attributes:
        mass: Mass, kg.
        moment: First moment of mass (3,): mass times the position of the centre of mass, kg m.
        inertia: Symmetric inertia matrix (3, 3) about the origin, kg m^2.
    """

    mass: Any
    moment: vec.Vector3
    inertia: vec.Matrix3

    @classmethod
    def of_numbers(cls, numbers: Sequence[Any]) -> Rigid:
        """Create a body from ten numbers: mass, moment, ixx, iyy, izz, ixy, ixz, iyz."""
        xx, yy, zz, xy, xz, yz = numbers[4:]
        return cls(numbers[0], list(numbers[1:4]), [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def numbers(self) -> list[Any]:
        """The parameters as a list in the order of `of_numbers`."""
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self.inertia
        return [self.mass, *self.moment, xx, yy, zz, xy, xz, yz]

    def plus(self, body: Rigid) -> Rigid:
        """Return the parameters of both bodies as one rigid body."""
        return Rigid(
            self.mass + body.mass,
            vec.add(self.moment, body.moment),
            vec.add_matrices(self.inertia, body.inertia),
        )

    def seen_from(self, pose: JointPose) -> Rigid:
        """Return the parameters in the parent's axes, about the parent's origin."""
        moment = pose.to_parent(self.moment)
        inertia = pose.turn_symmetric(self.inertia)
        return Rigid(self.mass, moment, inertia).moved(pose.origin)

    def moved(self, origin: Sequence[Any]) -> Rigid:
        """Return the parameters about a point; the body's origin is at `origin` relative to it."""
        mass, moment, inertia = self
        twice = [2.0 * h + mass * p for h, p in zip(moment, origin, strict=True)]
        across = vec.dot(origin, twice)
        shifted = [
            [
                inertia[i][j]
                + (across if i == j else 0.0)
                - 0.5 * (origin[i] * twice[j] + origin[j] * twice[i])
                for j in range(3)
            ]
            for i in range(3)
        ]
        return Rigid(mass, vec.add(moment, vec.scale(mass, origin)), vec.mirrored(shifted))

    def column(self, prismatic: bool) -> tuple[vec.Vector3, vec.Vector3]:
        """Return moment and force for a unit acceleration of the joint along or about z."""
        h, zero = self.moment, 0.0 * self.moment[0]
        if prismatic:
            return [h[1], -h[0], zero], [zero, zero, zero + self.mass]
        return [zero + row[2] for row in self.inertia], [zero - h[1], zero + h[0], zero]


def rigid_bodies(bodies: Sequence[Body]) -> list[Rigid]:
    """Return the inertial parameters of the bodies as floats."""
    rigid = []
    for body in bodies:
        lever: Vector = np.array(vec.skew(body.com.tolist()))
        about_origin = body.inertia - body.mass * lever @ lever
        moment = body.mass * body.com
        rigid.append(Rigid(body.mass, moment.tolist(), about_origin.tolist()))
    return rigid


class Articulated:
    """An articulated-body inertia at a body's origin, as blocks.

    The blocks are angular (symmetric), coupling and linear: moment = angular @ alpha + coupling @
    a and force = coupling^T @ alpha + linear @ a.
    """

    def __init__(self, angular: vec.Matrix3, coupling: vec.Matrix3, linear: vec.Matrix3):
        """Initialize with the three blocks, each (3, 3)."""
        self.angular, self.coupling, self.linear = angular, coupling, linear

    @classmethod
    def of(cls, rigid: Rigid, zero: Any) -> Articulated:
        """Create the inertia of a rigid body; `zero` is the zero of the scalar type."""
        unit = [[float(i == j) for j in range(3)] for i in range(3)]
        linear = [vec.scale(zero + rigid.mass, row) for row in unit]
        coupling = vec.skew([zero + h for h in rigid.moment])
        return cls([[zero + x for x in row] for row in rigid.inertia], coupling, linear)

    def column(self, prismatic: bool) -> tuple[vec.Vector3, vec.Vector3]:
        """Return moment and force for a unit acceleration of the joint along or about z."""
        if prismatic:
            return [row[2] for row in self.coupling], [row[2] for row in self.linear]
        return [row[2] for row in self.angular], list(self.coupling[2])

    def plus(self, inertia: Articulated) -> Articulated:
        """Return the sum of both inertias."""
        return Articulated(
            vec.add_matrices(self.angular, inertia.angular),
            vec.add_matrices(self.coupling, inertia.coupling),
            vec.add_matrices(self.linear, inertia.linear),
        )

    def without(self, moment, force, inverse, prismatic: bool, armature: float) -> Articulated:
        """Return the inertia across a free joint, self - (m, f)(m, f)^T * inverse.

        m and f are `moment` and `force`, for a unit acceleration of the joint.
        """
        moment_scaled, force_scaled = vec.scale(inverse, moment), vec.scale(inverse, force)
        if armature == 0.0:
            (force_scaled if prismatic else moment_scaled)[2] = 1.0
        return Articulated(
            [
                [self.angular[i][j] - _symmetric(moment, moment_scaled, i, j) for j in range(3)]
                for i in range(3)
            ],
            [
                [
                    self.coupling[i][j]
                    - (
                        moment_scaled[i] * force[j]
                        if not prismatic
                        else moment[i] * force_scaled[j]
                    )
                    for j in range(3)
                ]
                for i in range(3)
            ],
            [
                [self.linear[i][j] - _symmetric(force, force_scaled, i, j) for j in range(3)]
                for i in range(3)
            ],
        )

    def seen_from(self, pose: JointPose) -> Articulated:
        """Return the inertia in the parent's axes, at the parent's origin."""
        angular = pose.turn_symmetric(self.angular)
        coupling = pose.turn(self.coupling)
        linear = pose.turn_symmetric(self.linear)
        lever = vec.skew(pose.origin)
        moved = vec.product(lever, linear)
        shift = vec.product(lever, vec.transposed(coupling))
        across = vec.add_matrices(coupling, moved)
        inward = vec.product(moved, lever)
        angular = [
            [angular[i][j] + shift[i][j] + shift[j][i] - inward[i][j] for j in range(3)]
            for i in range(3)
        ]
        return Articulated(vec.mirrored(angular), across, linear)


def _symmetric(a, b, i: int, j: int) -> Any:
    """Return a_i b_j for parallel a and b, computed identically for (i, j) and (j, i)."""
    low, high = min(i, j), max(i, j)
    return a[low] * b[high]


def with_base_parameters(bodies: Sequence[Body], rigid: Sequence[Rigid]) -> list[Rigid]:
    """Return the base parameters of the bodies as floats, base to tips.

    Parameters that would be added to the base are dropped. They only add a constant to the
    potential energy.
    """
    return [_without_noise(body) for body in base_parameters(bodies, rigid)]


def base_parameters(bodies: Sequence[Body], rigid: Sequence[Rigid]) -> list[Rigid]:
    """Return the base parameters of the bodies, with rounding errors instead of exact zeros.

    The parameters may be numbers or arrays.
    """
    parameters = list(rigid)
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        parameters[i], shifted = _split(parameters[i], body.prismatic)
        if body.parent >= 0:
            pose = JointPose(body.rotation.tolist(), 1.0, 0.0, body.translation.tolist())
            parameters[body.parent] = parameters[body.parent].plus(shifted.seen_from(pose))
    return parameters


def base_parameter_mask(prismatic: bool) -> list[bool]:
    """Return a mask (10,) of the entries of `Rigid.numbers` that are base parameters of a body."""
    moments = [not prismatic, False, *[not prismatic] * 4]
    return [prismatic, True, True, prismatic, *moments]


def _split(rigid: Rigid, prismatic: bool) -> tuple[Rigid, Rigid]:
    """Split parameters into those that remain with the body and those added to its parent."""
    mass, moment, inertia = rigid
    zeros = [[0.0] * 3 for _ in range(3)]
    if prismatic:
        return Rigid(mass, moment, zeros), Rigid(0.0, [0.0] * 3, inertia)
    across = inertia[1][1]
    rest = [list(row) for row in inertia]
    rest[0][0] = rest[0][0] - across  # not in place: entries may be the caller's arrays
    rest[1][1] = 0.0
    shifted = [[across, 0.0, 0.0], [0.0, across, 0.0], [0.0, 0.0, 0.0]]
    return Rigid(0.0, [*moment[:2], 0.0], rest), Rigid(mass, [0.0, 0.0, moment[2]], shifted)


def _without_noise(rigid: Rigid) -> Rigid:
    """Return the parameters with rounding errors replaced by zeros."""
    inertia: Vector = np.array(rigid.inertia)
    moment: Vector = np.array(rigid.moment)
    inertia[np.abs(inertia) < 1e-15 * np.abs(inertia).max(initial=0.0)] = 0.0
    moment[np.abs(moment) < 1e-15 * np.abs(moment).max(initial=0.0)] = 0.0
    return Rigid(rigid.mass, moment.tolist(), inertia.tolist())
