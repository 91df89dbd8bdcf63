"""How well a motion tells base parameters, and whether it keeps an arm's limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.identification.base import BaseParameters, base_parameters, observation
from manip_dyn.identification.fourier import Fourier, series
from manip_dyn.identification.regressor import spring_efforts, stated_parameters
from manip_dyn.robot import Robot

SAMPLES = 80
"""Times of a period at which regressor and limits are looked at, while one is searched."""
SPREAD = 3.0
"""How differently wide motions the search begins with: from a twentieth to all of the limits."""
FREE, FAST = np.pi, 2.0
"""Positions from -pi to pi rad and speeds to 2 rad/s where a robot has no limits."""


class Candidate(NamedTuple):
    """A motion, the condition number of its regressor, and its largest efforts (n,)."""

    motion: Fourier | None
    condition: float
    effort: Vector


class Search:
    """The condition number of motions by the numbers that shape them."""

    def __init__(
        self,
        robot: Robot,
        period: float,
        margin: float,
        effort_limit: ArrayLike | None,
        estimated: tuple[str, ...],
    ):
        """Take a robot's limits, see `excitation`."""
        self._robot, self._period = robot, period
        self._base: BaseParameters = base_parameters(robot, estimated)
        self._stated = self._base.of(stated_parameters(robot))
        self._times = np.linspace(0.0, period, SAMPLES, endpoint=False)
        low = np.where(np.isfinite(robot.q_min), robot.q_min, -FREE)
        high = np.where(np.isfinite(robot.q_max), robot.q_max, FREE)
        spare = margin * (high - low)
        self._low, self._high = low + spare, high - spare
        usable = np.isfinite(robot.v_max) & (robot.v_max > 0.0)
        self._fastest = (1.0 - margin) * np.where(usable, robot.v_max, FAST)
        self.efforts = np.where(robot.tau_max > 0.0, robot.tau_max, np.inf)
        if effort_limit is not None:
            self.efforts = finite_vector("effort_limit", effort_limit, robot.n)
            if np.any(self.efforts <= 0.0):
                shown = self.efforts.tolist()
                raise ManipDynError(f"effort_limit is {shown}; expected numbers above 0")
        self.evaluations = 0
        self.best = Candidate(None, np.inf, np.zeros(robot.n))

    def cost(self, shape: Vector) -> float:
        """Return the logarithm of the condition number, and more where efforts are too large."""
        found = self._motion(shape)
        beyond = float(np.sum(np.maximum(found.effort / self.efforts - 1.0, 0.0)))
        if beyond == 0.0 and found.condition < self.best.condition:
            self.best = found
        return float(np.log(found.condition)) + 10.0 * beyond

    def _motion(self, shape: Vector) -> Candidate:
        """Return a motion by the shapes of its joints, and how much of the limits each uses."""
        self.evaluations += 1
        n = self._robot.n
        free = series(shape[n:], n, self._period)
        widest = free.within(self._low, self._high, self._fastest, self._times)
        used = 1.0 / (1.0 + np.exp(-SPREAD * shape[:n, None]))
        motion = widest._replace(a=used * widest.a, b=used * widest.b)
        states = motion.at(self._times)
        observed = observation(self._robot, self._base, *states)
        efforts = observed @ self._stated + spring_efforts(self._robot, states[0])
        size = np.abs(efforts).max(axis=0)
        rows = (observed / np.maximum(size, 1e-9)[:, None]).reshape(-1, observed.shape[2])
        lengths = np.linalg.norm(rows, axis=0)
        condition = float(np.linalg.cond(rows / np.maximum(lengths, 1e-12)))
        return Candidate(motion, condition, size)
