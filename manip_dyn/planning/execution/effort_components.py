"""Components of the efforts of a motion, which scale with the masses and the time rate.

A motion at r times its rate, and with s times the masses, requires the efforts::

    r^2 (s inertial + rotors) + r damping + s weight + springs

(after Hollerbach, "Dynamic scaling of manipulator trajectories", 1984). The rotor inertias are
assumed to be those of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot

if TYPE_CHECKING:
    from manip_dyn.planning.execution.sampled_motion import SampledMotion


class EffortComponents(NamedTuple):
    """Components (k, n) of the efforts of a motion at the midpoints of its cells.

    Attributes:
        inertial: Efforts that accelerate the bodies.
        rotors: Efforts that accelerate the rotors.
        damping: Efforts against viscous damping.
        weight: Efforts against gravity.
        springs: Efforts against the springs.
    """

    inertial: Matrix
    rotors: Matrix
    damping: Matrix
    weight: Matrix
    springs: Matrix

    def scaled(self, rate: float, mass_ratio: float) -> Matrix:
        """Return the efforts (k, n) for another rate and mass ratio."""
        moving = rate**2 * (mass_ratio * self.inertial + self.rotors) + rate * self.damping
        return moving + mass_ratio * self.weight + self.springs

    def rest(self, cell: int) -> EffortComponents:
        """Return the components of the cells from index `cell`."""
        return EffortComponents(*(component[cell:] for component in self))


def effort_components(robot: Robot, motion: SampledMotion) -> EffortComponents:
    """Return the components of the efforts of a motion."""
    q = 0.5 * (motion.q[:-1] + motion.q[1:])
    v = 0.5 * (motion.v[:-1] + motion.v[1:])
    a = np.diff(motion.v, axis=0) / np.diff(motion.times)[:, None]
    springs = robot.stiffness * (q - robot.rest)
    weight = np.zeros_like(q)
    if np.any(robot.gravity):
        efforts, zero = customize(robot).unchecked.inverse_dynamics, np.zeros(robot.n)
        weight = np.array([efforts(row, zero, zero) for row in q]) - springs
    rotors, damping = robot.armature * a, robot.damping * v
    inertial = motion.efforts - rotors - damping - weight - springs
    return EffortComponents(inertial, rotors, damping, weight, springs)


def cumulative_work(motion: SampledMotion, efforts: Matrix) -> Vector:
    """Return the cumulative work (k + 1,), J, of efforts (k, n) at the cell boundaries."""
    work = np.sum(efforts * np.diff(motion.q, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(work)])
