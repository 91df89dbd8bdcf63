"""What is seen of something that runs, and what it can be told: the page knows no more of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from manip_dyn.core.checks import Matrix, Vector


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
