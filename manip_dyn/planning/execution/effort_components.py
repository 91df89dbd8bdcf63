"""What the efforts of a motion are for, so that they can be told for other masses and rates.

At r times its rate, of an arm s times as heavy, a motion takes the efforts::

    r^2 (s inertial + rotors) + r damping + s weight + springs

(after Hollerbach, "Dynamic scaling of manipulator trajectories", 1984); rotors are not heavier.
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
    """Parts of the efforts (k, n) in the middles of a motion's cells; their sum is the efforts.

    Attributes:
        inertial: What moves the bodies.
        rotors: What moves the rotors.
        damping: What viscous damping takes.
        weight: What holds the bodies.
        springs: What holds against the springs.
    """

    inertial: Matrix
    rotors: Matrix
    damping: Matrix
    weight: Matrix
    springs: Matrix

    def scaled(self, rate: float, heavier: float) -> Matrix:
        """Return the efforts (k, n) at another rate and of an arm that is heavier."""
        moving = rate**2 * (heavier * self.inertial + self.rotors) + rate * self.damping
        return moving + heavier * self.weight + self.springs

    def rest(self, cell: int) -> EffortComponents:
        """Return the parts from a cell on."""
        return EffortComponents(*(each[cell:] for each in self))


def effort_components(robot: Robot, motion: SampledMotion) -> EffortComponents:
    """Return the parts of the efforts of a motion."""
    q = 0.5 * (motion.q[:-1] + motion.q[1:])
    v = 0.5 * (motion.v[:-1] + motion.v[1:])
    a = np.diff(motion.v, axis=0) / np.diff(motion.times)[:, None]
    springs = robot.stiffness * (q - robot.rest)
    weight = np.zeros_like(q)
    if np.any(robot.gravity):
        efforts, zero = customize(robot).unchecked.inverse_dynamics, np.zeros(robot.n)
        weight = np.array([efforts(each, zero, zero) for each in q]) - springs
    rotors, damping = robot.armature * a, robot.damping * v
    inertial = motion.efforts - rotors - damping - weight - springs
    return EffortComponents(inertial, rotors, damping, weight, springs)


def cumulative_work(motion: SampledMotion, part: Matrix) -> Vector:
    """Return the work (k + 1,) of a part of the efforts until the ends of the cells, J."""
    done = np.sum(part * np.diff(motion.q, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(done)])
