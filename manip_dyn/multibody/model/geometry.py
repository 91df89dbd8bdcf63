"""Geometry of a moving mechanism: body poses, joint coordinates, and shapes for viewers.

A body is drawn as the homogeneous box with its mass and inertia. The wheel of a tyre rotates about
the axis of the body's largest moment of inertia. Springs and rods are lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.multibody.equations.primitives import body_angular_velocity, rotation
from manip_dyn.multibody.model.elements import GROUND, JOINTS, Joint, MovingBody, Spring, Tyre
from manip_dyn.multibody.model.mechanism import Mechanism, perpendicular_axes


def body_poses(mechanism: Mechanism, q: Vector) -> tuple[Vector, Vector]:
    """Return the centres of mass (b, 3), m, and Euler parameters (b, 4), scalar first."""
    rows = np.reshape(q, (len(mechanism.bodies), 7))
    return rows[:, :3], rows[:, 3:]


class JointCoordinates:
    """Rotations (rad) and displacements (m) of single-coordinate joints, zero at assembly.

    Attributes:
        names: Names of the revolute and translational joints.
    """

    def __init__(self, mechanism: Mechanism):
        """Compute the axes and points of each joint in the axes of its bodies."""
        self._mechanism = mechanism
        self._joints = [joint for joint in mechanism.joints if JOINTS[joint.kind].coordinate]
        self.names = [joint.name for joint in self._joints]
        names = [body.name for body in mechanism.bodies]
        self._pairs = [
            [-1 if name == GROUND else names.index(name) for name in joint.bodies]
            for joint in self._joints
        ]
        rest = np.zeros(mechanism.size)
        self._fixed = [
            self._fixed_to(joint.axis[0], joint.points, pair, rest)
            for joint, pair in zip(self._joints, self._pairs, strict=True)
        ]

    def __call__(self, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return the joint coordinates (k,) and their rates (k,) at q, v (N,)."""
        coordinates = [
            _rotation_angle(self._frames(pair, q, v), *fixed)
            if joint.kind == "revolute"
            else _joint_displacement(self._frames(pair, q, v), *fixed)
            for joint, pair, fixed in zip(self._joints, self._pairs, self._fixed, strict=True)
        ]
        positions, rates = (np.array([pair[k] for pair in coordinates]) for k in range(2))
        return positions, rates

    def _fixed_to(
        self, axis: Vector, points: Vector, pair: Sequence[int], rates: Vector
    ) -> tuple[Vector, Vector]:
        """Return joint axes f, g, h as columns (2, 3, 3) and points (2, 3) in body axes."""
        frames = self._frames(pair, self._mechanism.assembly, rates)
        frame = np.column_stack([*perpendicular_axes(axis), axis])
        directions = np.array([rotation.T @ frame for _, rotation, _, _ in frames])
        local = [
            rotation.T @ (point - centre)
            for point, (centre, rotation, _, _) in zip(points, frames, strict=True)
        ]
        return directions, np.array(local)

    def _frames(self, pair: Sequence[int], q: Vector, v: Vector) -> list[tuple]:
        """Return position, rotation, velocity and angular velocity of two bodies (global axes)."""
        frames: list[tuple] = []
        for body in pair:
            if body < 0:
                frames.append((np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)))
                continue
            x, rate = q[7 * body : 7 * body + 7], v[7 * body : 7 * body + 7]
            matrix: Vector = np.array(rotation(x[3:].tolist()))
            omega = matrix @ np.array(body_angular_velocity(x[3:].tolist(), rate[3:].tolist()))
            frames.append((x[:3], matrix, rate[:3], omega))
        return frames


def _rotation_angle(
    frames: list[tuple], directions: Vector, _points: Vector
) -> tuple[float, float]:
    (_, rotation_i, _, omega_i), (_, rotation_j, _, omega_j) = frames
    f, g, h = (rotation_i @ directions[0]).T
    f_j = rotation_j @ directions[1][:, 0]
    return float(np.arctan2(g @ f_j, f @ f_j)), float(h @ (omega_j - omega_i))


def _joint_displacement(
    frames: list[tuple], directions: Vector, points: Vector
) -> tuple[float, float]:
    (p_i, rotation_i, v_i, omega_i), (p_j, rotation_j, v_j, omega_j) = frames
    arms = rotation_i @ points[0], rotation_j @ points[1]
    h = rotation_i @ directions[0][:, 2]
    displacement = p_j + arms[1] - p_i - arms[0]
    rate = v_j + np.cross(omega_j, arms[1]) - v_i - np.cross(omega_i, arms[0])
    return float(h @ displacement), float(h @ rate + np.cross(omega_i, h) @ displacement)


THINNEST = 0.02
"""Shortest side of a box as a fraction of the longest one."""
WHEEL_WIDTH = 0.6
"""Width of a wheel as a fraction of its radius."""


class Shape(NamedTuple):
    """A box, or a cylinder about its z axis, that is attached to a body.

    Attributes:
        name: Name of the body.
        kind: ``box`` or ``cylinder``.
        body: Index of the body in the mechanism.
        position: Centre (3,) of the shape in body axes, m.
        rotation: Rotation matrix (3, 3) from the axes of the shape to body axes.
        size: Sides (3,) of a box, or two diameters and the length of a cylinder, m.
    """

    name: str
    kind: str
    body: int
    position: Vector
    rotation: Matrix
    size: Vector


class Line(NamedTuple):
    """A line between points of two bodies.

    Attributes:
        name: Kind and names of the bodies.
        kind: ``spring`` or ``rod``.
        bodies: Indices of the bodies; -1 for the ground.
        points: Points (2, 3), one of each body, in body axes, m.
    """

    name: str
    kind: str
    bodies: tuple[int, int]
    points: Matrix


def shapes(mechanism: Mechanism) -> list[Shape]:
    """Return a box for each body and a cylinder for each wheel."""
    names = [body.name for body in mechanism.bodies]
    boxes = [_box(index, body) for index, body in enumerate(mechanism.bodies)]
    tyres = [force for force in mechanism.forces if isinstance(force, Tyre)]
    wheels = [
        _wheel(names.index(tyre.body), tyre, mechanism.bodies[names.index(tyre.body)])
        for tyre in tyres
    ]
    return boxes + wheels


def lines(mechanism: Mechanism) -> list[Line]:
    """Return a line for each spring and for each distance joint."""
    springs = [force for force in mechanism.forces if isinstance(force, Spring)]
    rods = [joint for joint in mechanism.joints if joint.kind == "distance"]
    links: list[Spring | Joint] = [*springs, *rods]
    return [_line(mechanism, link) for link in links]


def bumps(mechanism: Mechanism, q: Vector, t: float) -> list[tuple[Vector, float]]:
    """Return positions (3,), m, and radii, m, of the half-cylinders on the road at time `t` (s).

    They move towards the wheels, which do not drive forward. Their axes are parallel to y.
    """
    names = [body.name for body in mechanism.bodies]
    half_cylinders = []
    for force in mechanism.forces:
        if isinstance(force, Tyre) and force.switches:
            travel = (t - 0.5 * sum(force.switches)) * force.speed
            wheel = q[7 * names.index(force.body) : 7 * names.index(force.body) + 2]
            position = np.array([wheel[0] - travel, wheel[1], 0.0])
            half_cylinders.append((position, force.bump))
    return half_cylinders


def _box(index: int, body: MovingBody) -> Shape:
    xx, yy, zz, xy, xz, yz = body.inertia
    moments, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    squares = 6.0 * (moments.sum() - 2.0 * moments) / body.mass
    sides = np.sqrt(np.maximum(squares, 0.0))
    sides = np.maximum(sides, THINNEST * sides.max())
    return Shape(body.name, "box", index, np.zeros(3), axes, sides)


def _wheel(index: int, tyre: Tyre, body: MovingBody) -> Shape:
    box = _box(index, body)
    diameter = 2.0 * tyre.radius
    size = np.array([diameter, diameter, WHEEL_WIDTH * tyre.radius])
    middle = body.rotation.T @ (tyre.point - body.position)
    # The moments are sorted, so the last axis has the largest moment.
    return Shape(body.name, "cylinder", index, middle, box.rotation, size)


def _line(mechanism: Mechanism, link: Spring | Joint) -> Line:
    names = [body.name for body in mechanism.bodies]
    indices = [-1 if name == GROUND else names.index(name) for name in link.bodies]
    points = [
        point if index < 0 else _in_body_axes(mechanism.bodies[index], point)
        for index, point in zip(indices, link.points, strict=True)
    ]
    kind = "spring" if isinstance(link, Spring) else "rod"
    return Line(
        f"{kind} {'-'.join(link.bodies)}", kind, (indices[0], indices[1]), np.array(points)
    )


def _in_body_axes(body: MovingBody, point: Vector) -> Vector:
    return body.rotation.T @ (point - body.position)
