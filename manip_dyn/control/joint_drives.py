"""Joint drives, which follow positions, velocities and efforts, and the brake of an arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Matrix, Vector, nanoseconds, not_negative, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.linear_algebra import box_minimum
from manip_dyn.core.numerics import CREEP
from manip_dyn.robot import Robot


class References(NamedTuple):
    """What the joints are told, NaN where they are not told this.

    A joint follows its position, its velocity, or its position on the way with its velocity; or it
    has an effort; or it is told nothing.

    Attributes:
        position: (n,), rad or m.
        velocity: (n,), rad/s or m/s.
        effort: (n,), N m or N.
    """

    position: Vector
    velocity: Vector
    effort: Vector

    @property
    def untold(self) -> NDArray[np.bool_]:
        """Which joints are told nothing (n,)."""
        return np.isnan(self.position) & np.isnan(self.velocity) & np.isnan(self.effort)

    def held_at(self, q: Vector) -> References:
        """Return them with a position q (n,) for each joint that is told nothing."""
        return self._replace(position=np.where(self.untold, q, self.position))

    def within_limits(self, robot: Robot) -> References:
        """Return them, cut off at the limits of position, speed and effort."""
        return References(
            np.clip(self.position, robot.q_min, robot.q_max),
            np.clip(self.velocity, -robot.v_max, robot.v_max),
            np.clip(self.effort, -robot.tau_max, robot.tau_max),
        )


BANDWIDTH = 100.0
"""How fast errors decrease unless it is said otherwise, 1/s."""
PERIOD = 1e-3
"""Time for which efforts are held, s."""
BRAKING_SHARE = 0.8
"""Share of the deceleration that the efforts allow which an approach reckons with."""
NEAR = 0.01
"""Within what an arm is where it was told to be: rad or m, and per s."""
TINY = 1e-300


class JointDrive:
    """Computed torque with feedback of position and velocity, within the limits.

    tau = M(q) a + h(q, v), a = k_v (v_c - v), v_c = v_r + k_p / k_v (q_r - q). This is the inverse
    dynamics control a = k_v (v_r - v) + k_p (q_r - q) of Siciliano et al., Robotics, 2009, section
    8.5.2, which makes a double integrator with feedback of each joint. Its efforts are held for
    h, and the gains place both poles of what is sampled at p = exp(-bandwidth h):

        k_p = (1 - p)^2 / h^2,   k_v = (1 - p) (3 + p) / (2 h),

    from 2 - k_v h - k_p h^2 / 2 = 2 p (trace) and 1 - k_v h + k_p h^2 / 2 = p^2 (determinant).
    This is stable at every bandwidth, and where efforts are held for less than h. At low
    bandwidths it is k_p = bandwidth^2, k_v = 2 bandwidth: a position that moves on without a
    velocity is followed 2 / bandwidth behind. A joint that is told a velocity alone has
    a = (1 - p) / h (v_r - v). Coulomb friction is compensated at v_c.

    v_c keeps within the speed limit, and the approach k_p / k_v (q_r - q) within
    sqrt(2 a_b |q_r - q|), where a_b is a deceleration that all joints can have at once (proximate
    time-optimal: Workman, Kosut, Franklin 1987): a reference that is far away is reached smoothly,
    and one that moves on fast without a velocity is followed farther behind. Efforts that do not
    suffice are those of the largest share of a that they allow.

    Beside joints that are told an effort, the acceleration that these take follows from it (hybrid
    dynamics: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 9.2), so that the others
    follow what they are told all the same.

    Attributes:
        references: What the joints are told, within their limits.
    """

    def __init__(
        self,
        kernels: Kernels,
        references: References,
        bandwidth: float = BANDWIDTH,
        period: float = PERIOD,
    ):
        """Take the arm, what its joints are told, the bandwidth (1/s), and how long efforts last.

        Raises:
            ManipDynError: If a joint is told nothing.
        """
        robot = self._robot = kernels.robot
        for joint in np.flatnonzero(references.untold):
            raise ManipDynError(
                f"joint '{robot.joint_names[joint]}' is told nothing; expected a position, a "
                "velocity or an effort"
            )
        self._kernels, self._period_ns = kernels, nanoseconds("drive period", period)
        self.references = references.within_limits(robot)
        self._given, self._placed = ~np.isnan(references.effort), ~np.isnan(references.position)
        self._limited = np.isfinite(robot.tau_max) & (robot.tau_max > 0.0)
        h = 1e-9 * self._period_ns
        rest = -np.expm1(-positive("command bandwidth", bandwidth, "1/s") * h)  # 1 - p
        self._approach = 2.0 * rest / (h * (4.0 - rest))
        self._rate = np.where(self._placed, rest * (4.0 - rest) / (2.0 * h), rest / h)

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) that act for the next period, N m or N."""
        robot, unchecked = self._robot, self._kernels.unchecked
        inertia = unchecked.mass_matrix(q)
        bias = unchecked.inverse_dynamics(q, v, np.zeros(robot.n))
        speed = self._speed(q, self._braking(inertia, bias))
        acceleration = self._rate * (speed - v)
        bias += robot.coulomb_friction * np.tanh(np.where(self._given, v, speed) / CREEP)
        if self._given.any():
            self._accelerate(inertia, bias, acceleration)
        wanted = bias + self._share(inertia @ acceleration, bias)
        wanted[self._given] = self.references.effort[self._given]
        return np.clip(wanted, -robot.tau_max, robot.tau_max)

    def next_switch(self, time_ns: int) -> int:
        """Return when the efforts change next, a whole number of periods."""
        return (time_ns // self._period_ns + 1) * self._period_ns

    def holds(self, q: Vector, v: Vector) -> bool:
        """Whether the arm at (q, v), (n,), is where it was told to rest, within `NEAR`.

        A joint that is told a velocity of zero and no position is so at any place, if it rests.
        """
        if self._given.any() or np.any(np.nan_to_num(self.references.velocity)):
            return False
        return bool(np.abs(np.where(self._placed, self._error(q), v)).max() <= NEAR)

    def _error(self, q: Vector) -> Vector:
        return np.where(self._placed, self.references.position - q, 0.0)

    def _speed(self, q: Vector, braking: Vector) -> Vector:
        """Return the velocities (n,) at which joints approach what they are told."""
        error = self._error(q)
        fastest = np.sqrt(2.0 * BRAKING_SHARE * braking * np.abs(error))
        approach = np.clip(self._approach * error, -fastest, fastest)
        wanted = np.nan_to_num(self.references.velocity) + approach
        return np.clip(wanted, -self._robot.v_max, self._robot.v_max)

    def _braking(self, inertia: Matrix, bias: Vector) -> Vector:
        """Return decelerations (n,), in proportion to effort by inertia, that efforts allow."""
        limits = np.where(self._limited, self._robot.tau_max, 0.0)
        each = limits / np.diag(inertia)
        room = np.maximum(limits - np.abs(bias), 0.1 * limits)
        needed = np.maximum(np.abs(inertia) @ each, TINY)
        share = np.min(room / needed, where=self._limited, initial=1.0)
        return np.where(self._limited, share * each, 1e9)

    def _share(self, wanted: Vector, bias: Vector) -> Vector:
        """Return the largest share of the efforts (n,) that is within the limits with the bias."""
        room = self._robot.tau_max - np.sign(wanted) * bias
        if np.any(room <= 0.0):
            return wanted
        shares = room / np.maximum(np.abs(wanted), TINY)
        return wanted * np.min(shares, where=~self._given, initial=1.0)

    def _accelerate(self, inertia: Matrix, bias: Vector, acceleration: Vector) -> None:
        """Write the accelerations that joints with given efforts take beside the others (n,)."""
        given = self._given
        acceleration[given] = 0.0
        missing = (self.references.effort - bias - inertia @ acceleration)[given]
        acceleration[given] = np.linalg.solve(inertia[np.ix_(given, given)], missing)


RATE = 20.0
"""How fast speeds fall unless it is said otherwise, 1/s."""


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
