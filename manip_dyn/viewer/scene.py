"""Plain data of a view: figures, motions, curves, marks and snapshots of running nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

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


class Curves(NamedTuple):
    """Values over time, of one kind.

    Attributes:
        title: What they are, with the unit.
        names: Of each column (n,).
        values: (k, n).
        low: Lower limits (n,), -inf where there is none.
        high: Upper limits (n,).
        marked: Whether its columns are those that marks are told of.
    """

    title: str
    names: tuple[str, ...]
    values: Matrix
    low: Vector
    high: Vector
    marked: bool = True


class Mark(NamedTuple):
    """Something that happens at a time, or lasts.

    Attributes:
        begin: s.
        end: s; the same as begin for what has no duration.
        text: What happens.
        curve: Which column of the curves it belongs to; None: all.
    """

    begin: float
    end: float
    text: str
    curve: int | None = None


@dataclass(frozen=True, eq=False)
class Motion:
    """A figure that moves.

    Attributes:
        title: What is told beside it.
        figure: Who moves.
        t: Times that rise (k,), s.
        coordinates: Of the figure (k, N).
        curves: What is plotted.
        marks: What happens on the way.
        trail: Where the tool goes (m, 3), m; no rows: nothing is drawn.
        wanted: Where the tool is to go (m, 3), m.
    """

    title: str
    figure: Figure
    t: Vector = field(repr=False)
    coordinates: Matrix = field(repr=False)
    curves: tuple[Curves, ...] = field(default=(), repr=False)
    marks: tuple[Mark, ...] = ()
    trail: Matrix = field(default_factory=lambda: np.zeros((0, 3)), repr=False)
    wanted: Matrix = field(default_factory=lambda: np.zeros((0, 3)), repr=False)

    @property
    def end(self) -> float:
        """When it is over, s."""
        return float(self.t[-1])

    def at(self, t: float) -> Vector:
        """Return the coordinates (N,) at a time, s, on straight lines between the samples."""
        if len(self.t) == 1:
            return self.coordinates[0]
        place = int(np.clip(np.searchsorted(self.t, t, "right"), 1, len(self.t) - 1))
        before, after = self.t[place - 1], self.t[place]
        share = np.clip((t - before) / (after - before), 0.0, 1.0) if after > before else 1.0
        rows = self.coordinates
        return (1.0 - share) * rows[place - 1] + share * rows[place]


class Level(NamedTuple):
    """How somebody is.

    Attributes:
        name: Who.
        level: 0: well, 1: a warning, 2 or more: an error.
        sentence: Why.
    """

    name: str
    level: int
    sentence: str


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Something that runs, now.

    Attributes:
        t: Its time, s.
        coordinates: Of its figure (N,).
        values: What is plotted, by title.
        lines: What is drawn, by name: points (m, 3), m.
        levels: How its parts are.
        tool: Where its tool is sent: position (3,), m, and quaternion (4,): w, x, y, z.
    """

    t: float
    coordinates: Vector
    values: Mapping[str, Vector] = field(default_factory=dict)
    lines: Mapping[str, Matrix] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()
    tool: tuple[Vector, Vector] | None = None


@dataclass(frozen=True, eq=False)
class Scope:
    """What is plotted under a title.

    Attributes:
        title: What it is, with the unit.
        names: Of each value (n,).
        low: Lower limits (n,), -inf where there is none.
        high: Upper limits (n,).
    """

    title: str
    names: tuple[str, ...]
    low: Vector
    high: Vector


@dataclass(frozen=True, eq=False)
class Controls:
    """What can be told to something that runs.

    Attributes:
        able: Returns which of the following somebody listens to now, by their names here.
        pause: Lets time stand still, or go on.
        step: Lets it go on by one period.
        reset: Lets it begin anew.
        target: Sends the tool to a position (3,), m, and quaternion (4,): w, x, y, z.
        goal: Sends the joints to a goal (n,), planned by a method.
        preview: Plans to a goal (n,) by a method and returns where the tool would go (m, 3), m,
            and a sentence; it moves nothing, and takes its time.
        abort: Stops and holds.
        push: Pushes the joints with efforts (n,) for a time, s.
        mass: Makes all masses so many times those of the description, and returns a sentence; it
            takes its time.
        methods: How can be planned.
        method: Returns how would be planned if nobody chose; empty while that is not known.
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
