"""Efforts with finite ramps: a few levels per joint, and no jump anywhere.

Each joint begins at the effort that holds it at the start, goes from level to level and ends at
the effort that holds it at the goal; between these its effort changes at the slew rate::

    hold -> first level -> (the switch is the middle of this ramp) -> second level -> ... -> hold

Two levels and one switch are bang-bang with ramps; with three levels a joint can cruise between
driving and braking. A motion is the vector x = (levels (levels, n) over the effort limits,
switches (levels - 1, n) over the duration, duration over a time scale).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from manip_dyn.core.checks import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Ramps:
    """What does not change from one motion to the next.

    Attributes:
        begin: Efforts (n,) that hold the arm at the start, N m or N.
        end: Those (n,) at the goal.
        limit: Effort limits (n,).
        slew_rate: Most that an effort changes (n,), per s.
        scale: A time to measure the duration by, s.
        levels: How many levels each joint has.
    """

    begin: Vector
    end: Vector
    limit: Vector
    slew_rate: Vector
    scale: float
    levels: int = 2

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.limit)

    def duration(self, x: Vector) -> float:
        """Return how long the motion takes, s."""
        return float(x[-1] * self.scale)

    def bounds(self) -> tuple[Vector, Vector]:
        """Return the least and the greatest motion."""
        efforts, switches = self.levels * self.n, (self.levels - 1) * self.n
        low = np.concatenate([-np.ones(efforts), np.zeros(switches + 1)])
        return low, np.concatenate([np.ones(efforts + switches), [np.inf]])

    def joined(self, levels: Vector, switches: Vector, t_final: float) -> Matrix:
        """Return the motion with levels (levels, n), switches (levels - 1, n), s, and duration."""
        shares = np.concatenate([(levels / self.limit).ravel(), (switches / t_final).ravel()])
        return np.append(shares, t_final / self.scale)

    def parted(self, x: Vector) -> tuple[Vector, Vector]:
        """Return the levels (levels, n) and the switches (levels - 1, n), s."""
        shares = x[:-1].reshape(-1, self.n)
        return shares[: self.levels] * self.limit, shares[self.levels :] * self.duration(x)

    def with_middle(self, x: Vector) -> tuple[Ramps, Vector]:
        """Return the same motion by two levels as one by three: the middle one is on the ramp."""
        (first, second), (switch,) = self.parted(x)
        quarter = 0.25 * np.abs(second - first) / self.slew_rate
        ramps = replace(self, levels=3)
        levels = np.array([first, 0.5 * (first + second), second])
        switches = np.array([switch - quarter, switch + quarter])
        return ramps, ramps.joined(levels, switches, self.duration(x))

    def corners(self, x: Vector) -> Corners:
        """Return between which corners each effort is linear."""
        levels, switches = self.parted(x)
        efforts = np.vstack([self.begin, levels, self.end])
        ramps, t_final = np.abs(efforts[1:] - efforts[:-1]) / self.slew_rate, self.duration(x)
        times = np.empty((len(ramps), 2, self.n))
        begins, ends = times[:, 0], times[:, 1]
        begins[0], ends[0] = 0.0, ramps[0]
        begins[1:-1], ends[1:-1] = switches - 0.5 * ramps[1:-1], switches + 0.5 * ramps[1:-1]
        begins[-1], ends[-1] = t_final - ramps[-1], t_final
        return Corners(times.reshape(-1, self.n).T, np.repeat(efforts, 2, 0)[1:-1].T)


class Corners:
    """Where the ramps of a motion begin and end.

    Attributes:
        times: Of each joint (n, 2 levels + 2), s; they fall where ramps do not fit (yet).
        levels: Efforts there (n, 2 levels + 2), N m or N.
    """

    def __init__(self, times: Matrix, levels: Matrix):
        """Take times and efforts."""
        self.times, self.levels, self._t_final = times, levels, times[0, -1]
        inside = np.minimum(np.maximum(times, 0.0), self._t_final)
        self._rising = np.maximum.accumulate(inside, axis=1)

    @property
    def room(self) -> Vector:
        """How long each joint is on each of its levels (levels n,), s.

        Below 0 the ramps do not fit into the motion.
        """
        return (self.times[:, 2::2] - self.times[:, 1:-1:2]).ravel()

    @property
    def edges(self) -> Vector:
        """The times at which a ramp of any joint begins or ends (k,), s."""
        return np.unique(np.minimum(np.maximum(self.times.ravel(), 0.0), self._t_final))

    def efforts(self, at: Vector) -> Matrix:
        """Return the efforts (k, n) at times `at` (k,)."""
        pairs = zip(self._rising, self.levels, strict=True)
        return np.array([np.interp(at, *each) for each in pairs]).T
