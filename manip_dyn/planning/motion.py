"""What moves an arm between start and arrival: what a plan asks of each kind of motion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from manip_dyn.core.checks import Matrix, Vector

Samples = list[tuple[float, Vector]]
"""Times, s, and efforts (n,), each held until the next."""
SAME = 1e-9
"""Efforts that differ by less are the same, N m or N."""


class Motion(Protocol):
    """A motion from rest to rest, for times from 0 up to, not including, the arrival."""

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to the arrival, s, between which the efforts are smooth."""

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t` s."""

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t` s on."""

    def samples(self, period: float) -> Samples:
        """Return times and efforts before the arrival, each held until the next.

        As many as it takes for every jump, and where the efforts change smoothly one every
        `period` s.
        """


@runtime_checkable
class Sampled(Protocol):
    """A motion that gives many times at once."""

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s, within it."""


class MotionWithCostates(Motion, Protocol):
    """A motion that meets Pontryagin's conditions."""

    @property
    def switching(self) -> Any:
        """Which effort switches when, a `Switching`."""

    def costate(self, t: float) -> Vector:
        """Return the costates (2 n,) at time `t` s, s per unit of the state."""


def held_samples(begins: Iterable[float], effort: Callable[[float], Vector]) -> Samples:
    """Return the efforts at times that rise; those that do not change are not repeated."""
    rows: Samples = []
    for t in begins:
        add_if_new(rows, t, effort(t))
    return rows


def add_if_new(rows: Samples, t: float, effort: Vector) -> None:
    """Add efforts from `t` s on unless they are the same as the last ones."""
    if not rows or np.abs(effort - rows[-1][1]).max() > SAME:
        rows.append((t, effort))
