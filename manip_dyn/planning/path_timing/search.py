"""The fastest profile whose limits hold between the grid points, too.

The passes of `profile` constrain the ends of each interval. What the rows do inside is read at
more places and bounded by their second differences; where one goes beyond its limit, its limit
at the ends of this interval is lowered by as much, and the passes run again, until none does.
Before that, intervals are divided that would lose more than `COARSE` by it, or that make no use
of any limit at one of their ends, such as those in which the efforts switch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Vector
from manip_dyn.planning.path_timing.grid import durations, split
from manip_dyn.planning.path_timing.joint_path import JointPath
from manip_dyn.planning.path_timing.no_timing import NoTimingError
from manip_dyn.planning.path_timing.profile import controllable, greatest
from manip_dyn.planning.path_timing.rows import SHARES, Limits, Rows, geometry, loads, rows
from manip_dyn.robot import Robot

COARSE = 1e-3
"""Share of a limit that an interval may lose by what happens inside, before it is halved."""
IDLE = 0.99
"""An interval where no limit is used to this share could be done faster on a finer grid,"""
BRIEF = 3e-4
"""unless it takes only this share of the motion."""
PARTS = 8
"""Into which idle intervals are divided."""
REFINEMENTS = 2
ENDS = 3
"""How often the first and the last interval are, where damping rises from rest."""
STEEP = 1.0
"""Change of speed, in Stribeck's velocities, over an interval that is divided, below"""
FULL = 3.0
"""where friction has fallen."""
ROOM = 1e-7
"""Share of every limit that is left for rounding."""
ROUNDS = 40
GROWTH = 1.2
"""By which margins grow faster, round after round."""
OTHER_SHARES = np.array([0.07, 0.37, 0.63, 0.93])
"""Places at which the result is read once more."""
ROOTS = np.linspace(0.0, 1.0, 33) ** 2
"""Roots of shares of the first interval, from rest: dense where damping rises."""
FASTEST = 1e12
"""Square of a speed that no path reaches, in lengths of the path, 1/s^2."""


class Profile(NamedTuple):
    """Squares of speed on a grid.

    Attributes:
        grid: Parameters s (k + 1,).
        squares: Control points (2 k + 1,) of the squared speed, see `profile`.
        relaxed: How long the motion would take with the limits held at grid points alone, s.
        load: Greatest share of a limit that was read, between grid points and at them.
        reads: At how many places.
    """

    grid: Vector
    squares: Vector
    relaxed: float
    load: float
    reads: int


class Problem(NamedTuple):
    """An arm on a path: its limits, and the path's speeds at both ends."""

    robot: Robot
    path: JointPath
    limits: Limits
    ends: tuple[float, float]

    def rows(self, begins: Vector, widths: Vector, shares: Vector = SHARES) -> Rows:
        """Return the rows of intervals (k,)."""
        return rows(self.robot, self.limits, geometry(self.path, begins, widths, shares))


def fastest_profile(problem: Problem, grid: Vector, known: Rows) -> Profile:
    """Return the fastest profile on a grid, whose rows are known, or on a finer one.

    Raises:
        NoTimingError: If there is none.
    """
    passes = _Passes(problem, grid, known)
    for _ in range(ENDS if known.rough else 0):
        ends = np.ones(len(passes.widths), dtype=int)
        ends[[0, -1]] = PARTS
        passes = passes.refined(ends)
    passes.run()
    for _ in range(REFINEMENTS):
        parts = passes.parts()
        if np.all(parts == 1):
            break
        passes = passes.refined(parts)
        passes.run()
    relaxed = float(durations(passes.widths, passes.squares).sum())
    reads, load = passes.tighten()
    return Profile(passes.grid, passes.squares, relaxed, load, reads)


def stiff_intervals(rows: Rows, widths: Vector) -> Vector:
    """Return in which intervals (k,) a row depends too little on u for the trapezoidal rule."""
    a, c = rows.a[:, [0, -1], :-1], rows.c[:, [0, -1], :-1]
    weak = np.any(2.0 * widths[:, None, None] * np.abs(c) > np.abs(a), axis=(1, 2))
    stiff = weak | np.any(a[:, 0] * a[:, 1] < 0.0, axis=1)
    if rows.rough:  # from rest on damping rises faster than any parabola
        stiff[[0, -1]] = True
    return stiff


class _Passes:
    """Passes over one grid, and the margins that they leave."""

    squares: Vector

    def __init__(self, problem: Problem, grid: Vector, known: Rows):
        """Take the grid (k + 1,) and its rows."""
        self._problem, self._rows, self._rough = problem, known, known.rough
        self.grid, self.widths = grid, np.diff(grid)
        self._stiff = stiff_intervals(known, self.widths)
        self._margins = np.full((len(self.widths), known.a.shape[2]), ROOM)
        self._ends: dict[int, Rows] = {}
        self._reach = np.zeros((2 * len(grid) - 1, 2))

    def refined(self, parts: Counts) -> _Passes:
        """Return the passes over a grid with intervals divided into parts (k,)."""
        grid, fresh = split(self.grid, parts), np.repeat(parts > 1, parts)
        taken = Rows(*(np.repeat(each, parts, axis=0) for each in self._rows))
        made = self._problem.rows(grid[:-1][fresh], np.diff(grid)[fresh])
        for each, new in zip(taken, made, strict=True):
            each[fresh] = new
        return _Passes(self._problem, grid, taken)

    def run(self) -> None:
        """Run both passes."""
        begin, end = (each * each for each in self._problem.ends)
        fastest = FASTEST * (self.grid[-1] - self.grid[0]) ** 2
        most = 1.0 - self._margins
        shared = self._rows, most, self._rough, self._stiff, self.widths
        lost = controllable(*shared, end, fastest, self._reach)
        if lost >= 0:
            raise NoTimingError("lost", self.grid[lost])
        low, high = self._reach[0]
        if not low * (1.0 - 1e-12) <= begin <= high * (1.0 + 1e-12):
            raise NoTimingError("begin", self.grid[0], np.sqrt(low), np.sqrt(high))
        if np.max(self._reach[:, 1]) >= fastest:
            raise NoTimingError("unlimited", self.grid[np.argmax(self._reach[::2, 1])])
        self.squares = np.empty(len(self._reach))
        still = greatest(*shared, begin, self._reach, self.squares)
        if still >= 0:
            raise NoTimingError("still", self.grid[still])

    def parts(self) -> Counts:
        """Return into how many parts each interval (k,) should be divided."""
        beyond, used = self._loads(self._rows, SHARES, True)
        times = durations(self.widths, self.squares)
        idle = (used < IDLE) & (times > BRIEF * times.sum())
        if self._rough:
            idle |= self._friction_falls()
        return np.where(idle, PARTS, np.where(np.any(beyond > COARSE, axis=1), 2, 1))

    def _friction_falls(self) -> Vector:
        """Return in which intervals (k,) friction changes too fast to be read well."""
        speed = np.sqrt(self.squares[::2])
        found = self._rows.m[:, [0, -1]] * np.stack([speed[:-1], speed[1:]], axis=1)[..., None]
        near = (found[:, 0] * found[:, 1] < 0.0) | (np.abs(found).min(axis=1) < FULL)
        steep = near & (np.abs(found[:, 1] - found[:, 0]) > STEEP)
        return np.any(steep & (self._rows.f[:, 0] != 0.0), axis=1)

    def tighten(self) -> tuple[int, float]:
        """Run the passes with margins until all holds inside, too.

        Returns:
            At how many places that was read, and the greatest share of a limit.
        """
        others = self._problem.rows(self.grid[:-1], self.widths, OTHER_SHARES)
        for count in range(ROUNDS):
            bound, _ = self._loads(self._rows, SHARES, True)
            read, _ = self._loads(others, OTHER_SHARES, False)
            beyond = np.maximum(bound, read)
            if self._rough:
                self._at_rest(beyond)
            if not np.any(beyond > 0.0):
                reads = len(self.widths) * (len(SHARES) + len(OTHER_SHARES))
                at_places, _ = self._loads(self._rows, SHARES, False)
                return reads, 1.0 + float(max(at_places.max(), read.max()))
            # Where a margin holds back one end of an interval alone, it takes more than what is
            # missing.
            step = 1.02 * GROWTH**count * beyond + ROOM
            self._margins += np.where(beyond > 0.0, step, 0.0)
            self.run()
        raise NoTimingError("rough", self.grid[np.argmax(beyond.max(axis=1))])

    def _at_rest(self, beyond: Matrix) -> None:
        """Raise what rows come to (k, r) where damping rises with the root of s."""
        for k, shares in ((0, ROOTS**2), (-1, (1.0 - (1.0 - ROOTS) ** 2))):
            if self.squares[k] > 0.0:
                continue
            if k not in self._ends:
                begin, width = self.grid[:-1][k], self.widths[k]
                self._ends[k] = self._problem.rows(np.array([begin]), np.array([width]), shares)
            here = self.squares[:3] if k == 0 else self.squares[-3:]
            found, used = np.empty((1, beyond.shape[1])), np.empty(1)
            width = self.widths[[k]]
            loads(self._ends[k], True, width, here, shares, True, found, used)
            beyond[k] = np.maximum(beyond[k], found[0])

    def _loads(self, rows: Rows, shares: Vector, bulges: bool) -> tuple[Matrix, Vector]:
        beyond, used = np.empty_like(self._margins), np.empty_like(self.widths)
        loads(rows, self._rough, self.widths, self.squares, shares, bulges, beyond, used)
        return beyond, used
