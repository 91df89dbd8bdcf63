"""What a mechanism looks like, from what is known of it: for RViz or any other viewer.

A body is the homogeneous box of its mass and inertia; a wheel under a tyre turns about the axis
of its body's largest moment of inertia; springs and rods are lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.multibody.model.elements import GROUND, Joint, MovingBody, Spring, Tyre
from manip_dyn.multibody.model.mechanism import Mechanism
from manip_dyn.validate import Vector

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
    rotation: Vector
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
    points: Vector


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
