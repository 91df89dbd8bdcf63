"""`Brake`: brings an arm to rest where it is, and holds it there."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Vector, nanoseconds, not_negative
from manip_dyn.core.numerics.box_minimum import box_minimum

RATE = 20.0
"""How fast speeds fall unless it is said otherwise, 1/s."""
PERIOD = 1e-3
"""Time for which efforts are held, s."""


class Brake:
    """Gravity compensation minus damping, within the effort limits, held for a millisecond.

    The damping is made of the arm's own inertia: u = -D v with D = rate / (1 + rate h) M(q), for
    efforts that are held for h. Then M v' = u has the solution v_k+1 = v_k / (1 + rate h): joint
    speeds fall together, by the factor e every 1 / rate, and the kinetic energy twice as fast. The
    factor lies between 0 and 1 for every rate and every h: this is the implicit Euler method,
    whose next speed is known because M is. Coriolis efforts do no work.

    Where the efforts do not suffice, u is what minimizes

        v' u + (h + 1 / rate) / 2 u' M^-1 u   within   -tau_max - g <= u <= tau_max - g,

    which is -D v where that is inside. While the limits can hold the weight g(q), u = 0 is
    allowed and gives zero, so the minimum is not positive, and

        T(v + h M^-1 u) = T(v) + h (v' u + h / 2 u' M^-1 u) <= T(v):

    the kinetic energy never rises, saturated or not, at any period. A fast arm gets the full
    effort against the motion of each joint. Springs are held as weight is. With rate 0 the weight
    is held and nothing is braked.
    """

    def __init__(self, kernels: Kernels, rate: float = RATE, period: float = PERIOD):
        """Take the arm, the rate (1/s), and how long efforts are held (s)."""
        self._kernels, self._robot = kernels, kernels.robot
        self.rate = not_negative("brake rate", rate)
        self._period_ns = nanoseconds("brake period", period)
        self._still = np.zeros(kernels.robot.n)

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) that act for the next period, N m or N."""
        limits = self._robot.tau_max
        weight = self._kernels.unchecked.inverse_dynamics(q, self._still, self._still)
        held = np.clip(weight, -limits, limits)
        if self.rate == 0.0 or not v.any():
            return held
        return held + self._damping(q, v, -limits - held, limits - held)

    def next_switch(self, time_ns: int) -> int:
        """Return when the efforts change next, a whole number of periods."""
        return (time_ns // self._period_ns + 1) * self._period_ns

    def _damping(self, q: Vector, v: Vector, low: Vector, high: Vector) -> Vector:
        """Return the efforts (n,) against the motion, from `low` to `high` (n,)."""
        inertia = self._kernels.unchecked.mass_matrix(q)
        slowness = 1.0 / self.rate + 1e-9 * self._period_ns
        wanted = -inertia @ v / slowness
        if np.all((low <= wanted) & (wanted <= high)):
            return wanted
        damping = np.zeros_like(v)
        box_minimum(slowness * np.linalg.inv(inertia), v, low, high, damping)
        return damping
