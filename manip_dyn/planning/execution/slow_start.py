"""Slower starts of plans that reach high speeds before any measurement shows their motion.

Light joints reach their speed limits within milliseconds, and lighter masses than those of the
model would move them beyond. With the plan time s(t), the start of such a plan is::

    s = r t                           for t <= h
    s = sqrt(C + (t - D)^2)           for t > h, with C = r^2 (1 - r^2) h^2, D = (1 - r^2) h

h is the time without a measured response, and r < 1. Rate and plan time are continuous at h. The
plan is delayed by less than D. From rest, constant efforts cause constant accelerations a, so that
v = a s. After h, the motion requires the accelerations s'^2 a + s'' v = (1 - C / s^2) a +
C / s^3 a s = a, which are those of the plan. Before h, it requires less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.execution.effort_model import inverse_rows
from manip_dyn.planning.plan import Plan, Samples

CAUTIOUS = 0.75
"""Largest speed before the response of the arm is measured, as a fraction of the limit. Lighter
masses would accelerate the joints by the inverse."""
RATES = np.linspace(1.0, 0.1, 91)
"""Rates that are tried at the start."""


@lru_cache(maxsize=8)
def with_slow_start(plan: Plan, unmeasured: float) -> Plan:
    """Return a plan whose speeds are at most `CAUTIOUS` of their limits until `unmeasured`, s.

    A plan that satisfies this bound, starts in motion, or has ramps, is returned unchanged: the
    efforts of a slow start jump at `unmeasured`. Results are cached, like the samples of a plan.
    """
    starts_moving = plan.v0 is not None and np.any(plan.v0)
    if plan.motion is None or plan.ramps is not None or starts_moving:
        return plan
    speeds = np.abs(plan.at(RATES[::-1] * unmeasured)[1])
    highest = np.maximum.accumulate(speeds, axis=0)[::-1]
    slow = np.all(RATES[:, None] * highest <= CAUTIOUS * plan.robot.v_max, axis=1)
    rate = float(RATES[slow.argmax()] if slow.any() else RATES[-1])
    if rate == 1.0:
        return plan
    motion = SlowStart(plan, rate, unmeasured)
    return replace(
        plan,
        motion=motion,
        t_final=float(motion.knots[-1]),
        switch_times=[list(motion.times(np.array(times))) for times in plan.switch_times],
        arrival_times=list(motion.times(np.array(plan.arrival_times))),
        certificate=None,
        extremal=None,
    )


@dataclass(frozen=True, eq=False)
class SlowStart:
    """Motion of a plan with a slower start.

    Attributes:
        plan: The plan.
        rate: Rate r at the start.
        until: Time h until which the rate is constant, s.
    """

    plan: Plan
    rate: float
    until: float

    @property
    def _delay(self) -> float:
        return (1.0 - self.rate**2) * self.until

    @property
    def _square(self) -> float:
        return self.rate**2 * (1.0 - self.rate**2) * self.until**2

    def times(self, plan_times: Vector) -> Vector:
        """Return the times (k,) at plan times (k,), s."""
        later = np.sqrt(np.maximum(plan_times**2 - self._square, 0.0)) + self._delay
        return np.where(plan_times <= self.rate * self.until, plan_times / self.rate, later)

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to the arrival, s, between which the efforts are smooth."""
        return np.union1d(self.times(self.plan.knots), self.until)

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        early, later = times <= self.until, times - self._delay
        hyperbola = np.sqrt(self._square + later**2)
        plan_times = np.where(early, self.rate * times, hyperbola)
        rates = np.where(early, self.rate, later / hyperbola)[:, None]
        changes = np.where(early, 0.0, self._square / hyperbola**3)[:, None]
        q, v, effort = self.plan.at(plan_times)
        robot, zero = self.plan.robot, np.zeros_like(q)
        weight = inverse_rows(robot, q, zero, zero)
        tangent = inverse_rows(robot, q, zero, v) - weight
        static, damping = weight + robot.coulomb_friction * np.sign(v), robot.damping * v
        inertial = effort - static - damping
        efforts = static + rates * damping + rates**2 * inertial + changes * tangent
        return q, rates * v, efforts

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        q, v, _ = self.at(np.array([t]))
        return q[0], v[0]

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) at time `t`, s."""
        return self.at(np.array([t]))[2][0]

    def samples(self, period: float) -> Samples:
        """Return samples of the efforts before the arrival, see `Motion`."""
        assert self.plan.motion is not None
        begins = self.times(np.array([t for t, _ in self.plan.motion.samples(period)]))
        return list(zip(begins.tolist(), self.at(begins)[2], strict=True))
