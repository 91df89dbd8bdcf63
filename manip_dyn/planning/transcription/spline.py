"""Motions whose positions are cubic splines with equal cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector


class Ends(NamedTuple):
    """Positions and velocities (n,) at start and goal, rad or m, per s."""

    q0: Vector
    v0: Vector
    qf: Vector
    vf: Vector

    @property
    def moving(self) -> bool:
        """Whether the arm moves at start or goal."""
        return bool(np.any(self.v0) or np.any(self.vf))


class Spline(NamedTuple):
    """A motion whose accelerations are linear in every cell.

    Attributes:
        control: Control points (cells + 3, n), one before and one after the motion.
        duration: s.
    """

    control: Matrix
    duration: float

    @classmethod
    def between(cls, ends: Ends, inner: Matrix, duration: float) -> Spline:
        """Return the motion with these control points (cells - 1, n) far from the ends."""
        h = duration / (len(inner) + 1)
        first = 1.5 * ends.q0 - 0.5 * inner[0] + 0.5 * h * ends.v0
        last = 1.5 * ends.qf - 0.5 * inner[-1] - 0.5 * h * ends.vf
        before, after = inner[0] - 2.0 * h * ends.v0, inner[-1] + 2.0 * h * ends.vf
        return cls(np.vstack([before, first, inner, last, after]), duration)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.control) - 3

    @property
    def inner(self) -> Matrix:
        """The control points far from the ends (cells - 1, n)."""
        return self.control[2:-2]

    def halved(self) -> Spline:
        """Return the same motion in cells of half the length (Boehm 1980)."""
        c = self.control
        fine = np.empty((2 * self.cells + 3, c.shape[1]))
        fine[1::2] = (c[:-2] + 6.0 * c[1:-1] + c[2:]) / 8.0
        fine[::2] = 0.5 * (c[:-1] + c[1:])
        return Spline(fine, self.duration)

    def joints(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and accelerations (k, n) at times (k,), s."""
        h = self.duration / self.cells
        cell = np.clip((times / h).astype(int), 0, self.cells - 1)
        z = (times / h - cell)[:, None]
        a, b, c, d = (self.control[cell + i] for i in range(4))
        y = 1.0 - z
        place = (y**3 * a + (3 * z**3 - 6 * z**2 + 4) * b + (3 * y**3 - 6 * y**2 + 4) * c) / 6.0
        place += z**3 * d / 6.0
        speed = (y**2 * (b - a) + (1 + 2 * y * z) * (c - b) + z**2 * (d - c)) / (2.0 * h)
        bend = (y * (a - 2 * b + c) + z * (b - 2 * c + d)) / h**2
        return place, speed, bend
