"""The fastest profile whose limits hold between the grid points, too.

The passes of `profile` constrain the ends of each interval. What the rows do inside is read at
more places and bounded by their second differences; where one goes beyond its limit, its limit
at the ends of this interval is lowered by as much, and the passes run again, until none does.
Intervals that would lose more than `COARSE` by that are halved first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.path_timing.joint_path import JointPath
from manip_dyn.planning.path_timing.profile import controllable, greatest
from manip_dyn.planning.path_timing.motion import durations
from manip_dyn.planning.path_timing.refusal import NoTiming
from manip_dyn.planning.path_timing.rows import (
    SHARES,
    Geometry,
    Limits,
    Rows,
    geometry,
    rows,
    values,
)
from manip_dyn.robot import Robot

COARSE = 1e-3
"""Share of a limit that an interval may lose by what happens inside, before it is halved."""
IDLE = 0.99
"""An interval where no limit is used to this share could be done faster on a finer grid,"""
BRIEF = 3e-4
"""unless it takes only this share of the motion."""
REFINEMENTS = 4
ROUNDS = 40
OTHER_SHARES = np.array([0.03, 0.11, 0.19, 0.31, 0.43, 0.57, 0.69, 0.81, 0.89, 0.97])
"""Places at which the result is read once more."""
FASTEST = 1e12
"""Square of a speed that no path reaches, in lengths of the path, 1/s^2."""


class Profile(NamedTuple):
    """Squares of speed on a grid.

    Attributes:
        grid: Parameters s (k + 1,).
        squares: x there (k + 1,), 1/s^2 times the unit of s squared.
        relaxed: How long the motion would take with the limits held at grid points alone, s.
        load: Greatest share of a limit that was read, between grid points and at them.
        reads: At how many places.
    """

    grid: Vector
    squares: Vector
    relaxed: float
    load: float
    reads: int

    @property
    def duration(self) -> float:
        """How long the motion takes, s."""
        return duration(self.grid, self.squares)


def duration(grid: Vector, squares: Vector) -> float:
    """Return how long a profile takes, s."""
    return float(durations(np.diff(grid), squares).sum())


def fastest_profile(
    robot: Robot, path: JointPath, limits: Limits, ends: tuple[float, float], grid: Vector
) -> Profile:
    """Return the fastest profile from and to speeds ds/dt, on this grid or a finer one.

    Raises:
        NoTiming: If there is none.
    """
    for _ in range(REFINEMENTS):
        task = _Task(robot, path, limits, ends, grid)
        task.find()
        parts = task.parts()
        if np.all(parts == 1):
            break
        grid = split(grid, parts)
    else:
        task = _Task(robot, path, limits, ends, grid)
        task.find()
    relaxed = duration(grid, task.squares)
    reads = task.tighten()
    return Profile(grid, task.squares, relaxed, task.load(), reads)


def first_grid(breaks: Vector, intervals: int) -> Vector:
    """Return a grid with every break, its intervals of nearly the same length."""
    widths = np.diff(breaks)
    counts = np.maximum(np.ceil(intervals * widths / widths.sum() - 1e-9), 1).astype(int)
    pieces = [
        np.linspace(begin, end, count + 1)[:-1]
        for begin, end, count in zip(breaks[:-1], breaks[1:], counts, strict=True)
    ]
    return np.concatenate([*pieces, breaks[-1:]])


def stiff_intervals(rows: Rows, widths: Vector) -> Vector:
    """Return in which intervals (k,) a row depends too little on u for the trapezoidal rule."""
    a, c = rows.a[:, [0, -1], :-1], rows.c[:, [0, -1], :-1]
    weak = np.any(2.0 * widths[:, None, None] * np.abs(c) > np.abs(a), axis=(1, 2))
    turns = np.any(a[:, 0] * a[:, 1] < 0.0, axis=1)
    stiff = weak | turns
    if rows.rough:  # from rest on friction rises faster than any parabola
        stiff[[0, -1]] = True
    return stiff


def split(grid: Vector, parts: Vector) -> Vector:
    """Return a grid (k + 1,) with its intervals divided into parts (k,)."""
    begins, widths = np.repeat(grid[:-1], parts), np.repeat(np.diff(grid) / parts, parts)
    count = np.arange(len(begins)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(begins + count * widths, grid[-1])


class _Task:
    """Passes over one grid, and the margins that they leave."""

    squares: Vector

    def __init__(
        self,
        robot: Robot,
        path: JointPath,
        limits: Limits,
        ends: tuple[float, float],
        grid: Vector,
    ):
        self.grid, self.widths, self.ends = grid, np.diff(grid), ends
        self.robot, self.path, self.limits = robot, path, limits
        self.along: Geometry = geometry(path, grid)
        self.rows: Rows = rows(robot, limits, self.along)
        self.margins = np.zeros((len(self.widths), self.rows.a.shape[2]))
        self.reach = np.zeros((2 * len(grid) - 1, 2))
        self.stiff = stiff_intervals(self.rows, self.widths)

    def find(self) -> None:
        """Run both passes."""
        most, rough = 1.0 - self.margins, self.rows.rough
        begin, end = (each * each for each in self.ends)
        fastest = FASTEST * (self.grid[-1] - self.grid[0]) ** 2
        shared = self.rows, most, rough, self.stiff, self.widths
        lost = controllable(*shared, end, fastest, self.reach)
        if lost >= 0:
            raise NoTiming("lost", self.grid[lost])
        low, high = self.reach[0]
        if not low * (1.0 - 1e-12) <= begin <= high * (1.0 + 1e-12):
            raise NoTiming("begin", self.grid[0], np.sqrt(low), np.sqrt(high))
        if np.max(self.reach[:, 1]) >= fastest:
            raise NoTiming("unlimited", self.grid[np.argmax(self.reach[::2, 1])], 0)
        self.squares = np.empty(len(self.reach))
        still = greatest(*shared, begin, self.reach, self.squares)
        if still >= 0:
            raise NoTiming("still", self.grid[still])

    def excess(self) -> Matrix:
        """Return by which share of its limit each row (k, r) goes beyond it inside."""
        found = self._values(self.rows, SHARES)
        bulge = np.abs(np.diff(found, 2, axis=1)).max(axis=1) / 8.0
        return np.abs(found).max(axis=1) + bulge - 1.0

    def parts(self) -> Vector:
        """Return into how many parts each interval (k,) should be divided."""
        beyond = self.excess().max(axis=1)
        times = durations(self.widths, self.squares)
        used = np.abs(self._values(self.rows, SHARES))[:, [0, -1]].max(axis=2).min(axis=1)
        idle = (used < IDLE) & (times > BRIEF * times.sum())
        coarse = beyond > COARSE
        return np.where(idle, 4, np.where(coarse, 2, 1))

    def tighten(self) -> int:
        """Run the passes with margins until all holds inside, too; return how much was read."""
        others = rows(
            self.robot, self.limits, geometry(self.path, self.grid, OTHER_SHARES)
        )
        for _ in range(ROUNDS):
            beyond = self.excess()
            read = np.abs(self._values(others, OTHER_SHARES)).max(axis=1) - 1.0
            beyond = np.maximum(beyond, read)
            if not np.any(beyond > 0.0):
                return others.a.shape[0] * (len(SHARES) + len(OTHER_SHARES))
            self.margins += np.where(beyond > 0.0, 1.02 * beyond + 1e-10, 0.0)
            self.find()
        raise NoTiming("rough", self.grid[np.argmax(beyond.max(axis=1))])

    def load(self) -> float:
        """Return the greatest share of a limit at all places."""
        return float(np.abs(self._values(self.rows, SHARES)).max())

    def _values(self, rows: Rows, shares: Vector) -> Matrix:
        x, z, y = (self.squares[k : len(self.squares) - 2 + k : 2, None] for k in range(3))
        begin, end = ((each / self.widths[:, None]) for each in (z - x, y - z))
        u = begin + (end - begin) * shares
        square = (1.0 - shares) ** 2 * x + 2.0 * shares * (1.0 - shares) * z + shares**2 * y
        return values(rows, u, square)
