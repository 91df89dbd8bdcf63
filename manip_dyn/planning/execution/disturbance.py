"""Observer of the joint efforts that the model does not explain, such as friction and payloads.

The observer predicts the velocities over the last period from the model, the applied efforts and
the estimate. The prediction error corrects the estimate d::

    d += (1 - exp(-w h)) M(q) (v - predicted v) / h

The estimate of a constant disturbance converges with the bandwidth w. Noise in the error of a
joint lowers its bandwidth. With an exact model the error is zero, and so is d. The prediction uses
the efforts that were applied, including the compensation. Therefore a known delay does not affect
the stability of the estimate.
"""

from __future__ import annotations

import math

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.planning.execution.segments import Segment
from manip_dyn.robot import Robot

LONGEST_STEP = 1e-3
"""Longest step of the prediction, s."""
NOISE = 0.05
"""Largest correction by a typical noise, as a fraction of the effort limit."""
NOISE_WEIGHT = 0.02
"""Smallest weight of a new sample in the estimate of the noise."""
TINY = 1e-6
"""Smallest noise, as a fraction of the effort limit."""
SAME = 1e-9
"""Difference below which times are equal, s."""


class DisturbanceObserver:
    """Estimates disturbances from measured states and commands.

    Attributes:
        effort: Estimated efforts (n,) that act on the arm in addition to commands and model.
    """

    def __init__(self, robot: Robot, tuning: Tuning, horizon: float, period: float):
        """Start without a disturbance.

        Args:
            robot: The model. With dry friction in the model, nothing is estimated.
            tuning: Tuning with the bandwidth of the estimate.
            horizon: Period plus delay, s. A command acts after the delay.
            period: Time between measurements, s.
        """
        self.effort = np.zeros(robot.n)
        self._kernels = customize(robot).unchecked
        self._bandwidth, self._period = tuning.observer_bandwidth, period
        self._delay = max(horizon - period, 0.0)
        self._active = tuning.observer_bandwidth > 0.0 and not robot.has_dry_friction
        self._limit, self._count, self._variance = robot.tau_max, 0, np.zeros(robot.n)
        self._error: Vector | None = None
        self._measured: tuple[float, Vector, Vector] | None = None
        self._commands: list[tuple[float, list[tuple[float, Vector]]]] = []

    def observe(self, t: float, q: Vector, v: Vector) -> None:
        """Correct the estimate with the state (q, v) measured at time `t`, s."""
        if not self._active:
            return
        if self._measured is not None:
            begin, before_q, before_v = self._measured
            elapsed = t - begin
            if elapsed <= 0.5 * self._period:
                return
            rows = self._applied(begin, t)
            if rows is not None:
                predicted = self._predicted(before_q, before_v, rows)
                self._correct(self._kernels.mass_matrix(q) @ (v - predicted) / elapsed, elapsed)
        self._measured = (t, q, v)

    def _correct(self, error: Vector, elapsed: float) -> None:
        """Correct the estimate by an effort error (n,); noise lowers the gain of a joint."""
        if self._error is not None:
            weight = max(1.0 / (self._count + 1.0), NOISE_WEIGHT)
            change = 0.5 * (error - self._error) ** 2
            self._variance = self._variance + weight * (change - self._variance)
            self._count += 1
            noise = np.maximum(np.sqrt(self._variance), TINY * self._limit)
            gain = -math.expm1(-self._bandwidth * elapsed)
            self.effort = self.effort + np.minimum(gain, NOISE * self._limit / noise) * error
        self._error = error

    def command(self, t: float, segments: list[Segment]) -> None:
        """Record the command for the state measured at time `t`, s."""
        if not self._active or (self._measured is not None and self._measured[0] != t):
            return
        rows = [(t + segment.offset, segment.effort) for segment in segments]
        oldest = t - self._delay - self._period - SAME
        started = [row for row in self._commands if row[0] < t - SAME]
        first = max((k for k, row in enumerate(started) if row[0] <= oldest), default=0)
        self._commands = [*started[first:], (t, rows)]

    def _applied(self, begin: float, end: float) -> list[tuple[float, Vector]] | None:
        """Return durations (s) and efforts (n,) between two times, or None if they are unknown."""
        commands, now = self._commands, begin
        if not commands or end - begin > 1.5 * self._period:
            return None
        rows = []
        while now < end - SAME:
            started = [k for k, row in enumerate(commands) if row[0] + self._delay <= now + SAME]
            if not started:
                return None
            until = end
            if started[-1] + 1 < len(commands):
                until = min(until, commands[started[-1] + 1][0] + self._delay)
            (_, acting), *later = commands[started[-1]][1]
            for begins, effort in later:
                if begins <= now + SAME:
                    acting = effort
                else:
                    until = min(until, begins)
                    break
            rows.append((until - now, acting))
            now = until
        return rows

    def _predicted(self, q: Vector, v: Vector, rows: list[tuple[float, Vector]]) -> Vector:
        """Return the velocities (n,) after the durations and efforts of `rows`."""
        dynamics = self._kernels.forward_dynamics
        for duration, effort in rows:
            steps = max(math.ceil(duration / LONGEST_STEP - 1e-6), 1)
            h, tau = duration / steps, effort + self.effort
            for _ in range(steps):
                k1 = dynamics(q, v, tau)
                v2 = v + 0.5 * h * k1
                k2 = dynamics(q + 0.5 * h * v, v2, tau)
                v3 = v + 0.5 * h * k2
                k3 = dynamics(q + 0.5 * h * v2, v3, tau)
                v4 = v + h * k3
                k4 = dynamics(q + h * v3, v4, tau)
                q = q + h / 6.0 * (v + 2.0 * (v2 + v3) + v4)
                v = v + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
        return v
