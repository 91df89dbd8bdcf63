"""Computed-torque control: efforts that make an arm follow a joint motion.

tau = ID(q, v, a) with a = a_r + D (v_r - v) + K (q_r - q) for the reference (q_r, v_r, a_r): the
inverse dynamics ID cancel the dynamics of the arm, and each joint becomes a double integrator with
feedback (Paul 1972; Luh, Walker, Paul 1980; Siciliano et al., Robotics, section 8.5.2). The
efforts are held for a period h. They are computed for the middle of the period, so that the error
of the hold is of second order in h. Coulomb friction is compensated with the mean sign of the
reference velocity over the period. The reference velocity is free of noise, and the mean makes the
impulse exact at a reversal.

With d = D h and k = K h^2, the sampled double integrator is stable for 0 < k / 2 < d < 2 (Jury
criterion with determinant 1 - d + k / 2 and trace 2 - d - k / 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, not_negative, positive
from manip_dyn.core.deprecation import renamed_arguments
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot

SMALLEST = 1e-9
"""Speed below which the sign of a constant velocity is smoothed, rad/s or m/s."""
STIFFNESS, DAMPING = 400.0, 40.0
"""Default feedback, 1/s^2 and 1/s: both poles at -20 / s."""


class JointMotion(NamedTuple):
    """Reference positions, velocities and accelerations of the joints, each (n,).

    Units are rad, rad/s and rad/s^2, or m, m/s and m/s^2 for prismatic joints.
    """

    q: Vector
    v: Vector
    a: Vector


class Efforts(NamedTuple):
    """Efforts (n,) within their limits, N m or N, and flags (n,) of saturated joints."""

    effort: Vector
    saturated: np.ndarray


class ComputedTorque:
    """Computed-torque controller of one arm.

    Attributes:
        robot: The arm; its inertial parameters are assumed to be exact.
        stiffness: Position gain K, 1/s^2.
        damping: Velocity gain D, 1/s.
        period: Time for which each effort is held, s.
    """

    def __init__(
        self,
        robot: Robot,
        stiffness: float,
        damping: float,
        period: float,
        effort_rate: float = 0.0,
    ):
        """Set the feedback and the maximum rate of the efforts.

        Args:
            robot: The arm.
            stiffness: Feedback K of the positions, 1/s^2, for all joints.
            damping: Feedback D of the velocities, 1/s, for all joints.
            period: Time for which each effort is held, s.
            effort_rate: Maximum rate of an effort, N m/s or N/s; 0 for no limit.

        Raises:
            ManipDynError: If an argument is invalid or the feedback is unstable at this period.
        """
        self.robot = robot
        self._max_change = not_negative("effort_rate", effort_rate) * period or np.inf
        self._last: Vector | None = None
        self.period = positive("period", period, "s")
        self._inverse_dynamics = customize(robot).in_place.inverse_dynamics
        self.set_feedback(stiffness, damping)

    def set_feedback(self, stiffness: float, damping: float) -> None:
        """Set stiffness (1/s^2) and damping (1/s).

        Unstable values raise `ManipDynError` and change nothing.
        """
        problem = unstable_feedback(stiffness, damping, self.period)
        if problem:
            raise ManipDynError(problem)
        self.stiffness, self.damping = stiffness, damping

    @renamed_arguments(wanted="reference")
    def efforts(self, q: Vector, v: Vector, reference: JointMotion) -> Efforts:
        """Return the efforts for one control period and flags of the saturated joints.

        Call this method once per period. If `effort_rate` is set, each effort changes by at most
        `effort_rate` times `period` from the previous call; the first call has no such limit.
        `Efforts.saturated` marks joints whose computed effort exceeded `Robot.tau_max`, not those
        limited by `effort_rate`.

        Args:
            q: Measured positions (n,) at the start of the period, rad or m.
            v: Measured velocities (n,) at the start of the period, rad/s or m/s.
            reference: Desired motion at the start of the period.
        """
        a = reference.a + self.damping * (reference.v - v) + self.stiffness * (reference.q - q)
        half = 0.5 * self.period
        effort = np.empty_like(q)
        self._inverse_dynamics(q + half * v + 0.5 * half**2 * a, v + half * a, a, effort)
        effort += self.robot.coulomb_friction * mean_sign(reference.v, reference.a, half)
        limit, last = self.robot.tau_max, self._last
        limited = np.clip(effort, -limit, limit)
        if last is not None:
            limited = np.clip(limited, last - self._max_change, last + self._max_change)
        self._last = limited
        return Efforts(limited, np.abs(effort) > limit)


def mean_sign(v: Vector, a: Vector, half: float) -> Vector:
    """Return the mean sign (n,) of the velocities v + a t over 0 <= t <= 2 `half` (s)."""
    return np.clip((v + half * a) / np.maximum(np.abs(half * a), SMALLEST), -1.0, 1.0)


def delay_margin(stiffness: float, damping: float, period: float) -> float:
    """Return the delay (s) from a state to its effort at which sampled feedback becomes unstable.

    The loop gain (D s + K) / s^2 has the crossover frequency w, rad/s, with w^2 = (D^2 +
    sqrt(D^4 + 4 K^2)) / 2, and the phase margin atan(D w / K). The hold of the efforts acts
    approximately like a delay of half a period. The result is 0 if the feedback is unstable
    without a delay.

    Args:
        stiffness: Feedback K of the positions, 1/s^2.
        damping: Feedback D of the velocities, 1/s.
        period: Time for which each effort is held, s.
    """
    if unstable_feedback(stiffness, damping, period):
        return 0.0
    return max(_delay_at_crossover(stiffness, damping) - 0.5 * period, 0.0)


def _delay_at_crossover(stiffness: float, damping: float) -> float:
    """Return the phase margin of continuous feedback, divided by the crossover frequency, s."""
    crossover = np.sqrt(0.5 * (damping**2 + np.hypot(damping**2, 2.0 * stiffness)))
    return float(np.arctan(damping * crossover / stiffness) / crossover)


def reduced_feedback(
    stiffness: float, damping: float, period: float, delay: float
) -> tuple[float, float]:
    """Return the largest feedback up to the given one whose delay margin is at least `delay`, s.

    Both poles are scaled by the same factor, and the phase margin is unchanged.

    Args:
        stiffness: Feedback K of the positions, 1/s^2.
        damping: Feedback D of the velocities, 1/s.
        period: Time for which each effort is held, s.
        delay: The delay, s.
    """
    factor = _delay_at_crossover(stiffness, damping) / (delay + 0.5 * period)
    return (stiffness, damping) if factor >= 1.0 else (stiffness * factor**2, damping * factor)


def unstable_feedback(stiffness: float, damping: float, period: float) -> str:
    """Return an error message if the sampled feedback is unstable, otherwise ""."""
    d, k = damping * period, stiffness * period**2
    if 0.0 < 0.5 * k < d < 2.0:
        return ""
    return (
        f"joint_stiffness and joint_damping must satisfy 0 < joint_stiffness * {0.5 * period:g} s "
        f"< joint_damping < {2.0 / period:g} for efforts held for {period:g} s, got "
        f"{stiffness:g} 1/s^2 and {damping:g} 1/s."
    )
