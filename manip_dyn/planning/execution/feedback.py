"""Computed-torque feedback to a reference within the effort limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot

REPLAN = ("stop", "resume", "new_motion")
"""Responses of an arm that has left its plan."""

EFFORT_NOISE = 0.02
"""Standard deviation of the noise of the efforts that is tolerated, relative to their limits."""
POSITION_NOISE = 0.01
"""Noise of the positions relative to `Tuning.off_plan` from which errors are filtered."""
LONGEST_FILTER = 0.012
"""Longest time constant of the error filter, s."""


@dataclass(frozen=True)
class Tuning:
    """Gains and thresholds of an execution.

    The defaults place two poles at -20 / s; with the integral all poles remain real.

    Attributes:
        stiffness: Feedback of the position error, 1/s^2.
        damping: Feedback of the velocity error, 1/s.
        integral: Feedback of the integral of the position error, 1/s^3. It is used after the end
            of the planned motion.
        off_plan: Position error of a joint above which the arm leaves the plan, rad or m; inf for
            never. See `replan`.
        tolerance: Largest position error (rad or m) with which an arm has arrived. Its largest
            speed is ten times this value, in rad/s or m/s.
        max_deviation: Largest distance of a joint from the path with which an arm that has left
            the plan brakes along the path, rad or m; `off_plan` if that is larger. Farther away,
            it brakes all joints at once.
        replan: Response of an arm that has left the plan. ``stop``: it stops and holds its
            position. ``resume``: it stops, returns to the path if necessary, and follows the rest
            of the path with lower efforts. ``new_motion``: it moves straight to the goal.
        observer_bandwidth: Bandwidth of the estimated disturbance, which is compensated after the
            arm has left the plan, 1/s; 0 for no compensation.
    """

    stiffness: float = 400.0
    damping: float = 40.0
    integral: float = 1000.0
    off_plan: float = 0.02
    tolerance: float = 1e-4
    max_deviation: float = 0.05
    replan: str = "resume"
    observer_bandwidth: float = 100.0

    def __post_init__(self) -> None:
        """Check the values."""
        not_negative("stiffness", self.stiffness, "1/s^2")
        not_negative("damping", self.damping, "1/s")
        not_negative("integral", self.integral, "1/s^3")
        positive("tolerance", self.tolerance)
        positive("max_deviation", self.max_deviation)
        not_negative("observer_bandwidth", self.observer_bandwidth, "1/s")
        if self.replan not in REPLAN:
            raise ManipDynError(f"replan must be one of {', '.join(REPLAN)}, got {self.replan!r}.")
        if self.off_plan != math.inf:
            positive("off_plan", self.off_plan)
        if self.integral > self.stiffness * self.damping:
            raise ManipDynError(
                "integral must be at most stiffness times damping, "
                f"{self.stiffness * self.damping:g} 1/s^3, got {self.integral:g} 1/s^3: the arm "
                "would oscillate."
            )


class ErrorFilter:
    """Low-pass filter of tracking errors, whose time constant depends on the measured noise.

    Noise in the feedback causes noise in the efforts. Near the limits, efforts are
    clipped on one side, which changes their mean. The filter limits this noise to `EFFORT_NOISE`,
    as far as `LONGEST_FILTER` permits. Without noise it returns its input.

    Attributes:
        inertia: Diagonal of the mass matrix (n,) at a posture, kg m^2 or kg.
        effort_noise: Standard deviation of the filtered noise of the efforts, relative to their
            limits.
        lag: Lag of the filtered errors, s.
    """

    def __init__(self, robot: Robot, tuning: Tuning, period: float, q: Vector):
        """Set the gains that amplify the noise, the control period (s), and a posture (n,)."""
        self._tuning, self._period, self._most = tuning, period, LONGEST_FILTER / period
        self.inertia = customize(robot).unchecked.mass_matrix(q).diagonal()
        self._limit, self._zero = robot.tau_max, np.zeros(robot.n)
        self._errors: Vector | None = None
        self._before: Vector | None = None  # velocity errors of the previous period
        self.lag, self.effort_noise = 0.0, 0.0

    def reset(self) -> None:
        """Discard the stored errors, because the reference changes."""
        self._errors = self._before = None

    @property
    def velocity_errors(self) -> Vector:
        """Velocity errors (n,) of the last state; NaN after a reset."""
        return np.full(len(self._zero), np.nan) if self._errors is None else self._errors[1]

    def restore(self, velocity_errors: Vector | None) -> None:
        """Set the velocity errors (n,) of the last state, without noise. None is a reset."""
        self.reset()
        if velocity_errors is not None and not np.isnan(velocity_errors).any():
            self._errors = np.array([self._zero, velocity_errors])

    def change(self, delay: float) -> Vector:
        """Return the expected change (n,) of the velocity errors until efforts act.

        The errors continue to grow for the delay of the commands (s), and the lag of the filter.
        """
        if self._errors is None or self._before is None:
            return self._zero
        return (self.lag + delay) / self._period * (self._errors[1] - self._before)

    def state(
        self, q: Vector, v: Vector, q_ref: Vector, v_ref: Vector, noise: Matrix
    ) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) with filtered errors.

        Args:
            q: Measured positions (n,), rad or m.
            v: Measured velocities (n,), rad/s or m/s.
            q_ref: Positions of the reference (n,).
            v_ref: Velocities of the reference (n,).
            noise: Standard deviations (2, n) of the noise of positions and velocities.
        """
        errors, tuning = np.array([q - q_ref, v - v_ref]), self._tuning
        accelerations = tuning.stiffness * noise[0] + tuning.damping * noise[1]
        ratio = float((self.inertia * accelerations / self._limit).max())
        if np.all(noise[0] <= 2.0 * self._period * noise[1]):
            ratio = 0.0  # efforts that alternate between their limits
        periods = min(0.5 * (ratio / EFFORT_NOISE) ** 2, self._most)
        if POSITION_NOISE * tuning.off_plan < noise[0].max():
            periods = max(periods, 0.5 * self._most)
        self.effort_noise = ratio / math.sqrt(max(2.0 * periods, 1.0))
        self._before = None if self._errors is None else self._errors[1]
        self.lag = (max(periods, 1.0) - 1.0) * self._period
        if self._errors is None or periods < 1.0:
            self._errors = errors
            return q, v
        # The position error grows with the velocity error during the period.
        predicted = self._errors + np.array([self._period * self._errors[1], self._zero])
        self._errors = predicted + (errors - predicted) / periods
        return q_ref + self._errors[0], v_ref + self._errors[1]


class Ahead(NamedTuple):
    """Prediction for the period in which the next efforts act.

    Attributes:
        v: Velocities of the joints (n,) at its end without feedback, rad/s or m/s.
        duration: Duration, s.
        delay: Time from the measurement of an error to the effect of its correction, s.
    """

    v: Vector
    duration: float
    delay: float


class Feedback:
    """Computes efforts from tracking errors.

    The desired acceleration is K e + D de/dt plus I times the integral of the position error e,
    with the stiffness K, the damping D and the integral gain I of `Tuning`. The correction is the
    efforts that produce it at the measured state, minus those for zero acceleration at the
    reference.

    The feedback accelerates no joint beyond its speed limit w. The efforts act for a period h. At
    its end, the joint is predicted to move at v without feedback. The acceleration of the feedback
    is at most (w - v) / (h + 2 d) with the delay d of the loop: commands that have not acted yet
    accelerate the joint, too, and without 2 d the loop would oscillate. If v exceeds w, it is at
    most -D (v - w). The same holds in the other direction. Therefore, without a delay and with an
    exact prediction, no speed below the limit exceeds it, and an excess decays like exp(-D t). The
    bound has no effect on a joint without errors, whose reference satisfies the limit.

    Attributes:
        sum: Integral of the position error (n,), rad s or m s.
        saturated: Whether the last efforts were clipped.
        slowed: Whether the speed limit of each joint (n,) limited its last acceleration.
    """

    def __init__(self, robot: Robot, tuning: Tuning):
        """Start with a zero integral."""
        self._limit, self._zero = robot.tau_max, np.zeros(robot.n)
        self._fastest = robot.v_max
        self._kernels = customize(robot).unchecked
        self._tuning = tuning
        self.sum = np.zeros(robot.n)
        self.saturated = False
        self.slowed = np.zeros(robot.n, dtype=bool)

    def acceleration(self, q: Vector, v: Vector, q_ref: Vector, v_ref: Vector) -> Vector:
        """Return the desired accelerations (n,) of the feedback at the state (q, v)."""
        tuning = self._tuning
        return (
            tuning.stiffness * (q_ref - q)
            + tuning.damping * (v_ref - v)
            + tuning.integral * self.sum
        )

    def correction(
        self, q: Vector, v: Vector, q_ref: Vector, v_ref: Vector, ahead: Ahead
    ) -> Vector:
        """Return the correction (n,) to the efforts of the reference, within the speed limits.

        Args:
            q: Measured positions (n,), rad or m.
            v: Measured velocities (n,), rad/s or m/s.
            q_ref: Positions of the reference (n,).
            v_ref: Velocities of the reference (n,).
            ahead: Prediction for the period in which the efforts act.
        """
        efforts = self._kernels.inverse_dynamics
        desired = self._within_speeds(self.acceleration(q, v, q_ref, v_ref), ahead)
        return efforts(q, v, desired) - efforts(q_ref, v_ref, self._zero)

    def _within_speeds(self, desired: Vector, ahead: Ahead) -> Vector:
        """Limit the desired accelerations (n,) to respect the speed limits; see `Feedback`."""
        low, high = self._fastest + ahead.v, self._fastest - ahead.v
        quick, slow = 1.0 / (ahead.duration + 2.0 * ahead.delay), self._tuning.damping
        low, high = (slack * np.where(slack > 0.0, quick, slow) for slack in (low, high))
        limited = np.minimum(np.maximum(desired, -low), high)
        self.slowed = limited != desired
        return limited

    def hold(self, q: Vector) -> Vector:
        """Return the efforts (n,) that hold the arm at rest at `q`."""
        return self._kernels.inverse_dynamics(q, self._zero, self._zero)

    def integrate(self, error: Vector, duration: float) -> None:
        """Integrate a position error (n,) over `duration` s, except of limited joints."""
        if not self.saturated:
            self.sum = self.sum + duration * error * ~self.slowed

    def limited(self, q: Vector, efforts: Any) -> Any:
        """Return efforts (n,) or rows of efforts (k, n) within their limits at positions `q` (n,).

        The missing acceleration of saturated joints would disturb the other joints. Therefore the
        efforts of the other joints are changed to preserve their accelerations, within the limits.
        `saturated` refers to the first row.
        """
        rows = np.atleast_2d(efforts)
        clipped = self._clipped(rows)
        over = clipped != rows
        self.saturated = bool(over[0].any())
        partly = over.any(axis=1) & ~over.all(axis=1)
        if partly.any():
            mass = self._kernels.mass_matrix(q)
            for joints in np.unique(over[partly], axis=0):
                same = (over == joints).all(axis=1)
                lack = (clipped - rows)[np.ix_(same, joints)]
                lack = np.linalg.solve(mass[np.ix_(joints, joints)], lack.T).T
                clipped[np.ix_(same, ~joints)] += lack @ mass[np.ix_(joints, ~joints)]
            clipped = self._clipped(clipped)
        return clipped.reshape(efforts.shape)

    def _clipped(self, effort: Any) -> Any:
        return np.minimum(np.maximum(effort, -self._limit), self._limit)  # faster than np.clip
