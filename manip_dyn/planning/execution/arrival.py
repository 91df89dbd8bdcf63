"""Detection of the arrival at a goal from several measured states."""

from __future__ import annotations

import numpy as np

from manip_dyn.control.state_estimation import SIGMAS
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.identification import SAME, MotionRecord

STATES, NOISY_STATES = 3, 32
"""Number of states at the goal with which an arm has arrived, without and with noise."""
SPEED = 10.0
"""Ratio of the tolerances of speeds and positions, 1/s."""


class Arrival:
    """Detects that an arm rests at its goal.

    The last states of the record must satisfy two conditions for each joint. The root mean square
    of the position errors exceeds the tolerance at most by the noise. The mean error exceeds it at
    most by the noise of the mean. The same holds for the velocities, with `SPEED` times the
    tolerance. An oscillation violates the first condition, although its mean is zero.

    Attributes:
        time: Time of the arrival, s; None before it.
    """

    def __init__(self, record: MotionRecord, tolerance: float):
        """Set the record of measured states, and the tolerance of the positions, rad or m."""
        self._record = record
        self._tolerances = np.array([[tolerance], [SPEED * tolerance]])
        self.time: float | None = None

    @property
    def is_noisy(self) -> bool:
        """Whether noise may exceed the tolerances."""
        return bool((SIGMAS * self._record.noise > self._tolerances).any())

    def is_slow(self, v: Vector) -> Vector:
        """Return for each joint whether it may be at rest, given its measured velocity (n,)."""
        return np.abs(v) <= self._tolerances[1] + SIGMAS * self._record.noise[1]

    def update(self, goal: Vector, end: float) -> None:
        """Set `time` if the arm rests at `goal` (n,) after `end`, the end of the motion (s)."""
        count = NOISY_STATES if self.is_noisy else STATES
        if self.time is not None or self._record.count < count:
            return
        times, q, v = self._record.last(count)
        if times[0] < end - SAME:
            return
        errors = np.array([q - goal, v])
        noise = self._record.noise
        largest = self._tolerances + noise * (1.0 + SIGMAS / np.sqrt(2.0 * count))
        mean = self._tolerances + noise * SIGMAS / np.sqrt(count)
        if np.all(np.sqrt((errors**2).mean(axis=1)) <= largest) and np.all(
            np.abs(errors.mean(axis=1)) <= mean
        ):
            before = self._record.before(count)
            self.time = end if before is None or before < end - SAME else float(times[0])
