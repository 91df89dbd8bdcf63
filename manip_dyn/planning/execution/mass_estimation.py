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
"""Smallest relative growth of the kinetic energy after a moving start for a mass estimate."""


class MassEstimator:
    """Estimates the ratio of actual to modelled masses from the energy balance.

    Rotors, springs and damping are assumed to be those of the model. The remaining work of the
    efforts accelerates and lifts the bodies.
    """

    def __init__(self, robot: Robot, motion: SampledMotion, tuning: Tuning):
        """Store the planned motion and the tuning of the feedback."""
        self._robot, self._motion, self._tuning = robot, motion, tuning
        self._start = motion.v[0]

    def begun_at(self, v: Vector) -> None:
        """Set the actual initial velocities (n,) of the arm, rad/s or m/s."""
        self._start = v

    @cached_property
    def components(self) -> EffortComponents:
        """Components of the efforts of the motion."""
        return effort_components(self._robot, self._motion)

    def of_lagging(self, time: float, off: Vector, q: Vector, v: Vector) -> float:
        """Return the mass ratio (at least 1) of an arm that lags behind the motion.

        The feedback was saturated, so the arm received the efforts of the motion.

        Args:
            time: Time at which the motion is nearest to the arm, s.
            off: Displacement of the arm from the motion at this time (n,), rad or m.
            q: Positions of the arm (n,), rad or m.
            v: Velocities of the arm (n,), rad/s or m/s.
        """
        return max(self._balance(time, off, q, v, 0.0) or 1.0, 1.0)

    def of_leading(self, time: float, off: Vector, faster: Vector, q: Vector, v: Vector) -> float:
        """Return the mass ratio (at most 1) of an arm that is ahead of the motion and faster.

        The feedback has reduced the efforts. Under constant efforts from rest, the lead in
        position grows with the square of time and the lead in velocity linearly. This determines
        by how much the feedback has reduced the work.

        Args:
            time: Time of the motion, s.
            off: Lead in position (n,), rad or m.
            faster: Lead in velocity (n,), rad/s or m/s.
            q: Positions of the arm (n,), rad or m.
            v: Velocities of the arm (n,), rad/s or m/s.
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
