"""The motion of a spline by time: its efforts come from inverse dynamics."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.results import PickledByArguments
from manip_dyn.planning.certificate import Convergence
from manip_dyn.planning.plan import Samples, held_samples
from manip_dyn.planning.transcription.efforts import efforts_of
from manip_dyn.planning.transcription.solved import Refined
from manip_dyn.robot import Robot

FULL = 0.99
"""Efforts beyond this share of their limit are at it."""
BRIEF = 6
"""Cells within which an effort comes from one limit to the other where it switches."""


class SplineMotion(PickledByArguments):
    """A motion whose accelerations are linear in each cell, see `planning.motion.Motion`.

    Attributes:
        spline: Its positions.
        solved: What it was on the finest grid, with the multipliers of its limits.
        knots: Times between which its efforts are smooth (k,), s: the nodes of the grid.
    """

    def __init__(self, robot: Robot, found: Refined, proof: Convergence):
        """Take the motion, and its certificate with the costates."""
        self.spline, self.solved, self._proof = found.spline, found.solved, proof
        spline = found.spline
        self.knots = np.linspace(0.0, spline.duration, spline.cells + 1)
        self._robot, self._efforts = robot, customize(robot).unchecked.inverse_dynamics

    @property
    def switching(self) -> None:
        """There is no exact structure."""
        return None

    @property
    def switches(self) -> list[list[float]]:
        """Per joint the times at which its effort comes from one limit to the other, s."""
        shares = efforts_of(self._robot, self.spline, self.spline.cells) / self._robot.tau_max
        return [self._switches(share) for share in shares.T]

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t` s."""
        q, v, _ = self.spline.joints(np.array([t]))
        return q[0], v[0]

    def joints(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and accelerations (k, n) at times (k,), s."""
        return self.spline.joints(times)

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t` s on, N m or N."""
        q, v, a = self.spline.joints(np.array([t]))
        return self._efforts(q[0], v[0], a[0])

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        q, v, a = self.spline.joints(times)
        return q, v, np.array([self._efforts(*each) for each in zip(q, v, a, strict=True)])

    def costate(self, t: float) -> Vector:
        """Return the costates (2 n,) at time `t` s, linear between the nodes."""
        times, costates = self._proof.times, self._proof.costates
        return np.array([np.interp(t, times, each) for each in costates.T])

    def samples(self, period: float) -> Samples:
        """Return efforts every `period` s."""
        times = np.arange(0.0, self.spline.duration, period)
        efforts = dict(zip(times.tolist(), self.at(times)[2], strict=True))
        return held_samples(efforts, efforts.__getitem__)

    def _switches(self, share: Vector) -> list[float]:
        full = np.flatnonzero(np.abs(share) > FULL)
        return [
            float(0.5 * (self.knots[one] + self.knots[other]))
            for one, other in pairwise(full)
            if share[one] * share[other] < 0.0 and other - one <= BRIEF
        ]
