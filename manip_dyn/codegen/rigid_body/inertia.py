"""Inertias over any scalar: of rigid bodies, by ten parameters, and of articulated ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.graph import vectors as vec
from manip_dyn.codegen.rigid_body.kinematics import JointPose
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Body


class Rigid(NamedTuple):
    """The ten inertial parameters of a rigid body, about its frame's origin, in its axes.

    Attributes:
        mass: kg.
        moment: First moment of mass, mass times the centre's position, (3,), kg m.
        inertia: About the origin, symmetric (3, 3), kg m^2.
    """

    mass: Any
    moment: vec.Vector3
    inertia: vec.Matrix3

    @classmethod
    def of_numbers(cls, numbers: Sequence[Any]) -> Rigid:
        """Return the body of ten numbers: mass, moment, ixx, iyy, izz, ixy, ixz, iyz."""
        xx, yy, zz, xy, xz, yz = numbers[4:]
        return cls(numbers[0], list(numbers[1:4]), [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def numbers(self) -> list[Any]:
        """The parameters in this order."""
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self.inertia
        return [self.mass, *self.moment, xx, yy, zz, xy, xz, yz]

    def plus(self, other: Rigid) -> Rigid:
        """Return both bodies as one."""
        return Rigid(
            self.mass + other.mass,
            vec.add(self.moment, other.moment),
            vec.add_matrices(self.inertia, other.inertia),
        )

    def seen_from(self, pose: JointPose) -> Rigid:
        """Return the body in the parent's axes, about the parent's origin."""
        moment = pose.to_parent(self.moment)
        inertia = pose.turn_symmetric(self.inertia)
        return Rigid(self.mass, moment, inertia).moved(pose.origin)

    def moved(self, origin: Sequence[Any]) -> Rigid:
        """Return the body about the point from which its origin is seen at `origin`."""
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
        """Return moment and force for a unit acceleration of the joint along z."""
        h, zero = self.moment, 0.0 * self.moment[0]
        if prismatic:
            return [h[1], -h[0], zero], [zero, zero, zero + self.mass]
        return [zero + row[2] for row in self.inertia], [zero - h[1], zero + h[0], zero]


def rigid_bodies(bodies: Sequence[Body]) -> list[Rigid]:
    """Return the bodies' inertial parameters as floats."""
    rigid = []
    for body in bodies:
        lever: Vector = np.array(vec.skew(body.com.tolist()))
        about_origin = body.inertia - body.mass * lever @ lever
        moment = body.mass * body.com
        rigid.append(Rigid(body.mass, moment.tolist(), about_origin.tolist()))
    return rigid


class Articulated:
    """A spatial inertia at a body's origin: blocks angular (symmetric), coupling, linear.

    moment = angular @ alpha + coupling @ a; force = coupling^T @ alpha + linear @ a.
    """

    def __init__(self, angular: vec.Matrix3, coupling: vec.Matrix3, linear: vec.Matrix3):
        """Take the three blocks, each (3, 3)."""
        self.angular, self.coupling, self.linear = angular, coupling, linear

    @classmethod
    def of(cls, rigid: Rigid, zero: Any) -> Articulated:
        """Return a rigid body's inertia; `zero` is the scalars' zero."""
        unit = [[float(i == j) for j in range(3)] for i in range(3)]
        linear = [vec.scale(zero + rigid.mass, row) for row in unit]
        coupling = vec.skew([zero + h for h in rigid.moment])
        return cls([[zero + x for x in row] for row in rigid.inertia], coupling, linear)

    def column(self, prismatic: bool) -> tuple[vec.Vector3, vec.Vector3]:
        """Return moment and force for a unit acceleration of the joint along z."""
        if prismatic:
            return [row[2] for row in self.coupling], [row[2] for row in self.linear]
        return [row[2] for row in self.angular], list(self.coupling[2])

    def plus(self, other: Articulated) -> Articulated:
        """Return the sum."""
        return Articulated(
            vec.add_matrices(self.angular, other.angular),
            vec.add_matrices(self.coupling, other.coupling),
            vec.add_matrices(self.linear, other.linear),
        )

    def without(self, moment, force, inverse, prismatic: bool, armature: float) -> Articulated:
        """Return what is left when the joint gives way: self - (m, f)(m, f)^T * inverse."""
        moment_share, force_share = vec.scale(inverse, moment), vec.scale(inverse, force)
        if armature == 0.0:
            (force_share if prismatic else moment_share)[2] = 1.0
        return Articulated(
            [
                [self.angular[i][j] - _symmetric(moment, moment_share, i, j) for j in range(3)]
                for i in range(3)
            ],
            [
                [
                    self.coupling[i][j]
                    - (moment_share[i] * force[j] if not prismatic else moment[i] * force_share[j])
                    for j in range(3)
                ]
                for i in range(3)
            ],
            [
                [self.linear[i][j] - _symmetric(force, force_share, i, j) for j in range(3)]
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


def _symmetric(a, share, i: int, j: int) -> Any:
    """Return a_i share_j by the same operation for (i, j) and (j, i)."""
    low, high = min(i, j), max(i, j)
    return a[low] * share[high]
