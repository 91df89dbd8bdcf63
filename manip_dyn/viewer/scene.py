"""Plain data of a view: figures, motions, curves, marks, and snapshots of running nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.deprecation import renamed_attribute

GROUND = -1
"""Index of the fixed body."""
Colour = tuple[int, int, int]
"""Red, green, blue, 0 to 255."""


class Part(NamedTuple):
    """A shape that moves with a body.

    Attributes:
        body: Index of the body, or `GROUND` for a fixed shape.
        kind: ``box``, ``cylinder`` about its z axis, ``sphere`` or ``mesh``.
        position: Position of the centre in body axes (3,), m.
        rotation: Rotation from the axes of the shape to body axes (3, 3).
        size: Sides of a box, two diameters and the length of a cylinder, three diameters of a
            sphere, or the scale of a mesh (3,).
        colour: Colour of the shape. None: the colour of the figure.
        opacity: Opacity from 0 (transparent) to 1 (opaque).
        file: Path of the mesh file.
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
    """A line between points of two bodies, for example a spring.

    Attributes:
        bodies: Indices of the bodies.
        points: End points in body axes (2, 3), m.
        colour: Colour of the line.
    """

    bodies: tuple[int, int]
    points: Matrix
    colour: Colour


class Poses(NamedTuple):
    """Poses of b bodies.

    Attributes:
        positions: Positions of the origins (b, 3), m.
        quaternions: Orientations (b, 4): w, x, y, z.
    """

    positions: Matrix
    quaternions: Matrix


class Coordinate(NamedTuple):
    """A coordinate with a slider, for example a joint position.

    Attributes:
        name: Name of the coordinate.
        low: Lower limit; -inf for no limit.
        high: Upper limit; inf for no limit.
        unit: Unit, rad or m.
    """

    name: str
    low: float
    high: float
    unit: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A robot or mechanism to draw.

    Attributes:
        name: Name of the figure.
        parts: Shapes of the figure.
        poses: Function that returns the poses of the bodies at coordinates (N,).
        reach: Largest distance from the origin, m.
        rods: Lines between the bodies.
        tool: Function that returns the pose of the tool at coordinates (N,): position (3,), m, and
            quaternion (4,): w, x, y, z; or None.
        joints: Coordinates, if they are independent.
    """

    name: str
    parts: tuple[Part, ...] = field(repr=False)
    poses: Callable[[Vector], Poses] = field(repr=False)
    reach: float
    rods: tuple[Rod, ...] = field(default=(), repr=False)
    tool: Callable[[Vector], tuple[Vector, Vector]] | None = field(default=None, repr=False)
    joints: tuple[Coordinate, ...] = field(default=(), repr=False)


class Curves(NamedTuple):
    """Curves of one quantity over time.

    Attributes:
        title: Quantity and unit.
        names: Names of the columns (n,).
        values: Values (k, n).
        low: Lower limits (n,); -inf for no limit.
        high: Upper limits (n,); inf for no limit.
        marked: Whether the columns of marks refer to these curves.
    """

    title: str
    names: tuple[str, ...]
    values: Matrix
    low: Vector
    high: Vector
    marked: bool = True


class Mark(NamedTuple):
    """An event or an interval of a motion.

    Attributes:
        begin: Start time, s.
        end: End time, s; equal to begin for an event.
        text: Description.
        curve: Column of the curves, or None for all columns.
    """

    begin: float
    end: float
    text: str
    curve: int | None = None


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion of a figure.

    Attributes:
        title: Title of the motion.
        figure: The figure that moves.
        t: Increasing times (k,), s.
        coordinates: Coordinates of the figure (k, N).
        curves: Plotted curves.
        marks: Events and intervals.
        trail: Path of the tool (m, 3), m; empty for no line.
        desired: Desired path of the tool (m, 3), m.
    """

    title: str
    figure: Figure
    t: Vector = field(repr=False)
    coordinates: Matrix = field(repr=False)
    curves: tuple[Curves, ...] = field(default=(), repr=False)
    marks: tuple[Mark, ...] = ()
    trail: Matrix = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    desired: Matrix = field(default_factory=lambda: np.zeros((0, 3)), repr=False)

    wanted = renamed_attribute("Motion.wanted", "desired")

    @property
    def end(self) -> float:
        """End time, s."""
        return float(self.t[-1])

    def at(self, t: float) -> Vector:
        """Return the coordinates (N,) at a time, s, interpolated linearly."""
        if len(self.t) == 1:
            return self.coordinates[0]
        index = int(np.clip(np.searchsorted(self.t, t, "right"), 1, len(self.t) - 1))
        before, after = self.t[index - 1], self.t[index]
        fraction = np.clip((t - before) / (after - before), 0.0, 1.0) if after > before else 1.0
        rows = self.coordinates
        return (1.0 - fraction) * rows[index - 1] + fraction * rows[index]


class Level(NamedTuple):
    """Diagnostic level of a node.

    Attributes:
        name: Name of the node.
        level: 0 for ok, 1 for a warning, 2 or more for an error.
        sentence: Message of the node.
    """

    name: str
    level: int
    sentence: str


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Current state of running nodes.

    Attributes:
        t: Time, s.
        coordinates: Coordinates of the figure (N,).
        values: Plotted values by title.
        lines: Points of lines by name, (m, 3), m.
        levels: Diagnostic levels of the nodes.
        tool: Target of the tool: position (3,), m, and quaternion (4,): w, x, y, z.
    """

    t: float
    coordinates: Vector
    values: Mapping[str, Vector] = field(default_factory=dict)
    lines: Mapping[str, Matrix] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()
    tool: tuple[Vector, Vector] | None = None


@dataclass(frozen=True, eq=False)
class Scope:
    """A rolling chart.

    Attributes:
        title: Quantity and unit.
        names: Names of the values (n,).
        low: Lower limits (n,); -inf for no limit.
        high: Upper limits (n,); inf for no limit.
    """

    title: str
    names: tuple[str, ...]
    low: Vector
    high: Vector


@dataclass(frozen=True, eq=False)
class Controls:
    """Commands to running nodes.

    Attributes:
        able: Returns the names of the following commands that have a subscriber or server.
        pause: Pauses or continues time.
        step: Advances time by one period.
        reset: Resets the nodes.
        target: Sends a target of the tool: position (3,), m, and quaternion (4,): w, x, y, z.
        goal: Sends a goal of the joints (n,) and a planning method.
        preview: Plans to a goal (n,) with a method; returns the path of the tool (m, 3), m, and a
            message, without moving the arm. May take seconds.
        abort: Stops the arm and holds it.
        push: Applies additional efforts (n,) for a duration, s.
        mass: Scales all masses of the robot description by a factor and returns a message. May
            take seconds.
        methods: Names of the planning methods.
        method: Returns the current method of the planner, or "" if unknown.
    """

    able: Callable[[], frozenset[str]]
    pause: Callable[[bool], None]
    step: Callable[[], None]
    reset: Callable[[], None]
    target: Callable[[Vector, Vector], None]
    goal: Callable[[str, Vector], None]
    preview: Callable[[str, Vector], tuple[Matrix, str]]
    abort: Callable[[], None]
    push: Callable[[Vector, float], None]
    mass: Callable[[float], str]
    methods: tuple[str, ...]
    method: Callable[[], str]
