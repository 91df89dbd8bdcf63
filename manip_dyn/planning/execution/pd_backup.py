"""PD backup control after a plan that does not reach its goal (Fan 2003).

In Fan (2003), figures 6.3 and 6.5, a switch function activates PD control (eq. 6.57, appendix
A.11) if the zero-net-work controller does not move the arm to its goal::

    u = -Kp (q - goal) - Kd v     within the effort limits

The thesis does not state when the controller switches. Here it switches if the plan has ended with
a joint farther from the goal than `Tuning.tolerance`, or if a joint deviates from the plan by more
than `Tuning.off_plan`. PD control then remains active. Without gravity it has no steady-state
error (eqs. 6.58 to 6.63).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot


@dataclass(frozen=True, eq=False)
class PdBackup:
    """PD control that replaces a plan.

    Attributes:
        kp: Proportional gains (n,), N m/rad or N/m.
        kd: Derivative gains (n,), N m s/rad or N s/m.
    """

    kp: ArrayLike
    kd: ArrayLike

    def __post_init__(self) -> None:
        """Check that the gains are positive."""
        for name in ("kp", "kd"):
            gains = np.asarray(getattr(self, name), dtype=float).ravel()
            if not np.all(np.isfinite(gains)) or not np.all(gains > 0.0):
                raise ManipDynError(f"{name} must be above 0, got {gains.tolist()}.")

    def efforts(self, robot: Robot, q: Vector, v: Vector, goal: Vector) -> Vector:
        """Return the efforts (n,) for the state (q, v) within the limits of the robot."""
        kp, kd = (finite_vector(name, getattr(self, name), robot.n) for name in ("kp", "kd"))
        return np.clip(-kp * (q - goal) - kd * v, -robot.tau_max, robot.tau_max)
