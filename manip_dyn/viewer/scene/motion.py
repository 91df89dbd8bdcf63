"""A figure that moves, with what is plotted and marked beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.viewer.scene.figure import Figure


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
