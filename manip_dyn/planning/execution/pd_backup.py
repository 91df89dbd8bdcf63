"""The thesis's backup: PD control once a plan is over, or left, and the goal is not reached.

Fan (2003), figures 6.3 and 6.5: the switch function leaves the zero-net-work controller alone if
it brings the arm to its goal; else it turns PD control on (eq. 6.57, appendix A.11)::

    u = -Kp (q - goal) - Kd v     within the effort limits

When it switches is not printed; here where the plan is over and a joint is farther from the goal
than `Tuning.tolerance`, or where a joint leaves the plan by more than `Tuning.off_plan`; then PD
control stays. It has no steady-state error where no gravity acts (eqs. 6.58 to 6.63).
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
    """PD control that takes over from a plan.

    Attributes:
        kp: Proportional gains (n,), N m/rad or N/m.
        kd: Derivative gains (n,), N m s/rad or N s/m.
    """

    kp: ArrayLike
    kd: ArrayLike

    def __post_init__(self) -> None:
        """Refuse gains that no joint settles with."""
        for name in ("kp", "kd"):
            gains = np.asarray(getattr(self, name), dtype=float).ravel()
            if not np.all(np.isfinite(gains)) or not np.all(gains > 0.0):
                raise ManipDynError(f"{name} is {gains.tolist()}; expected numbers above 0")

    def efforts(self, robot: Robot, q: Vector, v: Vector, goal: Vector) -> Vector:
        """Return the efforts (n,) at a state, within the robot's limits."""
        kp, kd = (finite_vector(name, getattr(self, name), robot.n) for name in ("kp", "kd"))
        return np.clip(-kp * (q - goal) - kd * v, -robot.tau_max, robot.tau_max)
