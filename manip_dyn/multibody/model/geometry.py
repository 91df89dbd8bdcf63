"""Geometry of a moving mechanism: body poses, joint coordinates, and shapes for viewers.

A body is drawn as the homogeneous box of its mass and inertia. The wheel of a tyre rotates about
the axis of its body's largest moment of inertia. Springs and rods are lines.
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
    """Rotations (rad) and displacements (m) of the joints with one freedom; zero at assembly.

    Attributes:
        names: Names of the revolute and translational joints.
    """

    def __init__(self, mechanism: Mechanism):
        """Keep what is fixed to the bodies of each joint."""
        self._mechanism = mechanism
        self._joints = [joint for joint in mechanism.joints if JOINTS[joint.kind].coordinate]
        self.names = [joint.name for joint in self._joints]
        names = [body.name for body in mechanism.bodies]
        self._places = [
            [-1 if each == GROUND else names.index(each) for each in joint.bodies]
            for joint in self._joints
        ]
        still = np.zeros(mechanism.size)
        self._fixed = [
            self._fixed_to(joint.axis[0], joint.points, pair, still)
            for joint, pair in zip(self._joints, self._places, strict=True)
        ]

    def __call__(self, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return the coordinates (k,) and their rates (k,) at q, v (N,)."""
        found = [
            _rotation_angle(self._frames(pair, q, v), *fixed)
            if joint.kind == "revolute"
            else _joint_displacement(self._frames(pair, q, v), *fixed)
            for joint, pair, fixed in zip(self._joints, self._places, self._fixed, strict=True)
        ]
        return np.array([each[0] for each in found]), np.array([each[1] for each in found])

    def _fixed_to(
        self, axis: Vector, points: Vector, pair: Sequence[int], still: Vector
    ) -> tuple[Vector, Vector]:
        """Return columns f, g, h of the axis' frame and a point, in each body's axes."""
        frames = self._frames(pair, self._mechanism.assembly, still)
        frame = np.column_stack([*perpendicular_axes(axis), axis])
        directions = np.array([turn.T @ frame for _, turn, _, _ in frames])
        local = [
            turn.T @ (p - place) for p, (place, turn, _, _) in zip(points, frames, strict=True)
        ]
        return directions, np.array(local)

    def _frames(self, pair: Sequence[int], q: Vector, v: Vector) -> list[tuple]:
        """Return position, rotation, velocity, angular velocity of two bodies, global."""
        found = []
        for place in pair:
            if place < 0:
                found.append((np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)))
                continue
            x, rate = q[7 * place : 7 * place + 7], v[7 * place : 7 * place + 7]
            turn: Vector = np.array(rotation(x[3:].tolist()))
            omega = turn @ np.array(body_angular_velocity(x[3:].tolist(), rate[3:].tolist()))
            found.append((x[:3], turn, rate[:3], omega))
        return found


def _rotation_angle(
    frames: list[tuple], directions: Vector, _points: Vector
) -> tuple[float, float]:
    (_, turn_i, _, omega_i), (_, turn_j, _, omega_j) = frames
    f, g, h = (turn_i @ directions[0]).T
    moved = turn_j @ directions[1][:, 0]
    return float(np.arctan2(g @ moved, f @ moved)), float(h @ (omega_j - omega_i))


def _joint_displacement(
    frames: list[tuple], directions: Vector, points: Vector
) -> tuple[float, float]:
    (p_i, turn_i, v_i, omega_i), (p_j, turn_j, v_j, omega_j) = frames
    arms = turn_i @ points[0], turn_j @ points[1]
    h = turn_i @ directions[0][:, 2]
    displacement = p_j + arms[1] - p_i - arms[0]
    rate = v_j + np.cross(omega_j, arms[1]) - v_i - np.cross(omega_i, arms[0])
    return float(h @ displacement), float(h @ rate + np.cross(omega_i, h) @ displacement)


THINNEST = 0.02
"""Smallest side of a box as a share of its longest."""
WHEEL_WIDTH = 0.6
"""As a share of the wheel's radius."""


class Shape(NamedTuple):
    """A box, or a cylinder about its z axis, that moves with a body.

    Attributes:
        name: Of the body.
        kind: ``box`` or ``cylinder``.
        body: Place of the body in the mechanism.
        position: Of the middle in body axes (3,), m.
        rotation: From the shape's axes to the body's (3, 3).
        size: Sides, or two diameters and the length (3,), m.
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
        name: What it is.
        kind: ``spring`` or ``rod``.
        bodies: Places of the bodies; -1 for the ground.
        points: In the bodies' axes (2, 3), m.
    """

    name: str
    kind: str
    bodies: tuple[int, int]
    points: Matrix


def shapes(mechanism: Mechanism) -> list[Shape]:
    """Return a box for each body and a cylinder for each wheel."""
    names = [body.name for body in mechanism.bodies]
    boxes = [_box(place, body) for place, body in enumerate(mechanism.bodies)]
    tyres = [each for each in mechanism.forces if isinstance(each, Tyre)]
    wheels = [
        _wheel(names.index(each.body), each, mechanism.bodies[names.index(each.body)])
        for each in tyres
    ]
    return boxes + wheels


def lines(mechanism: Mechanism) -> list[Line]:
    """Return a line for each spring and for each distance that a joint keeps."""
    springs = [each for each in mechanism.forces if isinstance(each, Spring)]
    rods = [each for each in mechanism.joints if each.kind == "distance"]
    links: list[Spring | Joint] = [*springs, *rods]
    return [_line(mechanism, each) for each in links]


def bumps(mechanism: Mechanism, q: Vector, t: float) -> list[tuple[Vector, float]]:
    """Return where the half-cylinders on the road are (3,), m, with their radii, at a time.

    Wheels that do not drive are met by them; their axes are those of the wheels, along y.
    """
    names = [body.name for body in mechanism.bodies]
    found = []
    for each in mechanism.forces:
        if isinstance(each, Tyre) and each.switches:
            travel = (t - 0.5 * sum(each.switches)) * each.speed
            wheel = q[7 * names.index(each.body) : 7 * names.index(each.body) + 2]
            found.append((np.array([wheel[0] - travel, wheel[1], 0.0]), each.bump))
    return found


def _box(place: int, body: MovingBody) -> Shape:
    xx, yy, zz, xy, xz, yz = body.inertia
    moments, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    squares = 6.0 * (moments.sum() - 2.0 * moments) / body.mass
    sides = np.sqrt(np.maximum(squares, 0.0))
    sides = np.maximum(sides, THINNEST * sides.max())
    return Shape(body.name, "box", place, np.zeros(3), axes, sides)


def _wheel(place: int, tyre: Tyre, body: MovingBody) -> Shape:
    box = _box(place, body)
    diameter = 2.0 * tyre.radius
    size = np.array([diameter, diameter, WHEEL_WIDTH * tyre.radius])
    middle = body.rotation.T @ (tyre.point - body.position)
    # The moments rise: the last axis is that of the largest one.
    return Shape(body.name, "cylinder", place, middle, box.rotation, size)


def _line(mechanism: Mechanism, link: Spring | Joint) -> Line:
    names = [body.name for body in mechanism.bodies]
    places = [-1 if name == GROUND else names.index(name) for name in link.bodies]
    points = [
        point if place < 0 else _inside(mechanism.bodies[place], point)
        for place, point in zip(places, link.points, strict=True)
    ]
    kind = "spring" if isinstance(link, Spring) else "rod"
    return Line(f"{kind} {'-'.join(link.bodies)}", kind, (places[0], places[1]), np.array(points))


def _inside(body: MovingBody, point: Vector) -> Vector:
    return body.rotation.T @ (point - body.position)
