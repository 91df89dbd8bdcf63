"""Estimation of an arm's masses from the energy balance of its motion."""

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
"""Smallest growth of the kinetic energy, after a moving start, for an estimate of the masses."""


class MassEstimator:
    """Estimates the ratio of actual to modelled masses from the energy balance.

    Rotors, springs and damping are those of the model. The remaining work of the efforts
    accelerates and lifts the bodies.
    """

    def __init__(self, robot: Robot, motion: SampledMotion, tuning: Tuning):
        """Store the motion from its start on, and the tuning of its feedback."""
        self._robot, self._motion, self._tuning = robot, motion, tuning
        self._start = motion.v[0]

    def begun_at(self, v: Vector) -> None:
        """Set the actual initial velocities (n,) of the arm, per s."""
        self._start = v

    @cached_property
    def components(self) -> EffortComponents:
        """Components of the efforts of the motion."""
        return effort_components(self._robot, self._motion)

    def of_lagging(self, time: float, off: Vector, q: Vector, v: Vector) -> float:
        """Return the mass ratio of an arm that lags behind the motion, at least 1.

        The feedback was saturated, so the efforts of the arm were those of the motion.

        Args:
            time: Time of the motion at the arm's position on the path, s.
            off: Displacement of the arm from this position (n,), rad or m.
            q: Positions of the arm (n,).
            v: Velocities of the arm (n,), per s.
        """
        return max(self._balance(time, off, q, v, 0.0) or 1.0, 1.0)

    def of_leading(self, time: float, off: Vector, faster: Vector, q: Vector, v: Vector) -> float:
        """Return the mass ratio of a faster arm that is ahead of `time` by `off`, at most 1.

        The feedback held the arm back. Under constant efforts from rest, positions lead with the
        square of time and velocities linearly, which determines the work withheld by the feedback.
        """
        tuning = self._tuning
        mass = customize(self._robot).unchecked.mass_matrix(q)
        lead, rate = float(off @ mass @ v), float(faster @ mass @ v)
        withheld = time * (tuning.stiffness * lead / 4.0 + tuning.damping * rate / 3.0)
        return min(self._balance(time, off, q, v, withheld) or 1.0, 1.0)

    def _balance(
        self, time: float, off: Vector, q: Vector, v: Vector, withheld: float
    ) -> float | None:
        motion, components = self._motion, self.components
        cell = motion.cell(time)
        done, lifted, held = (
            float(np.interp(time, motion.times, cumulative_work(motion, rows)) + rows[cell] @ off)
            for rows in (
                motion.efforts - components.damping,
                components.weight,
                components.springs,
            )
        )
        bodies, rotors = self._energies(q, v)
        first, first_rotors = self._energies(motion.q[0], self._start)
        gained, turned = bodies - first + lifted, rotors - first_rotors
        if gained <= LEAST_GROWTH * first:
            return None
        return (done - withheld - held - turned) / gained

    def _energies(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Return the kinetic energies of the bodies (with modelled masses) and the rotors, J."""
        mass = customize(self._robot).unchecked.mass_matrix(q)
        rotors = 0.5 * float(self._robot.armature @ v**2)
        return 0.5 * float(v @ mass @ v) - rotors, rotors
