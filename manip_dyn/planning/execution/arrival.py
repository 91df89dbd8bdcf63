"""End of a motion: detection of the arrival, and compensation of friction near the goal."""

from __future__ import annotations

import numpy as np

from manip_dyn.control.state_estimation import SIGMAS
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.planning.execution.identification import SAME, MotionRecord

STATES, NOISY_STATES = 3, 32
"""Number of states at the goal with which an arm has arrived, without and with noise."""
SPEED = 10.0
"""Ratio of the tolerances of speeds and positions, 1/s."""
BREAKAWAY, NEAR = 0.9, 5.0
"""Fraction of the identified friction that is compensated at rest, and the multiple of
`Tuning.tolerance` from which it is compensated."""
STUCK, STIFFEST = 10.0, 0.25
"""Time at rest after which friction is fully compensated, in horizons, and the largest stiffness
of the compensation times the horizon, relative to the damping."""
MOST, RISE, BACK = 2.0, 0.02, 0.03
"""Largest compensation of joints that rest away from the goal, its increase per horizon at rest,
and its decrease after a movement, relative to the identified friction."""


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

    def is_slow(self, v: Vector, error: Vector) -> Vector:
        """Return whether joints (n,) may be at rest, or slower than `SPEED` times their errors.

        Args:
            v: Measured velocities (n,), rad/s or m/s.
            error: Position errors (n,), rad or m.
        """
        speed = np.maximum(self._tolerances[1], SPEED * np.abs(error))
        return np.abs(v) <= speed + SIGMAS * self._record.noise[1]

    def unsettled(self, error: Vector, v: Vector) -> Vector:
        """Return 1 for joints away from the goal or in motion, otherwise 0 (n,).

        Friction holds the other joints. An integral would let them creep around the goal.

        Args:
            error: Position errors (n,), rad or m.
            v: Measured velocities (n,), rad/s or m/s.
        """
        near = float(self._tolerances[0, 0]) * (0.5 if self.time is None else 1.0)
        unsettled = (np.abs(error) > near) | (np.abs(v) > SPEED * near)
        return np.where(unsettled, 1.0, 0.0)

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


class Breakaway:
    """Compensates friction that holds joints at rest near the goal.

    The efforts have the sign of the position error, and are smaller than the friction. Near the
    goal they act like a spring of stiffness K. With a delay d of the feedback, it reduces the
    damping D by K d. Therefore K d is at most `STIFFEST` times D. The efforts increase with the
    time at rest, because friction holds no joint that moves back and forth.

    Without noise, the efforts of a joint that rests away from the goal then increase further, in
    small steps, until it moves, because the identified friction may be too small. The feedback
    alone would take long: its efforts are proportional to the inertia.
    """

    def __init__(self, tuning: Tuning, period: float, inertia: Vector):
        """Set gains, the control period (s), and the diagonal of the mass matrix (n,)."""
        self._tuning, self._period, self._inertia = tuning, period, inertia
        self._stuck = np.zeros(len(inertia))
        self._level = np.zeros(len(inertia))

    def efforts(
        self,
        error: Vector,
        is_slow: Vector,
        rests: Vector,
        away: Vector,
        friction: Vector,
        noise: Vector,
        horizon: float,
    ) -> Vector:
        """Return the efforts (n,) against which friction holds the joints.

        Args:
            error: Position errors (n,), rad or m.
            is_slow: Whether each joint (n,) may be at rest, or approaches the goal slowly.
            rests: Whether each joint (n,) is at rest.
            away: 1 for joints (n,) that are certainly away from the goal, otherwise 0.
            friction: Identified friction (n,), N m or N.
            noise: Standard deviations of the positions (n,), rad or m.
            horizon: Time ahead for which efforts are computed, s.
        """
        rise = RISE * self._period / horizon * rests * away * (self._stuck >= 1.0)
        back = np.where(is_slow, 0.0, BACK) * (self._stuck > 0.0)
        self._level = np.minimum(np.maximum(self._level + rise - back, 0.0), MOST)
        rising = self._level * friction * away
        friction = BREAKAWAY * friction
        longer = self._stuck + self._period / (STUCK * horizon)
        self._stuck = np.where(is_slow, np.minimum(longer, 1.0), 0.0)
        band = NEAR * self._tuning.tolerance + SIGMAS * noise
        stiffest = STIFFEST * self._tuning.damping / horizon * self._inertia
        spring = np.minimum(np.minimum(friction / band, stiffest) * np.abs(error), friction)
        return self._stuck * np.maximum(spring, rising) * np.sign(error)
