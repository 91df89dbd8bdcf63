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
RESTING = 0.5
"""Integral gain of joints that are held by friction, relative to the largest stable one."""


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
    time at rest, because friction holds no joint that moves back and forth. If friction exceeds
    the identified one, the integral of the feedback overcomes the difference. Its gain is larger
    for joints at rest.
    """

    def __init__(self, tuning: Tuning, period: float, inertia: Vector):
        """Set gains, the control period (s), and the diagonal of the mass matrix (n,)."""
        self._tuning, self._period, self._inertia = tuning, period, inertia
        self._stuck = np.zeros(len(inertia))
        largest = tuning.stiffness * tuning.damping
        ratio = RESTING * largest / tuning.integral if tuning.integral else 1.0
        self._faster = max(ratio - 1.0, 0.0)

    def integration(self, error: Vector, noise: Vector) -> Vector:
        """Return factors (n,) of the integral gain: above 1 for joints at rest near the goal.

        Args:
            error: Position errors (n,), rad or m.
            noise: Standard deviations of the positions (n,), rad or m.
        """
        off = np.abs(error)
        near = (off > SIGMAS * noise) & (off < NEAR * self._tuning.tolerance)
        return 1.0 + self._faster * near * self._stuck

    def efforts(
        self, error: Vector, is_slow: Vector, friction: Vector, noise: Vector, horizon: float
    ) -> Vector:
        """Return the efforts (n,) against which friction holds the joints.

        Args:
            error: Position errors (n,), rad or m.
            is_slow: Whether each joint (n,) may be at rest.
            friction: Identified friction (n,), N m or N.
            noise: Standard deviations of the positions (n,), rad or m.
            horizon: Time ahead for which efforts are computed, s.
        """
        friction = BREAKAWAY * friction
        longer = self._stuck + self._period / (STUCK * horizon)
        self._stuck = np.where(is_slow, np.minimum(longer, 1.0), 0.0)
        band = NEAR * self._tuning.tolerance + SIGMAS * noise
        stiffest = STIFFEST * self._tuning.damping / horizon * self._inertia
        spring = np.minimum(friction / band, stiffest) * error
        return self._stuck * np.minimum(np.maximum(spring, -friction), friction)
