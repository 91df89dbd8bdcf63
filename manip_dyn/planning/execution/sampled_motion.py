"""Sampled reference motion for evaluation in a control loop."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector

MOST_CELLS = 2000
"""Maximum number of cells without those for effort jumps. Long motions have longer cells."""
SAME = 1e-9
"""Difference below which times are equal, s. Commands have a resolution of one nanosecond."""
ROUNDING = 1e-12
"""Fraction of the largest effort below which differences of efforts are rounding errors."""
STEEP = 1e-5
"""Difference of the efforts in a cell, relative to their limits, above which the velocity in the
middle of the cell differs from that of the plan."""
SWITCH = 1e-2
"""Difference of the efforts between successive knots, relative to their limits, that is a switch.
"""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)


class SampledMotion(NamedTuple):
    """A motion that starts at time 0 and consists of cells with constant efforts.

    The arm is held at rest after the end.

    Attributes:
        times: Boundaries of the cells (k + 1,), s.
        q: Positions at the boundaries (k + 1, n), rad or m.
        v: Velocities at the boundaries (k + 1, n), rad/s or m/s.
        efforts: Constant efforts in each cell (k, n), N m or N.
        hold: Efforts (n,) that hold the arm at the end, N m or N.
        wait: Efforts (n,) that hold the arm at the start, before time 0, N m or N.
    """

    times: Vector
    q: Matrix
    v: Matrix
    efforts: Matrix
    hold: Vector
    wait: Vector

    @classmethod
    def standing(cls, q: Vector, hold: Vector, duration: float = 0.0) -> SampledMotion:
        """Return the motion of an arm at rest at `q` (n,) for `duration` s.

        The arm is held by the efforts `hold` (n,), N m or N.
        """
        times = np.array([0.0, duration] if duration else [0.0])
        rows = np.tile(q, (len(times), 1))
        return cls(times, rows, 0.0 * rows, np.tile(hold, (len(times) - 1, 1)), hold, hold)

    @classmethod
    def of(cls, plan, spacing: float) -> SampledMotion:
        """Sample a plan every `spacing` seconds and at every effort jump. Results are cached."""
        return _of(plan, spacing)

    @property
    def t_final(self) -> float:
        """End time, s."""
        return float(self.times[-1])

    @property
    def goal(self) -> Vector:
        """Final positions (n,)."""
        return self.q[-1]

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s, by cubic interpolation."""
        if t >= self.t_final:
            return self.q[-1], np.zeros(self.q.shape[1])
        if t <= 0.0:
            return self.q[0], self.v[0]
        k = self.cell(t)
        h = self.times[k + 1] - self.times[k]
        return self._interpolated(k, h, (t - self.times[k]) / h)

    def states(self, times: Vector) -> tuple[Matrix, Matrix]:
        """Return positions and velocities (m, n) at times (m,), s; see `state`."""
        if len(self.times) == 1:
            return np.tile(self.q[0], (len(times), 1)), np.zeros((len(times), self.q.shape[1]))
        k = np.clip(self.times.searchsorted(times, side="right") - 1, 0, len(self.times) - 2)
        h = (self.times[k + 1] - self.times[k])[:, None]
        s = np.clip((times - self.times[k])[:, None] / h, 0.0, 1.0)
        q, v = self._interpolated(k, h, s)
        over = times >= self.t_final
        q[over], v[over] = self.q[-1], 0.0
        return q, v

    def _interpolated(self, k: Any, h: Any, s: Any) -> tuple[Any, Any]:
        """Return positions and velocities in one cell (n,), or a cell per row (m, n).

        Args:
            k: Index of the cell, or indices (m,).
            h: Duration of the cell, or durations (m, 1), s.
            s: Time since the start of the cell divided by its duration, or times (m, 1).
        """
        rise, here, there = self.q[k + 1] - self.q[k], h * self.v[k], h * self.v[k + 1]
        bent, turned = 3.0 * rise - 2.0 * here - there, here + there - 2.0 * rise
        q = self.q[k] + s * (here + s * (bent + s * turned))
        return q, (here + s * (2.0 * bent + 3.0 * s * turned)) / h

    def commands(self, t: float, horizon: float) -> tuple[Vector, Matrix]:
        """Return the offsets (k,) and the efforts (k, n) of commands after time `t`, s.

        The first offset is 0, the others are below `horizon`, s. Efforts that last less than a
        nanosecond are omitted.
        """
        first = self.cell(t)
        last = max(int(self.times.searchsorted(t + horizon - SAME)), first + (t >= 0.0))
        offsets, efforts = np.maximum(self.times[first:last] - t, 0.0), self.efforts[first:last]
        if last == len(self.times):
            efforts = np.vstack([efforts, self.hold])
        if t < 0.0:
            offsets, efforts = np.append(0.0, offsets), np.vstack([self.wait, efforts])
        lasting = np.append(np.diff(np.rint(1e9 * offsets)) > 0.0, True)
        offsets, efforts = offsets[lasting], efforts[lasting]
        changed = np.append(True, (efforts[1:] != efforts[:-1]).any(axis=1))
        return offsets[changed], efforts[changed]

    def cell(self, t: float) -> int:
        """Return the index of the cell at time `t`, s."""
        return max(int(self.times.searchsorted(t, side="right")) - 1, 0)


@lru_cache(maxsize=8)
def _of(plan, spacing: float) -> SampledMotion:
    """Return the samples of a plan. They are cached, because a plan may be executed many times."""
    if plan.t_final == 0.0:
        return SampledMotion.standing(plan.qf, plan.hold)
    kernels = customize(plan.robot).unchecked
    coarse = cell_boundaries(plan, spacing)
    times, efforts = in_two_steps(plan, coarse)
    q, v, _ = plan.at(times)
    steps, middles = 0.5 * np.diff(efforts, axis=0), ~np.isin(times, coarse)
    steep = np.append(False, np.any(np.abs(steps) > STEEP * plan.robot.tau_max, axis=1))
    for k in np.flatnonzero(middles[:-1] & steep):  # the velocity lags behind that of the plan
        impulse = (times[k + 1] - times[k - 1]) / 8.0 * steps[k - 1]
        v[k] -= np.linalg.solve(kernels.mass_matrix(q[k]), impulse)
    zero = np.zeros(len(plan.q0))
    wait = kernels.inverse_dynamics(plan.q0, zero, zero)
    return SampledMotion(times, q, v, efforts, plan.hold, wait)


def in_two_steps(plan, times: Vector) -> tuple[Vector, Matrix]:
    """Divide each cell in which the efforts of a plan vary into two halves with constant efforts.

    A single constant effort with the same impulse would displace the arm by another distance. Two
    efforts, d below and above the mean, preserve impulse and displacement. With the scaled time x
    from -1 to 1 of the cell, d is the integral of x times the effort. Both integrals are computed
    by Gauss-Legendre quadrature between knots, where the efforts are smooth.

    Args:
        plan: The plan.
        times: Boundaries of the cells (k + 1,), s.

    Returns:
        The new boundaries and efforts.
    """
    fine = np.unique(np.concatenate([times, np.clip(plan.knots, 0.0, plan.t_final)]))
    starts = fine.searchsorted(times[:-1])
    middles, halves = 0.5 * (times[:-1] + times[1:]), 0.5 * np.diff(times)
    cell = times.searchsorted(fine[:-1], side="right") - 1
    durations = np.diff(fine)[:, None]
    points = 0.5 * (fine[:-1] + fine[1:])[:, None] + 0.5 * durations * NODES
    scaled = (points - middles[cell, None]) / halves[cell, None]
    weights = 0.5 * durations * WEIGHTS / halves[cell, None]
    rows = plan.at(points.ravel())[2].reshape(*points.shape, -1)
    means, steps = (
        np.add.reduceat(np.einsum("kj,kji->ki", weight, rows), starts)
        for weight in (0.5 * weights, scaled * weights)
    )
    efforts = np.stack([means - steps, means + steps], axis=1).reshape(-1, means.shape[1])
    retained = np.ones(len(efforts), dtype=bool)
    retained[1::2] = np.any(np.abs(steps) > ROUNDING * np.abs(means).max(), axis=1)
    return np.sort(np.append(times, middles))[np.append(retained, True)], efforts[retained]


def cell_boundaries(plan, spacing: float) -> Vector:
    """Return times (k,) every `spacing` seconds, and exactly at the knots of a plan, s.

    Refined motions have thousands of knots, and most of their efforts vary slowly. Knots that are
    less than `spacing` apart are omitted, unless the efforts change considerably.
    """
    knots = plan.knots
    if len(knots) > 2:
        durations = np.diff(knots)
        _, _, efforts = plan.at(knots[:-1] + 0.5 * durations)
        changes = np.abs(np.diff(efforts, axis=0)) / plan.robot.tau_max
        dense = np.maximum(durations[:-1], durations[1:]) < spacing
        omitted = np.hstack([False, dense & (changes < SWITCH).all(axis=1), False])
        knots = knots[~omitted]
    return cells(knots, plan.t_final, spacing)


def cells(knots: Vector, t_final: float, spacing: float) -> Vector:
    """Return times from 0 to `t_final` (s): every `spacing` seconds, and exactly at the knots."""
    spacing = max(spacing, t_final / MOST_CELLS)
    fixed = np.unique(np.concatenate([[0.0], np.clip(knots, 0.0, t_final), [t_final]]))
    fixed = fixed[np.append(True, np.diff(fixed) > SAME)]
    fixed[-1] = t_final
    grid = np.arange(0.0, t_final, spacing)
    after = np.searchsorted(fixed, grid).clip(1, len(fixed) - 1)
    near = np.minimum(np.abs(grid - fixed[after - 1]), np.abs(fixed[after] - grid)) <= SAME
    return np.sort(np.concatenate([fixed, grid[~near]]))
