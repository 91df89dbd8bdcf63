"""Data to display: figures, motions, curves, marks, and snapshots of running nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.deprecation import renamed_attribute
from manip_dyn.robot import Robot

GROUND = -1
"""Index of the fixed body."""
Colour = tuple[int, int, int]
"""Red, green and blue from 0 to 255."""


class Part(NamedTuple):
    """A shape that moves with a body.

    Attributes:
        body: Index of the body, or `GROUND` for a fixed shape.
        kind: ``box``, ``cylinder`` about its z axis, ``sphere`` or ``mesh``.
        position: Position (3,) of the centre, or of the mesh origin, in the frame of the body, m.
        rotation: Rotation matrix (3, 3) from the axes of the shape to body axes.
        size: Three numbers (3,): side lengths of a box, two diameters and the length of a
            cylinder, three diameters of a sphere (m), or the scale of a mesh.
        colour: Colour of the shape. None: colour of the mesh, or a default colour.
        opacity: Opacity from 0 (transparent) to 1 (opaque).
        file: Path of the mesh file.
        triangles: Vertices (m, 3), m, and indices of vertices (f, 3) of a mesh without a file.
    """

    body: int
    kind: str
    position: Vector
    rotation: Matrix
    size: Vector
    colour: Colour | None = None
    opacity: float = 1.0
    file: str = ""
    triangles: tuple[Matrix, Any] | None = None


class Closest(NamedTuple):
    """Nearest points of the closest pair of shapes.

    Attributes:
        points: The two points (2, 3) in the base frame, m.
        text: Names and distance of the pair.
        clear: Whether the shapes do not touch.
    """

    points: Matrix
    text: str
    clear: bool


class Rod(NamedTuple):
    """A line between points of two bodies, for example a spring.

    Attributes:
        bodies: Indices of the bodies.
        points: End points (2, 3) in the frames of the bodies, m.
        colour: Colour of the line.
    """

    bodies: tuple[int, int]
    points: Matrix
    colour: Colour


class Poses(NamedTuple):
    """Poses of b bodies.

    Attributes:
        positions: Positions (b, 3) of the body origins, m.
        quaternions: Orientations (b, 4) in the order w, x, y, z.
    """

    positions: Matrix
    quaternions: Matrix


class Coordinate(NamedTuple):
    """A coordinate with a slider, for example a joint position.

    Attributes:
        name: Name of the coordinate.
        low: Lower limit, or -inf.
        high: Upper limit, or inf.
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
        poses: Function that returns the poses of the bodies for coordinates (N,).
        reach: Approximate size of the figure, m, to which the camera and the grid are adapted.
        rods: Lines between the bodies.
        tool: Function that returns position (3,) in m and quaternion (4,) in the order w, x, y, z
            of the tool for coordinates (N,). None: no tool.
        joints: Names and limits of the coordinates, or () if they are not independent.
        notes: Remarks about the figure, such as missing mesh files.
    """

    name: str
    parts: tuple[Part, ...] = field(repr=False)
    poses: Callable[[Vector], Poses] = field(repr=False)
    reach: float
    rods: tuple[Rod, ...] = field(default=(), repr=False)
    tool: Callable[[Vector], tuple[Vector, Vector]] | None = field(default=None, repr=False)
    joints: tuple[Coordinate, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)


class Curves(NamedTuple):
    """Curves of one quantity over time.

    Attributes:
        title: Quantity and unit.
        names: Names of the n columns.
        values: Values (k, n).
        low: Lower limits (n,), or -inf.
        high: Upper limits (n,), or inf.
        marked: Whether to draw the marks of the motion on these curves.
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
        end: End time, s. Equal to `begin` for an event.
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
        t: Times (k,) in seconds, non-decreasing.
        coordinates: Coordinates (k, N) of the figure.
        curves: Plotted curves.
        marks: Events and intervals.
        trail: Path of the tool (m, 3) in m. Empty: not drawn.
        desired: Desired path of the tool (m, 3) in m. Empty: not drawn.
        robot: The robot that moves. None for mechanisms.
    """

    title: str
    figure: Figure
    t: Vector = field(repr=False)
    coordinates: Matrix = field(repr=False)
    curves: tuple[Curves, ...] = field(default=(), repr=False)
    marks: tuple[Mark, ...] = ()
    trail: Matrix = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    desired: Matrix = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    robot: Robot | None = field(default=None, repr=False)

    wanted = renamed_attribute("Motion.wanted", "desired")

    @property
    def end(self) -> float:
        """End time, s."""
        return float(self.t[-1])

    def at(self, t: float) -> Vector:
        """Return the coordinates (N,) at the time `t` (s) by linear interpolation.

        Before the start and after the end, the first and the last coordinates are returned.
        """
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
        coordinates: Coordinates (N,) of the figure.
        values: Plotted values by title of the chart.
        lines: Points (m, 3) in m of each line by name.
        levels: Diagnostic levels of the nodes.
        tool: Target of the tool: position (3,) in m, quaternion (4,) in the order w, x, y, z.
            None: no target.
        obstacles: Objects around the robot, with the coordinates of the robot. None: no scene.
        closest: The closest pair. None: unknown.
    """

    t: float
    coordinates: Vector
    values: Mapping[str, Vector] = field(default_factory=dict)
    lines: Mapping[str, Matrix] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()
    tool: tuple[Vector, Vector] | None = None
    obstacles: Figure | None = None
    closest: Closest | None = None


@dataclass(frozen=True, eq=False)
class Scope:
    """Description of a rolling chart.

    Attributes:
        title: Quantity and unit.
        names: Names of the n values.
        low: Lower limits (n,), or -inf.
        high: Upper limits (n,), or inf.
    """

    title: str
    names: tuple[str, ...]
    low: Vector
    high: Vector


@dataclass(frozen=True, eq=False)
class Controls:
    """Commands to running nodes.

    Attributes:
        able: Returns the names of the commands below that a running node accepts.
        pause: Pauses time (True) or continues it (False).
        step: Advances time by one period.
        reset: Resets the nodes.
        target: Sends a target of the tool: position (3,) in m, quaternion (4,) as w, x, y, z.
        goal: Sends a planning method and a goal (n,) of the joints.
        preview: Plans a motion to a goal (n,) with a method, without moving the arm. Returns the
            path of the tool (m, 3) in m and a message. May take seconds.
        abort: Stops the arm and holds it.
        push: Applies additional efforts (n,) for a duration (s).
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
