"""Joint drives that follow positions, velocities and efforts, and the brake of an arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Matrix, Vector, nanoseconds, not_negative, positive
from manip_dyn.core.deprecation import warn_deprecated
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.solvers import box_minimum
from manip_dyn.robot import Robot

CREEP = 0.05
"""Velocity v0 (rad/s or m/s) of the friction compensation. To avoid chattering, controllers
compensate Coulomb friction F by F tanh(v / v0), with the measured or desired velocity v."""


class References(NamedTuple):
    """References of the joints; NaN if a joint has no reference.

    A joint has a reference position, a reference velocity, both, a reference effort, or none.

    Attributes:
        position: Reference positions (n,), rad or m.
        velocity: Reference velocities (n,), rad/s or m/s.
        effort: Reference efforts (n,), N m or N.
    """

    position: Vector
    velocity: Vector
    effort: Vector

    @property
    def unset(self) -> NDArray[np.bool_]:
        """Flags (n,) of the joints without a reference."""
        return np.isnan(self.position) & np.isnan(self.velocity) & np.isnan(self.effort)

    @property
    def untold(self) -> NDArray[np.bool_]:
        """Deprecated: `unset`."""
        warn_deprecated("References.untold", "unset")
        return self.unset

    def held_at(self, q: Vector) -> References:
        """Return the references, with the positions q (n,) for joints without a reference."""
        return self._replace(position=np.where(self.unset, q, self.position))

    def within_limits(self, robot: Robot) -> References:
        """Return the references clipped to the limits of position, velocity and effort."""
        return References(
            np.clip(self.position, robot.q_min, robot.q_max),
            np.clip(self.velocity, -robot.v_max, robot.v_max),
            np.clip(self.effort, -robot.tau_max, robot.tau_max),
        )


BANDWIDTH = 100.0
"""Default rate at which errors decrease, 1/s."""
PERIOD = 1e-3
"""Default time for which efforts are held, s."""
BRAKING_FRACTION = 0.8
"""Fraction of the admissible deceleration that an approach uses."""
NEAR = 0.01
"""Tolerance for an arm at rest at its references: rad or m, and rad/s or m/s."""
TINY = 1e-300


class JointDrive:
    """Computed torque with feedback of position and velocity, within the limits.

    tau = M(q) a + h(q, v), a = k_v (v_c - v), v_c = v_r + k_p / k_v (q_r - q). This is inverse
    dynamics control, a = k_v (v_r - v) + k_p (q_r - q) (Siciliano et al., Robotics, 2009, section
    8.5.2). It makes each joint a double integrator with feedback. The efforts are held for a
    period h. The gains place both poles of the sampled system at p = exp(-bandwidth h):

        k_p = (1 - p)^2 / h^2,   k_v = (1 - p) (3 + p) / (2 h),

    from 2 - k_v h - k_p h^2 / 2 = 2 p (trace) and 1 - k_v h + k_p h^2 / 2 = p^2 (determinant).
    This is stable for every bandwidth, and for shorter periods. At low bandwidths k_p is
    bandwidth^2 and k_v is 2 bandwidth. A joint without a reference velocity therefore follows a
    ramp of the reference position with a lag of 2 / bandwidth, s. If a joint has only a reference
    velocity, its acceleration is a = (1 - p) / h (v_r - v). Coulomb friction is compensated at
    v_c.

    v_c is clipped to the speed limit, and the approach velocity k_p / k_v (q_r - q) to
    sqrt(2 a_b |q_r - q|). The deceleration a_b is admissible for all joints simultaneously
    (proximate time-optimal control: Workman, Kosut, Franklin 1987). The arm therefore approaches
    distant references smoothly and follows fast ramps with a larger lag. If efforts exceed their
    limits, a is scaled down to the largest admissible fraction. If there is none, the efforts are
    clipped.

    The accelerations of joints with reference efforts are computed by hybrid dynamics
    (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 9.2), so that the other joints
    still follow their references.

    Attributes:
        references: References of the joints, within their limits.
    """

    def __init__(
        self,
        kernels: Kernels,
        references: References,
        bandwidth: float = BANDWIDTH,
        period: float = PERIOD,
    ):
        """Set the arm, the references, the bandwidth (1/s) and the period of the efforts (s).

        Raises:
            ManipDynError: If a joint has no reference, or if bandwidth or period is invalid.
        """
        robot = self._robot = kernels.robot
        for joint in np.flatnonzero(references.unset):
            raise ManipDynError(
                f"joint '{robot.joint_names[joint]}' must have a position, a velocity or an "
                "effort, got none."
            )
        self._kernels, self._period_ns = kernels, nanoseconds("drive period", period)
        self.references = references.within_limits(robot)
        self._by_effort = ~np.isnan(references.effort)
        self._by_position = ~np.isnan(references.position)
        self._limited = np.isfinite(robot.tau_max) & (robot.tau_max > 0.0)
        h = 1e-9 * self._period_ns
        rest = -np.expm1(-positive("command bandwidth", bandwidth, "1/s") * h)  # 1 - p
        self._approach = 2.0 * rest / (h * (4.0 - rest))
        self._rate = np.where(self._by_position, rest * (4.0 - rest) / (2.0 * h), rest / h)

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) for the next period, N m or N."""
        robot, unchecked = self._robot, self._kernels.unchecked
        inertia = unchecked.mass_matrix(q)
        bias = unchecked.inverse_dynamics(q, v, np.zeros(robot.n))
        speed = self._speed(q, self._braking(inertia, bias))
        acceleration = self._rate * (speed - v)
        bias += robot.coulomb_friction * np.tanh(np.where(self._by_effort, v, speed) / CREEP)
        if self._by_effort.any():
            self._accelerate(inertia, bias, acceleration)
        effort = bias + self._scaled(inertia @ acceleration, bias)
        effort[self._by_effort] = self.references.effort[self._by_effort]
        return np.clip(effort, -robot.tau_max, robot.tau_max)

    def next_switch(self, time_ns: int) -> int:
        """Return the next multiple of the period, ns, at which the efforts change."""
        return (time_ns // self._period_ns + 1) * self._period_ns

    def holds(self, q: Vector, v: Vector) -> bool:
        """Return whether the arm in the state (q, v) is at its references, within `NEAR`.

        This requires reference velocities of 0 and no reference efforts. The position of a joint
        is compared with its reference. If it has only a reference velocity, its speed is compared
        with 0.
        """
        if self._by_effort.any() or np.any(np.nan_to_num(self.references.velocity)):
            return False
        return bool(np.abs(np.where(self._by_position, self._error(q), v)).max() <= NEAR)

    def _error(self, q: Vector) -> Vector:
        return np.where(self._by_position, self.references.position - q, 0.0)

    def _speed(self, q: Vector, braking: Vector) -> Vector:
        """Return the approach velocities v_c (n,) towards the references."""
        error = self._error(q)
        fastest = np.sqrt(2.0 * BRAKING_FRACTION * braking * np.abs(error))
        approach = np.clip(self._approach * error, -fastest, fastest)
        speed = np.nan_to_num(self.references.velocity) + approach
        return np.clip(speed, -self._robot.v_max, self._robot.v_max)

    def _braking(self, inertia: Matrix, bias: Vector) -> Vector:
        """Return admissible decelerations (n,), proportional to effort limit over inertia."""
        limits = np.where(self._limited, self._robot.tau_max, 0.0)
        decelerations = limits / np.diag(inertia)
        margin = np.maximum(limits - np.abs(bias), 0.1 * limits)
        required = np.maximum(np.abs(inertia) @ decelerations, TINY)
        fraction = np.min(margin / required, where=self._limited, initial=1.0)
        return np.where(self._limited, fraction * decelerations, 1e9)

    def _scaled(self, efforts: Vector, bias: Vector) -> Vector:
        """Scale efforts (n,) down to the largest fraction that is admissible with the bias.

        They are returned unchanged if the bias alone reaches a limit in their direction.
        """
        margin = self._robot.tau_max - np.sign(efforts) * bias
        if np.any(margin <= 0.0):
            return efforts
        fractions = margin / np.maximum(np.abs(efforts), TINY)
        return efforts * np.min(fractions, where=~self._by_effort, initial=1.0)

    def _accelerate(self, inertia: Matrix, bias: Vector, acceleration: Vector) -> None:
        """Write the accelerations of joints with reference efforts into `acceleration` (n,)."""
        joints = self._by_effort
        acceleration[joints] = 0.0
        missing = (self.references.effort - bias - inertia @ acceleration)[joints]
        acceleration[joints] = np.linalg.solve(inertia[np.ix_(joints, joints)], missing)


RATE = 20.0
"""Default rate at which a brake reduces speeds, 1/s."""


class Brake:
    """Gravity compensation with damping within the effort limits, held for one period.

    The efforts are g(q) + u, where g(q) holds the weight and the springs. The damping u is
    proportional to the inertia: u = -D v with D = rate / (1 + rate h) M(q), for efforts that are
    held for a period h. Then M dv/dt = u has the solution v / (1 + rate h) after one period. The
    velocities of all joints decrease together. If rate h is small, they decrease by a factor of e
    every 1 / rate, and the kinetic energy twice as fast. The factor 1 / (1 + rate h) is between 0
    and 1 for every rate and every h. This is the implicit Euler method, which needs no
    iteration because M is known. Coriolis efforts do no work.

    If -D v exceeds the limits, u minimizes

        v^T u + (h + 1 / rate) / 2 u^T M^-1 u   within   -tau_max - g <= u <= tau_max - g,

    whose unconstrained solution is -D v. As long as the limits allow the arm to hold its weight,
    u = 0 is admissible with the value zero. The minimum is then not positive, and the kinetic
    energy T(v) = v^T M v / 2 satisfies

        T(v + h M^-1 u) = T(v) + h (v^T u + h / 2 u^T M^-1 u) <= T(v).

    With M constant over a period, the kinetic energy therefore never increases, with or without
    saturation. A fast arm is braked with efforts at the limits. With rate 0 the brake only holds
    the weight and the springs.

    Attributes:
        rate: Rate at which speeds decrease, 1/s.
    """

    def __init__(self, kernels: Kernels, rate: float = RATE, period: float = PERIOD):
        """Set the arm, the rate (1/s) and the period of the efforts (s)."""
        self._kernels, self._robot = kernels, kernels.robot
        self.rate = not_negative("brake rate", rate)
        self._period_ns = nanoseconds("brake period", period)
        self._zeros = np.zeros(kernels.robot.n)

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) for the next period, N m or N."""
        limits = self._robot.tau_max
        weight = self._kernels.unchecked.inverse_dynamics(q, self._zeros, self._zeros)
        hold = np.clip(weight, -limits, limits)
        if self.rate == 0.0 or not v.any():
            return hold
        return hold + self._damping(q, v, -limits - hold, limits - hold)

    def next_switch(self, time_ns: int) -> int:
        """Return the next multiple of the period, ns, at which the efforts change."""
        return (time_ns // self._period_ns + 1) * self._period_ns

    def _damping(self, q: Vector, v: Vector, low: Vector, high: Vector) -> Vector:
        """Return the damping efforts (n,) against the motion, between `low` and `high` (n,)."""
        inertia = self._kernels.unchecked.mass_matrix(q)
        time = 1.0 / self.rate + 1e-9 * self._period_ns
        damping = -inertia @ v / time
        if np.all((low <= damping) & (damping <= high)):
            return damping
        damping = np.zeros_like(v)
        box_minimum(time * np.linalg.inv(inertia), v, low, high, damping)
        return damping
