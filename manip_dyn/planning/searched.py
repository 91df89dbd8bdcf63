"""What a search for minimum time has looked at: how far "fastest" goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Searched:
    """What was searched before a motion was handed out.

    Attributes:
        guesses: Initial guesses of motions on a grid: the straight path and detours.
        motions: Different nearly optimal motions on the grid that they led to.
        structures: Switching structures that Newton's method was started from.
        extremals: Different motions among those it found that arrive within all limits.
        second: Final time of the second best of these, s; inf if there is none.
        on_grid: Least duration of a motion on the grid, s: above that of the best exact one by
            what the grid costs, or below it where that one was not found.
    """

    guesses: int
    motions: int
    structures: int
    extremals: int
    second: float
    on_grid: float
