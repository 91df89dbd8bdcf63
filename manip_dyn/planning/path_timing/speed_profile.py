"""Fastest speed profile along a path, by a backward and a forward pass on a grid.

Let x be the square of the path speed and u the path acceleration: dx/ds = 2 u. In an interval
of width h, with the squares x and y at its ends, u is linear in s from (z - x) / h to (y - z) / h.
Then x(s) is the parabola with the control points x, z, y. It is positive if they are positive. The
rows (see `constraints`) are satisfied at both ends. This is the trapezoidal rule, with errors of
order h^2 in the time and in the rows inside the interval. A step has two halves: from x to z with
the rows of the near end, and from z to y with those of the far end. If a row hardly depends on u
(zero-inertia points; Shiller, Lu 1992), the rule oscillates. Such intervals are treated as stiff:
u is constant, z is the mean of x and y, and one step from x to y uses the rows of both ends.

As in Pham, Pham (2018), the backward pass computes the controllable sets, and the forward pass the
largest reachable squares within them. Both passes require linear rows. With damping and Stribeck
friction the rows are nonlinear. Rows at the near end of a step are used without change. Rows at
the far end are replaced by their tangents, which are updated until they converge.

For each x, the rows allow an interval of y. If the rows are linear, its length is concave in x.
Newton's method then finds the largest root from above, with at most one step per active row. A
pass therefore takes O(k r) operations for k intervals with r rows. If friction makes the rows
nonlinear and Newton's method stops before the boundary, bisection continues.

The passes constrain the ends of each interval. Inside, the rows are sampled and bounded by their
second differences. If a row exceeds its limit, the limit at the ends of this interval is lowered
by the excess, and the passes are repeated until no row exceeds its limit. Before that, some
intervals are divided: those that would lose more than `COARSE_LOSS`, and those without an active
limit at one end, for example because the efforts switch there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Counts, Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.planning.path_timing.constraints import (
    SAMPLE_FRACTIONS,
    ConstraintRows,
    Limits,
    constraint_rows,
    evaluate_rows,
    geometry,
)
from manip_dyn.planning.path_timing.joint_path import (
    JointPath,
    interval_durations,
    split_intervals,
)
from manip_dyn.robot import Robot


class NoTimingError(Exception):
    """Failure of the search for a timing; `infeasibility_error` converts it to a message.

    Attributes:
        code: ``lost``: no acceleration is feasible; ``still``: the motion comes to rest;
            ``begin``: the start speed is infeasible; ``unlimited``: the speed has no limit;
            ``rough``: limits are exceeded between grid points; ``jerk``: jerk limits are exceeded.
        s: Path parameter at the failure.
        low: Smallest feasible start speed ds/dt.
        high: Largest feasible start speed ds/dt.
    """

    def __init__(self, code: str, s: float, low: float = 0.0, high: float = 0.0):
        """Initialize from the code, the path parameter, and the feasible start speeds."""
        super().__init__(code)
        self.code, self.s, self.low, self.high = code, float(s), float(low), float(high)


STEPS = 60
SCAN_POINTS = 40
"""Maximum numbers of Newton steps and of scanned points."""
SMALL = 1e-12
NEAR, FAR, BOTH = (0, 1), (1, 2), (0, 2)
"""Ends whose rows a step uses, as a range of indices."""


@inlined
def _friction_terms(d, f, m, x):
    """Return damping plus Stribeck friction at the squared speed x, and its derivative by x."""
    root = np.sqrt(x)
    left = f * np.exp(-m * m * x)
    return d * root + left, d / (2.0 * max(root, 1e-9)) - m * m * left


@compiled
def _reachable_interval(rows, most, rough, ends, h, k, x, near, low, high, direction):
    """Return the subset of [`low`, `high`] that is reachable from a square x in interval k.

    If it is empty, return a step of x in Newton's method for the controllable set.

    Args:
        rows: Rows of the intervals, see `ConstraintRows`.
        most: Limits of the rows (k, r).
        rough: Whether there is viscous damping or Stribeck friction.
        ends: Ends whose rows are used.
        h: Width of the step.
        k: Index of the interval.
        x: Square at the near end.
        near: Square at the far end at which the rows are linearized.
        low: Smallest square at the far end.
        high: Largest square at the far end.
        direction: Sign of the steps of x.

    Returns:
        Smallest and largest reachable y; the step of x towards a nonempty interval, 0 if it is
        nonempty; and whether no such step exists.
    """
    a, c, d, f, m, b = rows
    last = a.shape[1] - 1
    low_slope, high_slope = 0.0, 0.0
    step, dead = 0.0, False
    scale, per_width = x + high, 0.5 / h
    for end in range(ends[0], ends[1]):
        index = 0 if end == 0 else last
        for r in range(a.shape[2]):
            drive, square = a[k, index, r] * per_width, c[k, index, r]
            offset, slope, by_y = b[k, index, r] - drive * x, -drive, drive
            if end == 0:
                offset += square * x
                slope += square
                if rough:
                    bend, more = _friction_terms(d[k, 0, r], f[k, 0, r], m[k, 0, r], x)
                    offset += bend
                    slope += more
            else:
                by_y += square
                if rough and near > 0.0:
                    bend, more = _friction_terms(d[k, last, r], f[k, last, r], m[k, last, r], near)
                    offset += bend - more * near
                    by_y += more
            top = most[k, r]
            if abs(by_y) * scale < SMALL:
                lack = abs(offset) - top
                if lack > SMALL:
                    trend = slope if offset > 0.0 else -slope
                    if trend * direction >= 0.0:
                        dead = True
                    else:
                        step = direction * max(abs(step), lack / abs(trend))
                continue
            by_rest = 1.0 / by_y
            above, below = (top - offset) * by_rest, (-top - offset) * by_rest
            if by_y < 0.0:
                above, below = below, above
            if above < high:
                high, high_slope = above, -slope * by_rest
            if below > low:
                low, low_slope = below, -slope * by_rest
    gap = high - low
    if gap < -SMALL * (x + min(abs(low), abs(high))):
        trend = high_slope - low_slope
        if trend * direction <= 0.0:
            dead = True
        else:
            step = direction * max(abs(step), -gap / abs(trend))
    return low, high, step, dead


@compiled
def _controllable_bound(rows, most, rough, ends, h, k, start, stop, low, high):
    """Return the first square x from `start` to `stop` that leads into [`low`, `high`], or -1."""
    direction = 1.0 if stop > start else -1.0
    x, outside, far = start, start, start
    feasible, dead = False, False
    for _ in range(STEPS):
        _, _, step, dead = _reachable_interval(
            rows, most, rough, ends, h, k, x, high, low, high, direction
        )
        if dead:
            break
        if step == 0.0:
            if direction > 0.0 or x > 1e-3 * far:
                feasible = True
                break
            # x is much smaller than at the start: restart near the result to avoid cancellation.
            x *= 2.0
            far = outside = x
            continue
        outside = x
        x += step
        if rough and direction < 0.0 and x < 1e-3 * outside and outside > SMALL * start:
            x = 1e-3 * outside
        if (x - stop) * direction > SMALL * (abs(start) + abs(stop)):
            break
        if abs(step) <= 1e-14 * x:
            feasible = True
            break
    if not rough or (feasible and x == start):
        return min(max(x, 0.0), max(start, stop)) if feasible else -1.0
    if not feasible:
        for j in range(SCAN_POINTS + 1):
            fraction = j / SCAN_POINTS
            # squares of equidistant speeds
            root = (1.0 - fraction) * np.sqrt(start) + fraction * np.sqrt(stop)
            x = root * root
            _, _, step, dead = _reachable_interval(
                rows, most, rough, ends, h, k, x, high, low, high, direction
            )
            if step == 0.0 and not dead:
                feasible = True
                break
            outside = x
        if not feasible:
            return -1.0
    inside = min(max(x, 0.0), max(start, stop))
    for _ in range(50):
        if abs(outside - inside) <= 1e-12 * (outside + inside):
            break
        x = 0.5 * (outside + inside)
        _, _, step, dead = _reachable_interval(
            rows, most, rough, ends, h, k, x, high, low, high, direction
        )
        if step == 0.0 and not dead:
            inside = x
        else:
            outside = x
    return inside


@inlined
def _controllable_interval(rows, most, rough, ends, h, k, fastest, low, high):
    """Return the smallest and largest squares that lead into [`low`, `high`], or -1 for both.

    The search is restricted to squares within the speed limit. For steps from the middle of the
    interval, the limit in the middle is used.
    """
    speed = most.shape[1] - 1
    index = rows.c.shape[1] // 2 if ends == FAR else 0
    fastest = min(fastest, most[k, speed] / rows.c[k, index, speed])
    top = _controllable_bound(rows, most, rough, ends, h, k, fastest, 0.0, low, high)
    if top <= 0.0:
        return top, top
    bottom = _controllable_bound(rows, most, rough, ends, h, k, 0.0, top, low, high)
    return (bottom if bottom >= 0.0 else top), top


@compiled
def backward_pass(rows, most, rough, stiff, widths, end, fastest, out):
    """Compute the controllable sets: the smallest and largest squares at each point.

    Args:
        rows: Rows of the intervals, see `ConstraintRows`. The last row is the speed.
        most: Limits of the rows (k, r): 1 minus margins.
        rough: Whether there is viscous damping or Stribeck friction.
        stiff: Whether u is constant in an interval (k,).
        widths: Widths of the intervals (k,).
        end: Squared end speed.
        fastest: Upper bound of all squares.
        out: Output (2 k + 1, 2): sets of x, z, x, .., x. Sets of z in stiff intervals are not
            written.

    Returns:
        -1, or the index of the interval at which the pass ended with an empty set.
    """
    last = widths.shape[0]
    out[2 * last, 0] = out[2 * last, 1] = end
    for k in range(last - 1, -1, -1):
        low, high = out[2 * k + 2, 0], out[2 * k + 2, 1]
        if stiff[k]:
            ends, h = BOTH, widths[k]
        else:
            ends, h = NEAR, 0.5 * widths[k]
            low, high = _controllable_interval(rows, most, rough, FAR, h, k, fastest, low, high)
            if high < 0.0:
                return k
            out[2 * k + 1, 0], out[2 * k + 1, 1] = low, high
        low, high = _controllable_interval(rows, most, rough, ends, h, k, fastest, low, high)
        if high < 0.0:
            return k
        out[2 * k, 0], out[2 * k, 1] = low, high
    return -1


@inlined
def _greatest_reachable(rows, most, rough, ends, h, k, x, low, high):
    """Return the largest square in [`low`, `high`] that is reachable, or nearly so, from x."""
    near, y = high, high
    for _ in range(8 if rough else 1):
        below, above, _, _ = _reachable_interval(
            rows, most, rough, ends, h, k, x, near, low, high, 1.0
        )
        y = above if above >= below else 0.5 * (above + below)
        y = min(max(y, low), high)
        if abs(y - near) <= 1e-12 * y:
            break
        near = y
    return y


@compiled
def forward_pass(rows, most, rough, stiff, widths, begin, reach, out):
    """Compute the largest squares within the controllable sets.

    Args:
        rows: Rows of the intervals, see `ConstraintRows`.
        most: Limits of the rows (k, r).
        rough: Whether there is viscous damping or Stribeck friction.
        stiff: Whether u is constant in an interval (k,).
        widths: Widths of the intervals (k,).
        begin: Squared start speed.
        reach: Controllable sets (2 k + 1, 2) from `backward_pass`.
        out: Output (2 k + 1,): the squares.

    Returns:
        -1, or the index of the interval in which the motion would come to rest.
    """
    out[0] = begin
    for k in range(widths.shape[0]):
        x, h = out[2 * k], widths[k]
        low, high = reach[2 * k + 2, 0], reach[2 * k + 2, 1]
        if stiff[k]:
            y = _greatest_reachable(rows, most, rough, BOTH, h, k, x, low, high)
            z = 0.5 * (x + y)
        else:
            h *= 0.5
            between, most_between = reach[2 * k + 1, 0], reach[2 * k + 1, 1]
            z = _greatest_reachable(rows, most, rough, NEAR, h, k, x, between, most_between)
            y = _greatest_reachable(rows, most, rough, FAR, h, k, z, low, high)
        if not x + y > 0.0:
            return k
        out[2 * k + 1], out[2 * k + 2] = z, y
    return -1


COARSE_LOSS = 1e-3
"""Excess of a row inside an interval, as a fraction of its limit, above which it is halved."""
IDLE = 0.99
"""Fraction of a limit. An interval is idle, and divided, if no row reaches it at one end."""
BRIEF = 3e-4
"""Fraction of the duration below which an idle interval is not divided."""
SUBDIVISIONS = 8
"""Number of intervals that replace an idle interval."""
REFINEMENTS = 2
END_REFINEMENTS = 3
"""Number of refinements of the first and last intervals, where damping rises steeply from rest."""
STEEP = 1.0
"""Change of speed, in Stribeck velocities, above which an interval is divided at low speed."""
STEEP_RANGE = 3.0
"""Largest low speed, in Stribeck velocities. At higher speeds friction is nearly constant."""
MARGIN = 1e-7
"""Fraction of every limit that is reserved for rounding."""
TIGHTENINGS = 40
GROWTH = 1.2
"""Factor per pass by which the growth of the margins increases."""
CHECK_FRACTIONS = np.array([0.07, 0.37, 0.63, 0.93])
"""Additional points at which the result is checked."""
END_FRACTIONS = np.linspace(0.0, 1.0, 33) ** 2
"""Square roots of the fractions at which the first interval is checked after a start from rest.
The fractions are dense near rest, where damping rises steeply, and mirrored for the last interval.
"""
SPEED_BOUND = 1e12
"""Upper bound of squared speeds, in squared path lengths per s^2."""


class Profile(NamedTuple):
    """Squared path speeds on a grid.

    Attributes:
        grid: Parameters s (k + 1,).
        squares: Control points (2 k + 1,) of the squared speed.
        relaxed: Duration with limits only at grid points, s.
        load: Largest fraction of a limit at the points of the final check.
        reads: Number of these points.
    """

    grid: Vector
    squares: Vector
    relaxed: float
    load: float
    reads: int


class PathProblem(NamedTuple):
    """The problem of timing a path without jerk limits.

    Attributes:
        robot: The arm.
        path: The path.
        limits: Limits of speed, effort and acceleration, and the payload.
        ends: Path speeds ds/dt at the start and the end.
    """

    robot: Robot
    path: JointPath
    limits: Limits
    ends: tuple[float, float]

    def rows(
        self, begins: Vector, widths: Vector, fractions: Vector = SAMPLE_FRACTIONS
    ) -> ConstraintRows:
        """Compute the rows of intervals (k,) at fractions (p,)."""
        return constraint_rows(
            self.robot, self.limits, geometry(self.path, begins, widths, fractions)
        )


def fastest_profile(problem: PathProblem, grid: Vector, rows: ConstraintRows) -> Profile:
    """Return the fastest profile on a grid, which is refined where necessary.

    Args:
        problem: The arm on its path.
        grid: Initial grid (k + 1,).
        rows: Rows of this grid.

    Raises:
        NoTimingError: If no profile is feasible.
    """
    passes = _Passes(problem, grid, rows)
    for _ in range(END_REFINEMENTS if rows.rough else 0):
        ends = np.ones(len(passes.widths), dtype=int)
        ends[[0, -1]] = SUBDIVISIONS
        passes = passes.refined(ends)
    passes.run()
    for _ in range(REFINEMENTS):
        counts = passes.parts()
        if np.all(counts == 1):
            break
        passes = passes.refined(counts)
        passes.run()
    relaxed = float(interval_durations(passes.widths, passes.squares).sum())
    reads, load = passes.tighten()
    return Profile(passes.grid, passes.squares, relaxed, load, reads)


def stiff_intervals(rows: ConstraintRows, widths: Vector) -> Vector:
    """Return a mask (k,) of the stiff intervals, in which a row depends too little on u.

    With damping or Stribeck friction, the first and last intervals are also stiff.
    """
    a, c = rows.a[:, [0, -1], :-1], rows.c[:, [0, -1], :-1]
    weak = np.any(2.0 * widths[:, None, None] * np.abs(c) > np.abs(a), axis=(1, 2))
    stiff = weak | np.any(a[:, 0] * a[:, 1] < 0.0, axis=1)
    if rows.rough:  # damping rises faster from rest than any parabola
        stiff[[0, -1]] = True
    return stiff


class _Passes:
    """The backward and the forward pass on one grid, with margins of the limits."""

    squares: Vector

    def __init__(self, problem: PathProblem, grid: Vector, rows: ConstraintRows):
        """Prepare the passes on a grid (k + 1,) with its rows."""
        self._problem, self._rows, self._rough = problem, rows, rows.rough
        self.grid, self.widths = grid, np.diff(grid)
        self._stiff = stiff_intervals(rows, self.widths)
        self._margins = np.full((len(self.widths), rows.a.shape[2]), MARGIN)
        self._ends: dict[int, ConstraintRows] = {}
        self._reach = np.zeros((2 * len(grid) - 1, 2))

    def refined(self, counts: Counts) -> _Passes:
        """Return the passes on a grid with each interval divided into `counts` (k,) parts."""
        grid, fresh = split_intervals(self.grid, counts), np.repeat(counts > 1, counts)
        rows = ConstraintRows(*(np.repeat(x, counts, axis=0) for x in self._rows))
        new_rows = self._problem.rows(grid[:-1][fresh], np.diff(grid)[fresh])
        for values, new in zip(rows, new_rows, strict=True):
            values[fresh] = new
        return _Passes(self._problem, grid, rows)

    def run(self) -> None:
        """Run both passes and store the squares.

        Raises:
            NoTimingError: If no profile is feasible.
        """
        begin, end = (speed * speed for speed in self._problem.ends)
        fastest = SPEED_BOUND * (self.grid[-1] - self.grid[0]) ** 2
        most = 1.0 - self._margins
        shared = self._rows, most, self._rough, self._stiff, self.widths
        lost = backward_pass(*shared, end, fastest, self._reach)
        if lost >= 0:
            raise NoTimingError("lost", self.grid[lost])
        low, high = self._reach[0]
        if not low * (1.0 - 1e-12) <= begin <= high * (1.0 + 1e-12):
            raise NoTimingError("begin", self.grid[0], np.sqrt(low), np.sqrt(high))
        if np.max(self._reach[:, 1]) >= fastest:
            raise NoTimingError("unlimited", self.grid[np.argmax(self._reach[::2, 1])])
        self.squares = np.empty(len(self._reach))
        still = forward_pass(*shared, begin, self._reach, self.squares)
        if still >= 0:
            raise NoTimingError("still", self.grid[still])

    def parts(self) -> Counts:
        """Return the numbers of parts (k,) into which the intervals should be divided."""
        beyond, used = self._loads(self._rows, SAMPLE_FRACTIONS, True)
        times = interval_durations(self.widths, self.squares)
        idle = (used < IDLE) & (times > BRIEF * times.sum())
        if self._rough:
            idle |= self._friction_falls()
        return np.where(idle, SUBDIVISIONS, np.where(np.any(beyond > COARSE_LOSS, axis=1), 2, 1))

    def _friction_falls(self) -> Vector:
        """Return a mask (k,) of the intervals in which friction changes too fast for the grid."""
        speed = np.sqrt(self.squares[::2])
        velocities = (
            self._rows.m[:, [0, -1]] * np.stack([speed[:-1], speed[1:]], axis=1)[..., None]
        )
        near = (velocities[:, 0] * velocities[:, 1] < 0.0) | (
            np.abs(velocities).min(axis=1) < STEEP_RANGE
        )
        steep = near & (np.abs(velocities[:, 1] - velocities[:, 0]) > STEEP)
        return np.any(steep & (self._rows.f[:, 0] != 0.0), axis=1)

    def tighten(self) -> tuple[int, float]:
        """Repeat the passes with growing margins until no row exceeds its limit in an interval.

        Returns:
            Number of checked points, and the largest fraction of a limit at these points.

        Raises:
            NoTimingError: If a pass fails, or a row still exceeds its limit.
        """
        check_rows = self._problem.rows(self.grid[:-1], self.widths, CHECK_FRACTIONS)
        for count in range(TIGHTENINGS):
            bound, _ = self._loads(self._rows, SAMPLE_FRACTIONS, True)
            values, _ = self._loads(check_rows, CHECK_FRACTIONS, False)
            beyond = np.maximum(bound, values)
            if self._rough:
                self._at_rest(beyond)
            if not np.any(beyond > 0.0):
                reads = len(self.widths) * (len(SAMPLE_FRACTIONS) + len(CHECK_FRACTIONS))
                at_places, _ = self._loads(self._rows, SAMPLE_FRACTIONS, False)
                return reads, 1.0 + float(max(at_places.max(), values.max()))
            # If a margin is active only at one end of an interval, the excess is too small a step.
            step = 1.02 * GROWTH**count * beyond + MARGIN
            self._margins += np.where(beyond > 0.0, step, 0.0)
            self.run()
        raise NoTimingError("rough", self.grid[np.argmax(beyond.max(axis=1))])

    def _at_rest(self, beyond: Matrix) -> None:
        """Raise `beyond` (k, r) to the bounds of a fine check of end intervals at rest."""
        for k, fractions in ((0, END_FRACTIONS**2), (-1, (1.0 - (1.0 - END_FRACTIONS) ** 2))):
            if self.squares[k] > 0.0:
                continue
            if k not in self._ends:
                begin, width = self.grid[:-1][k], self.widths[k]
                self._ends[k] = self._problem.rows(np.array([begin]), np.array([width]), fractions)
            here = self.squares[:3] if k == 0 else self.squares[-3:]
            values, used = np.empty((1, beyond.shape[1])), np.empty(1)
            width = self.widths[[k]]
            evaluate_rows(self._ends[k], True, width, here, fractions, True, values, used)
            beyond[k] = np.maximum(beyond[k], values[0])

    def _loads(
        self, rows: ConstraintRows, fractions: Vector, bulges: bool
    ) -> tuple[Matrix, Vector]:
        beyond, used = np.empty_like(self._margins), np.empty_like(self.widths)
        evaluate_rows(
            rows, self._rough, self.widths, self.squares, fractions, bulges, beyond, used
        )
        return beyond, used
