"""How heavy an arm seems by what the efforts of its motion have made of it until now."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.effort_components import (
    EffortComponents,
    cumulative_work,
    effort_components,
)
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.robot import Robot

if TYPE_CHECKING:
    from manip_dyn.planning.execution.sampled_motion import SampledMotion

LEAST_GROWTH = 0.1
"""Share of the energy of a moving start by which that has to grow before masses are told."""


class MassEstimator:
    """Tells masses by the balance of energy: what moves and lifts the bodies is left of the work.

    Rotors, springs and damping are as in the model.
    """

    def __init__(self, robot: Robot, motion: SampledMotion, tuning: Tuning):
        """Take the motion, from its beginning on, and the feedback to it."""
        self._robot, self._motion, self._tuning = robot, motion, tuning
        self._start = motion.v[0]

    def begun_at(self, v: Vector) -> None:
        """Take the velocities (n,) that the arm really began with, per s."""
        self._start = v

    @cached_property
    def parts(self) -> EffortComponents:
        """The parts of the motion's efforts."""
        return effort_components(self._robot, self._motion)

    def of_lagging(self, time: float, off: Vector, q: Vector, v: Vector) -> float:
        """Return how many times heavier than its model an arm seems that lags behind; 1 at least.

        Its efforts were those of the motion: feedback had none left to add.

        Args:
            time: Of the motion, at which the arm is on its path, s.
            off: How far it is from there (n,), rad or m.
            q: Its positions (n,).
            v: Its velocities (n,), per s.
        """
        return max(self._balance(time, off, q, v, 0.0) or 1.0, 1.0)

    def of_leading(self, time: float, off: Vector, faster: Vector, q: Vector, v: Vector) -> float:
        """Return the same for an arm that is ahead of `time` by `off`, and faster; 1 at most.

        Feedback held it back. From rest on, by constant efforts, positions lead by the square of
        time, and velocities by time: so much has feedback taken of the work.
        """
        tuning = self._tuning
        mass = customize(self._robot).unchecked.mass_matrix(q)
        lead, rate = float(off @ mass @ v), float(faster @ mass @ v)
        withheld = time * (tuning.stiffness * lead / 4.0 + tuning.damping * rate / 3.0)
        return min(self._balance(time, off, q, v, withheld) or 1.0, 1.0)

    def _balance(
        self, time: float, off: Vector, q: Vector, v: Vector, withheld: float
    ) -> float | None:
        motion, parts = self._motion, self.parts
        cell = motion.cell(time)
        done, lifted, held = (
            float(np.interp(time, motion.times, cumulative_work(motion, each)) + each[cell] @ off)
            for each in (motion.efforts - parts.damping, parts.weight, parts.springs)
        )
        bodies, rotors = self._energies(q, v)
        first, first_rotors = self._energies(motion.q[0], self._start)
        gained, turned = bodies - first + lifted, rotors - first_rotors
        if gained <= LEAST_GROWTH * first:
            return None
        return (done - withheld - held - turned) / gained

    def _energies(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Return the kinetic energies of the bodies, as they are planned for, and rotors, J."""
        mass = customize(self._robot).unchecked.mass_matrix(q)
        rotors = 0.5 * float(self._robot.armature @ v**2)
        return 0.5 * float(v @ mass @ v) - rotors, rotors
