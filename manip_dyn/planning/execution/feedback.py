"""Feedback to a reference by computed torque, within the effort limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot


@dataclass(frozen=True)
class Tuning:
    """How an execution reacts to errors.

    The defaults put two poles at 20 / s; with them the integral keeps all poles real.

    Attributes:
        stiffness: Acceleration per position error, 1/s^2.
        damping: Acceleration per velocity error, 1/s.
        integral: Growth of the acceleration per position error, 1/s^3; it acts from the end of
            the planned motion on.
        off_plan: Position error of a joint, rad or m, from which on the plan no longer fits and
            the arm returns to the goal by another motion; inf: never.
        tolerance: Position error (rad or m) of an arm that has arrived; its speed may be ten
            times that, per s.
    """

    stiffness: float = 400.0
    damping: float = 40.0
    integral: float = 1000.0
    off_plan: float = 0.02
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        """Check the numbers."""
        not_negative("stiffness", self.stiffness, "1/s^2")
        not_negative("damping", self.damping, "1/s")
        not_negative("integral", self.integral, "1/s^3")
        positive("tolerance", self.tolerance)
        if self.off_plan != math.inf:
            positive("off_plan", self.off_plan)
        if self.integral > self.stiffness * self.damping:
            raise ManipDynError(
                f"integral is {self.integral:g} 1/s^3; expected at most stiffness times damping, "
                f"{self.stiffness * self.damping:g}, beyond which the arm would swing"
            )


class Feedback:
    """Turns errors into efforts.

    The acceleration asked for is K e + D e' + I int e; the efforts are those that give it at the
    measured state, beyond those of the reference.

    Attributes:
        sum: Integral of the position error (n,), rad s or m s.
        saturated: Whether the last efforts were cut off.
    """

    def __init__(self, robot: Robot, tuning: Tuning):
        """Begin with an integral of zero."""
        self._limit, self._zero = robot.tau_max, np.zeros(robot.n)
        self._kernels = customize(robot).unchecked
        self._tuning = tuning
        self.sum = np.zeros(robot.n)
        self.saturated = False

    def acceleration(self, q: Vector, v: Vector, q_ref: Vector, v_ref: Vector) -> Vector:
        """Return the accelerations (n,) that lead from (q, v) to the reference."""
        tuning = self._tuning
        return (
            tuning.stiffness * (q_ref - q)
            + tuning.damping * (v_ref - v)
            + tuning.integral * self.sum
        )

    def correction(self, q: Vector, v: Vector, q_ref: Vector, v_ref: Vector) -> Vector:
        """Return what is to be added to the efforts (n,) of the reference."""
        efforts = self._kernels.inverse_dynamics
        asked = self.acceleration(q, v, q_ref, v_ref)
        return efforts(q, v, asked) - efforts(q_ref, v_ref, self._zero)

    def hold(self, q: Vector) -> Vector:
        """Return the efforts (n,) that hold the resting arm at `q`."""
        return self._kernels.inverse_dynamics(q, self._zero, self._zero)

    def integrate(self, error: Vector, duration: float) -> None:
        """Add a position error (n,) that lasted for `duration` s, unless efforts are saturated."""
        if not self.saturated:
            self.sum = self.sum + duration * error

    def limited(self, q: Vector, effort: Vector) -> Vector:
        """Return efforts (n,) within the limits.

        What saturated joints lack in acceleration would move the others through the inertia;
        those get the efforts that keep their own accelerations, as far as they have them.
        """
        clipped = self._clipped(effort)
        over = clipped != effort
        self.saturated = bool(over.any())
        if not self.saturated or over.all():
            return clipped
        mass = self._kernels.mass_matrix(q)
        lack = np.linalg.solve(mass[np.ix_(over, over)], (clipped - effort)[over])
        clipped[~over] += mass[np.ix_(~over, over)] @ lack
        return self._clipped(clipped)

    def _clipped(self, effort: Vector) -> Vector:
        return np.minimum(np.maximum(effort, -self._limit), self._limit)  # np.clip is slower
