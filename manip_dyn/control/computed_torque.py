"""Computed-torque control: efforts that make an arm follow a motion of its joints.

tau = ID(q, v, a) with a = a_r + D (v_r - v) + K (q_r - q): the inverse dynamics cancels the arm's
own, what is left of each joint is a double integrator with feedback (Paul 1972; Luh, Walker, Paul
1980; Siciliano et al., Robotics, section 8.5.2). The efforts are held for a period h; they are
those of its middle, so that the error of holding them is of second order in h. Coulomb friction is
compensated for the wanted velocity, where noise of the measured one does no harm: for the mean of
its sign, so that the impulse is right where a joint turns back.

With d = D h and k = K h^2 the sampled double integrator is stable for k / 2 < d < 2 (criterion of
Jury for det = 1 - d + k / 2 and trace = 2 - d - k / 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot

SMALLEST = 1e-9
"""Speed, rad/s or m/s, below which the sign of a steady one is not told."""
STIFFNESS, DAMPING = 400.0, 40.0
"""Feedback by default, 1/s^2 and 1/s: both poles at 20 / s."""


class JointMotion(NamedTuple):
    """Wanted positions, velocities and accelerations of the joints, each (n,)."""

    q: Vector
    v: Vector
    a: Vector


class Efforts(NamedTuple):
    """Efforts (n,), N m or N, within their limits, and which of them their limits cut (n,)."""

    effort: Vector
    saturated: np.ndarray


class ComputedTorque:
    """The controller of one arm.

    Attributes:
        robot: The arm; its inertial parameters are taken for true.
    """

    def __init__(
        self,
        robot: Robot,
        stiffness: float,
        damping: float,
        period: float,
        effort_rate: float = 0.0,
    ):
        """Take the feedback and how the efforts may change.

        Args:
            robot: The arm.
            stiffness: K of all joints, 1/s^2.
            damping: D of all joints, 1/s.
            period: How long each effort is held, s.
            effort_rate: Most that an effort changes, N m/s or N/s; 0: efforts may jump.

        Raises:
            ManipDynError: If the feedback is unstable at this period.
        """
        self.robot = robot
        self._most_change = not_negative("effort_rate", effort_rate) * period or np.inf
        self._last: Vector | None = None
        self.period = positive("period", period, "s")
        self._inverse_dynamics = customize(robot).in_place.inverse_dynamics
        self.set_feedback(stiffness, damping)

    def set_feedback(self, stiffness: float, damping: float) -> None:
        """Take other constants; refused ones leave those before."""
        problem = unstable_feedback(stiffness, damping, self.period)
        if problem:
            raise ManipDynError(problem)
        self.stiffness, self.damping = stiffness, damping

    def efforts(self, q: Vector, v: Vector, wanted: JointMotion) -> Efforts:
        """Return what to apply for the period that begins at positions and velocities (n,).

        The first efforts are not limited in rate: what acted before them is not known.
        """
        a = wanted.a + self.damping * (wanted.v - v) + self.stiffness * (wanted.q - q)
        half = 0.5 * self.period
        effort = np.empty_like(q)
        self._inverse_dynamics(q + half * v + 0.5 * half**2 * a, v + half * a, a, effort)
        effort += self.robot.coulomb_friction * mean_sign(wanted.v, wanted.a, half)
        limit, last = self.robot.tau_max, self._last
        limited = np.clip(effort, -limit, limit)
        if last is not None:
            limited = np.clip(limited, last - self._most_change, last + self._most_change)
        self._last = limited
        return Efforts(limited, np.abs(effort) > limit)


def mean_sign(v: Vector, a: Vector, half: float) -> Vector:
    """Return the mean of the signs (n,) of velocities v + a t (n,) over a time of 2 `half`, s."""
    return np.clip((v + half * a) / np.maximum(np.abs(half * a), SMALLEST), -1.0, 1.0)


def unstable_feedback(stiffness: float, damping: float, period: float) -> str:
    """Return why sampled feedback is unstable, in one sentence; empty if it is stable."""
    d, k = damping * period, stiffness * period**2
    if 0.0 < 0.5 * k < d < 2.0:
        return ""
    return (
        f"joint_stiffness is {stiffness:g} 1/s^2 and joint_damping {damping:g} 1/s, which is "
        f"unstable with efforts held for {period:g} s; expected 0 < joint_stiffness * "
        f"{0.5 * period:g} s < joint_damping < {2.0 / period:g}"
    )
