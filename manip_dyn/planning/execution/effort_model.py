"""Efforts of an arm whose masses and dry friction differ from those of the model.

An arm with m times the masses and the dry friction f requires the efforts::

    m bodies(q, v, a) + passive(q, v, a) + f sign(v)

`bodies` are the efforts for the bodies of the model. `passive` contains rotors, viscous damping,
springs and the dry friction of the model, which are assumed to be correct. At the rate r = ds/dt
of the plan time s, with u = dr/dt, a path requires::

    r^2 quadratic + r linear + static + u tangent

(after Hollerbach, "Dynamic scaling of manipulator trajectories", 1984).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.robot import Robot

LEAST_FRICTION, MOST_FRICTION = 0.002, 0.1
"""Least and largest friction relative to the effort limits. Smaller friction is neglected, and
larger efforts are disturbances."""
DOUBT = 0.5
"""Fraction of the identified friction that may not help to brake."""


class EffortModel(NamedTuple):
    """Masses and dry friction of an arm, relative to the model of its robot.

    Attributes:
        mass_ratio: Ratio of the masses of the bodies to those of the model.
        friction: Dry friction (n,) in addition to that of the model, N m or N.
        heaviest: Largest probable mass ratio of an arm without this friction, or 0 if such an arm
            is improbable.
    """

    mass_ratio: float
    friction: Vector
    heaviest: float = 0.0

    @classmethod
    def exact(cls, n: int) -> EffortModel:
        """Return the model of an arm of n joints without deviations."""
        return cls(1.0, np.zeros(n))

    @property
    def is_exact(self) -> bool:
        """Whether the arm does not deviate from its model."""
        return self.mass_ratio == 1.0 and not self.friction.any()

    @property
    def cautious(self) -> EffortModel:
        """Model of the heaviest probable arm, whose friction does not help to brake."""
        if self.heaviest <= self.mass_ratio:
            return self
        return EffortModel(self.heaviest, 0.0 * self.friction)

    def with_friction(self, friction: Vector, robot: Robot) -> EffortModel:
        """Return the model with another friction (n,), at most `MOST_FRICTION`, or 0."""
        least, most = LEAST_FRICTION * robot.tau_max, MOST_FRICTION * robot.tau_max
        return self._replace(friction=np.where(friction < least, 0.0, np.minimum(friction, most)))

    def efforts(self, robot: Robot, q: Matrix, v: Matrix, a: Matrix) -> Matrix:
        """Return the efforts (k, n) of the arm for states and accelerations (k, n)."""
        passive = robot.damping * v + robot.stiffness * (q - robot.rest) + robot.armature * a
        bodies = inverse_rows(robot, q, v, a) - passive
        rubbing = (robot.coulomb_friction + self.friction) * np.sign(v)
        return self.mass_ratio * bodies + passive + rubbing

    def holding(self, robot: Robot, q: Vector) -> Vector:
        """Return the efforts (n,) that hold the arm at rest at positions `q` (n,)."""
        zero = np.zeros((1, robot.n))
        return self.efforts(robot, q[None], zero, zero)[0]


class PathEfforts(NamedTuple):
    """Coefficients (k, n) of the efforts at the midpoints of the cells of a path.

    `doubt` is the part of the identified friction that may not help to brake.
    """

    quadratic: Matrix
    linear: Matrix
    static: Matrix
    tangent: Matrix
    doubt: Matrix

    def at(self, squares: Vector, rates: Vector, changes: Vector) -> Matrix:
        """Return the efforts (k, n) for r^2 (k,), r (k,) and u (k,), 1/s."""
        return (
            squares[:, None] * self.quadratic
            + rates[:, None] * self.linear
            + self.static
            + changes[:, None] * self.tangent
        )


class PathComponents(NamedTuple):
    """Components (k, n) of the efforts along a path, some of which scale with the masses.

    Attributes:
        inertial: Efforts that accelerate the bodies at the rate 1.
        weight: Efforts against gravity.
        tangent: Efforts of the bodies per change of the rate.
        rotors: Efforts that accelerate the rotors at the rate 1.
        rotor_tangent: Efforts of the rotors per change of the rate.
        damping: Efforts against viscous damping at the rate 1.
        springs: Efforts against springs.
        direction: Signs of the velocities.
        rubbing: Dry friction of the model.
    """

    inertial: Matrix
    weight: Matrix
    tangent: Matrix
    rotors: Matrix
    rotor_tangent: Matrix
    damping: Matrix
    springs: Matrix
    direction: Matrix
    rubbing: Matrix

    @classmethod
    def of(cls, robot: Robot, q: Matrix, v: Matrix, a: Matrix) -> PathComponents:
        """Return the components for states and accelerations (k, n) at the rate 1."""
        zero = np.zeros_like(q)
        static = inverse_rows(robot, q, zero, zero)
        tangent = inverse_rows(robot, q, zero, v) - static
        springs, damping = robot.stiffness * (q - robot.rest), robot.damping * v
        rotors, direction = robot.armature * a, np.sign(v)
        return cls(
            inverse_rows(robot, q, v, a) - static - damping - rotors,
            static - springs,
            tangent - robot.armature * v,
            rotors,
            robot.armature * v,
            damping,
            springs,
            direction,
            robot.coulomb_friction * direction,
        )

    def efforts(self, model: EffortModel) -> PathEfforts:
        """Return the effort coefficients of the path for an arm with these masses and friction."""
        ratio, friction = model.mass_ratio, model.friction * self.direction
        return PathEfforts(
            ratio * self.inertial + self.rotors,
            self.damping,
            ratio * self.weight + self.springs + self.rubbing + friction,
            ratio * self.tangent + self.rotor_tangent,
            DOUBT * friction,
        )


def inverse_rows(robot: Robot, q: Matrix, v: Matrix, a: Matrix) -> Matrix:
    """Return the efforts (k, n) of the model for states and accelerations (k, n)."""
    out = np.empty_like(q)
    rows = [np.ascontiguousarray(argument) for argument in (q, v, a)]
    _inverse_rows(addresses(robot, "inverse_dynamics")[0], rows[0], rows[1], rows[2], out)
    return out


@compiled(short=True)
def _inverse_rows(address, q, v, a, out):
    """Write the efforts (k, n) for states and accelerations (k, n) to `out`."""
    for k in range(q.shape[0]):
        call_kernel(address, (q[k], v[k], a[k], out[k]))
