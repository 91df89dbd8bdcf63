"""What moves and what it looks like, without any library that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from manip_dyn.core.checks import Matrix, Vector

GROUND = -1
"""The body that does not move."""
Colour = tuple[int, int, int]
"""Red, green, blue, 0 to 255."""


class Part(NamedTuple):
    """A shape that moves with a body.

    Attributes:
        body: Place of the body; `GROUND` for what stands still.
        kind: ``box``, ``cylinder`` about its z axis, ``sphere`` or ``mesh``.
        position: Of its middle in the body's axes (3,), m.
        rotation: From its axes to the body's (3, 3).
        size: Sides of a box; two diameters and the length of a cylinder; three diameters of a
            sphere; scale of a mesh, (3,).
        colour: Its own; None: that of the figure.
        opacity: 1: nothing is seen through it.
        file: Of a mesh.
    """

    body: int
    kind: str
    position: Vector
    rotation: Matrix
    size: Vector
    colour: Colour | None = None
    opacity: float = 1.0
    file: str = ""


class Rod(NamedTuple):
    """A line between points of two bodies, such as a spring.

    Attributes:
        bodies: Their places.
        points: In the bodies' axes (2, 3), m.
        colour: Its colour.
    """

    bodies: tuple[int, int]
    points: Matrix
    colour: Colour


class Poses(NamedTuple):
    """Where b bodies are.

    Attributes:
        positions: Of their origins (b, 3), m.
        quaternions: Their orientations (b, 4): w, x, y, z.
    """

    positions: Matrix
    quaternions: Matrix


class Coordinate(NamedTuple):
    """A coordinate that can be set by hand, such as a joint's position.

    Attributes:
        name: What it is called.
        low: Where it ends; -inf: nowhere.
        high: The same above.
        unit: rad or m.
    """

    name: str
    low: float
    high: float
    unit: str


@dataclass(frozen=True, eq=False)
class Figure:
    """Something that moves.

    Attributes:
        name: What it is called.
        parts: Its shapes.
        poses: Where its bodies are at coordinates (N,).
        reach: How far it reaches from its origin, m.
        rods: Lines between its bodies.
        tool: Where its tool is at coordinates (N,), as a position (3,), m, and a quaternion (4,):
            w, x, y, z; None if it has none.
        joints: Its coordinates (N,), where each can be set for itself.
    """

    name: str
    parts: tuple[Part, ...] = field(repr=False)
    poses: Callable[[Vector], Poses] = field(repr=False)
    reach: float
    rods: tuple[Rod, ...] = field(default=(), repr=False)
    tool: Callable[[Vector], tuple[Vector, Vector]] | None = field(default=None, repr=False)
    joints: tuple[Coordinate, ...] = field(default=(), repr=False)
