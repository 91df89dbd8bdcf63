"""Observer of the joint efforts that the model does not explain, such as contacts and payloads.

`EffortModel` and the applied efforts predict the velocities at the end of the last period, without
d. Their error is a sample of the disturbance, and corrects the estimate d::

    d += (1 - exp(-w h)) (M(q) (v - predicted v) / h - d)

For a constant disturbance, each period of length h multiplies the error of d by exp(-w h), so d
converges with the bandwidth w. Noise lowers the bandwidth of a joint. With an exact model the
samples are zero, and so is d. The applied efforts include the compensation. Therefore a known
delay does not affect the stability of the estimate.
"""

from __future__ import annotations

import math

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.effort_model import EffortModel
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.planning.execution.identification import MotionRecord
from manip_dyn.robot import Robot

NOISE = 0.02
"""Largest correction by a typical noise, as a fraction of the effort limit."""
NOISE_WEIGHT = 0.02
"""Smallest weight of a new sample in the estimate of the noise."""
TINY = 1e-6
"""Smallest noise, as a fraction of the effort limit."""


class DisturbanceObserver:
    """Estimates disturbances from measured states and commands.

    Attributes:
        effort: Estimated efforts (n,) that act on the arm in addition to commands and model.
    """

    def __init__(self, robot: Robot, tuning: Tuning):
        """Start without a disturbance. `tuning` contains the bandwidth of the estimate."""
        self.effort = np.zeros(robot.n)
        self._bandwidth, self._limit = tuning.observer_bandwidth, robot.tau_max
        self._count, self._variance = 0, np.zeros(robot.n)
        self._error: np.ndarray | None = None

    def observe(self, record: MotionRecord, delay: float, model: EffortModel) -> None:
        """Correct the estimate with the last period of a record.

        Args:
            record: Measured states and commands.
            delay: Delay of the commands, s.
            model: Masses and friction of the arm.
        """
        sample = record.unexplained(delay, model, self.effort)
        if sample is None:
            self._error = None
            return
        error, elapsed = sample
        if self._error is not None:
            weight = max(1.0 / (self._count + 1.0), NOISE_WEIGHT)
            change = 0.5 * (error - self._error) ** 2
            self._variance = self._variance + weight * (change - self._variance)
            self._count += 1
            noise = np.maximum(np.sqrt(self._variance), TINY * self._limit)
            # One gain for all joints: with different ones, noise would excite light directions.
            gain = -math.expm1(-self._bandwidth * elapsed)
            gain = min(gain, NOISE * float((self._limit / noise).min()))
            self.effort = self.effort + gain * error
        self._error = error

    def explain(self, effort: Vector) -> None:
        """Remove the part of the disturbance that is due to an effort (n,) of a new model.

        Otherwise the new model and the observer would both compensate it.
        """
        nothing = np.zeros_like(effort)
        low, high = np.minimum(self.effort, nothing), np.maximum(self.effort, nothing)
        self.effort = self.effort - np.minimum(np.maximum(effort, low), high)
