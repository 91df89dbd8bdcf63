"""Robot parameters, spatial vectors and scratch memory for `long_chain_dynamics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.codegen.rigid_body.bodies import rigid_bodies
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.robot import Robot


@inlined(counted=False)
def cross(a, b):
    """Return the vector product a x b of triples."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inlined(counted=False)
def added(a, b):
    """Return the sum a + b of triples."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined(counted=False)
def scaled(x, a):
    """Return the product of a number and a triple."""
    return x * a[0], x * a[1], x * a[2]


@inlined(counted=False)
def dot(a, b):
    """Return the inner product of triples."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined(counted=False)
def three(row, first):
    """Return three entries of an array with one axis."""
    return row[first], row[first + 1], row[first + 2]


@inlined(counted=False)
def times(matrix, a):
    """Return a matrix (3, 3) times a triple."""
    return dot(matrix[0], a), dot(matrix[1], a), dot(matrix[2], a)


@inlined(counted=False)
def transposed_times(matrix, a):
    """Return a transposed matrix (3, 3) times a triple."""
    return (
        matrix[0, 0] * a[0] + matrix[1, 0] * a[1] + matrix[2, 0] * a[2],
        matrix[0, 1] * a[0] + matrix[1, 1] * a[1] + matrix[2, 1] * a[2],
        matrix[0, 2] * a[0] + matrix[1, 2] * a[1] + matrix[2, 2] * a[2],
    )


@inlined(counted=False)
def less_trace(matrix, turned, a):
    """Return tr(A) a - A a from A and `turned` = A a."""
    trace = matrix[0, 0] + matrix[1, 1] + matrix[2, 2]
    return trace * a[0] - turned[0], trace * a[1] - turned[1], trace * a[2] - turned[2]


@inlined(counted=False)
def column(columns, i):
    """Return column i, a spatial vector, as two triples."""
    return (columns[0, i], columns[1, i], columns[2, i]), (
        columns[3, i],
        columns[4, i],
        columns[5, i],
    )


@inlined(counted=False)
def keep(columns, i, angular, linear):
    """Set column i, a spatial vector, from two triples."""
    columns[0, i], columns[1, i], columns[2, i] = angular
    columns[3, i], columns[4, i], columns[5, i] = linear


@inlined(counted=False)
def crossed(a, b):
    """Return the rate of a motion b that is fixed in a frame with motion a (pairs of triples)."""
    return cross(a[0], b[0]), added(cross(a[0], b[1]), cross(a[1], b[0]))


@inlined(counted=False)
def accelerated(mass, moment, spread, motion):
    """Return the moment and force that accelerate a resting body by `motion` (two triples)."""
    angular, linear = motion
    h = three(moment, 0)
    inertial = less_trace(spread, times(spread, angular), angular)
    return added(inertial, cross(h, linear)), added(scaled(mass, linear), cross(angular, h))


class Tree(NamedTuple):
    """The parameters of a robot with n joints; the descendants of a joint follow it directly.

    Attributes:
        parent: Index (n,) of each joint's parent; -1 for joints at the base.
        related: Matrix (n, n): 1 for a joint and itself, an ancestor or a descendant, else 0.
        prismatic: Mask (n,): 1 for prismatic joints, 0 for revolute ones.
        rotation: Rotation matrices (n, 3, 3) of the bodies in their parents' axes at q = 0.
        translation: Origins (n, 3) of the bodies in their parents' axes at q = 0, m.
        mass: Masses (n,), kg.
        moment: First moments of mass (n, 3) about the body origins, in body axes, kg m.
        spread: Second moments of mass (n, 3, 3), sum(m r r^T), in body axes, kg m^2.
        gravity: Gravity (3,) in base axes, m/s^2.
        armature: Rotor inertias (n,), kg m^2 or kg.
        damping: Viscous damping (n,), N m s/rad or N s/m.
        stiffness: Stiffness (n,) of the springs, N m/rad or N/m.
        rest: Rest positions (n,) of the springs, rad or m.
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


def tree_of(robot: Robot) -> Tree:
    """Return the parameters of a robot as arrays."""
    bodies, rigid = robot.bodies, rigid_bodies(robot.bodies)
    inertias: Vector = np.array([body.inertia for body in rigid])
    traces = np.trace(inertias, axis1=1, axis2=2)
    parents = [body.parent for body in bodies]
    return Tree(
        parent=np.array(parents),
        related=_related(parents),
        prismatic=np.array([int(body.prismatic) for body in bodies]),
        rotation=np.array([body.rotation for body in bodies]),
        translation=np.array([body.translation for body in bodies]),
        mass=np.array([body.mass for body in rigid]),
        moment=np.array([body.moment for body in rigid]),
        spread=0.5 * traces[:, None, None] * np.eye(3) - inertias,
        gravity=np.array(robot.gravity),
        armature=np.array(robot.armature),
        damping=np.array(robot.damping),
        stiffness=np.array(robot.stiffness),
        rest=np.array(robot.rest),
    )


def _related(parents: Sequence[int]) -> Vector:
    """Return the matrix `Tree.related` (n, n)."""
    related = np.eye(len(parents))
    for joint in range(len(parents)):
        above = parents[joint]
        while above >= 0:
            related[joint, above] = related[above, joint] = 1.0
            above = parents[above]
    return related


class Workspace(NamedTuple):
    """Quantities of the bodies in one state, about the base origin and in base axes.

    Rows of n numbers are padded to `width`, a multiple of `LANES`. A composite body is a body with
    all its descendants. u is the velocity of a particle of mass m at r.

    Attributes:
        rotation: Axes of the bodies (n, 3, 3).
        origin: Origins of the bodies (n, 3), m.
        velocity: Spatial velocities (n, 6).
        acceleration: Spatial accelerations, minus gravity (n, 6).
        moment: First moments of single bodies (n, 3).
        spread: Second moments sum(m r r^T) of single bodies (n, 3, 3).
        force: Spatial forces on the composite bodies, moments first (n, 6).
        composite_mass: Masses of the composite bodies (n,).
        composite_moment: First moments of the composite bodies (n, 3).
        composite_spread: Second moments of the composite bodies (n, 3, 3).
        momentum: 2 sum(m u) of the composite bodies (n, 3).
        flow: 2 sum(m u r^T) of the composite bodies (n, 3, 3).
        axis: Motions of the joints at unit velocity (6, width).
        rate: First rates of the axes, which move with the parents (6, width).
        second_rate: Second rates of the axes (6, width).
        weight: Forces for unit accelerations of the joints (6, width).
        by_position: Derivatives of the forces on the ancestors with respect to q (6, width).
        by_velocity: Derivatives of the forces on the ancestors with respect to v (6, width).
        turned: Efforts of the joint per angular motion of its ancestors (n, 3).
        factor: M, then D L, lower triangles (n, width).
        lower: -L below the diagonal, 1 / D on it (n, width).
        sides: Derivatives of the efforts with respect to q and to v, and for the forward dynamics
            the identity (n, 3 n padded); finally M^-1 times these matrices.
        inner: Row of the derivatives for the ancestors of the joint (width,).
        outer: Row of the derivatives for the joint and its descendants (width,).
        effort: Efforts of the joints (n,).
        joint_acceleration: Accelerations of the joints, initially zero (n,).
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
    """Return the length of a row of n numbers, padded to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@compiled(merge=True)
def workspace_size(n):
    """Return the number of entries of `memory` that `workspace` requires for n joints."""
    return 72 * n + (38 + 2 * n) * row_width(n) + n * row_width(3 * n)


@inlined(counted=False)
def clear(n, memory):
    """Zero the arrays that the loops accumulate or read before writing."""
    rows = memory[72 * n :]
    rows[: 38 * row_width(n)] = 0.0
    memory[71 * n : 72 * n] = 0.0


@inlined(counted=False)
def matrices_in(n, memory):
    """Return the results in the workspace: `factor`, `lower` and `sides`."""
    width, wide = row_width(n), row_width(3 * n)
    matrices = memory[72 * n + 38 * width :]
    factor = matrices[: n * width].reshape((n, width))
    lower = matrices[n * width : 2 * n * width].reshape((n, width))
    sides = matrices[2 * n * width : 2 * n * width + n * wide].reshape((n, wide))
    return factor, lower, sides


@inlined(counted=False)
def workspace(n, memory):
    """Return the workspace for n joints as views of `memory`."""
    width = row_width(n)
    rows = memory[72 * n :]
    factor, lower, sides = matrices_in(n, memory)
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
        factor=factor,
        lower=lower,
        sides=sides,
    )
