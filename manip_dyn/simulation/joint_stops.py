"""Mechanical stops at the joint limits: the efforts with which they bring joints to rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Vector
from manip_dyn.core.numerics.box_minimum import box_minimum

GIVE = 0.02
"""How far a joint goes beyond its limit at most, rad or m."""
TOUCH = 1e-6
"""Distance from a limit at which a joint touches its stop, rad or m."""
RETURN_RATE = 10.0
"""How fast what a joint is beyond its limit decreases, 1/s."""


class JointStops:
    """Stiff, damped stops of an arm, which push and never pull.

    For a time h, a stop pushes with the constant effort that leaves its joint no speed outwards:
    a damper of the stiffness (reflected inertia) / h, taken implicitly, so that it is stable at
    any h. Joints that touch at the same time are solved together, f >= 0 with
    0 <= f orthogonal to (w_free - h A f) <= 0, where A is the part of M^-1 that belongs to them
    and w_free their speed outwards without stops (Moreau's inelastic impact, 1988, as an effort).
    """

    def __init__(self, kernels: Kernels):
        """Take the arm."""
        self._kernels = kernels
        self._low, self._high = kernels.robot.q_min, kernels.robot.q_max
        still = np.zeros(kernels.robot.n)
        kernels.unchecked.mass_matrix(still)  # compiles
        box_minimum(np.eye(1), np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1))

    def beyond(self, q: Vector) -> Vector:
        """Return how far the joints at q (n,) are beyond their limits, negative within, (n,)."""
        return np.maximum(self._low - q, q - self._high)

    def outwards(self, q: Vector, v: Vector) -> Vector:
        """Return the speeds (n,) towards the limit that is nearer at q, of velocities v (n,)."""
        return self._sides(q) * v

    def passed(self, q: Vector, v: Vector, new_q: Vector, new_v: Vector, h: float) -> NDArray[Any]:
        """Return which joints were beyond their limits at the end of h, s, or in between, (n,).

        In between means the vertex of the parabola through the speeds at both ends.
        """
        slowed = np.where(v * new_v < 0.0, np.abs(v), 0.0)
        change = np.where(slowed > 0.0, np.abs(v) + np.abs(new_v), 1.0)
        vertex = q + 0.5 * h * v * slowed / change
        return (self.beyond(new_q) > 0.0) | ((self.beyond(vertex) > 0.0) & (slowed > 0.0))

    def effort(self, joints: NDArray[Any], q: Vector, free: Vector, h: float) -> Vector:
        """Return the efforts (n,) of the stops for a time h, s.

        Args:
            joints: Which joints touch their stops (k,).
            q: Positions (n,).
            free: Velocities (n,) after h without these efforts.
            h: s.
        """
        sides = self._sides(q)[joints]
        mobility = np.linalg.inv(self._kernels.unchecked.mass_matrix(q))[np.ix_(joints, joints)]
        back = RETURN_RATE * np.maximum(self.beyond(q)[joints], 0.0)
        push = np.zeros(len(joints))
        box_minimum(
            h * mobility * np.outer(sides, sides),
            -(sides * free[joints] + back),
            np.zeros_like(push),
            np.full_like(push, np.inf),
            push,
        )
        efforts = np.zeros_like(q)
        efforts[joints] = -sides * push
        return efforts

    def _sides(self, q: Vector) -> Vector:
        return np.where(q - self._high >= self._low - q, 1.0, -1.0)
