"""Dry friction of joints: Coulomb's, with a static level and Stribeck's fall to it.

A joint that slides at the speed v is opposed by Fc + (Fs - Fc) exp(-(v / vs)^2) (Armstrong,
Dupont, Canudas de Wit 1994, "A survey of models, analysis tools and compensation methods for the
control of machines with friction", eq. 2); one that rests is held as long as that takes no more
than Fs. With vs = 0 friction falls from Fs to Fc at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector

CREEP = 0.05
"""Speed v0, rad/s or m/s: at a measured speed controllers compensate F tanh(v / v0), which does
not chatter."""


class Friction(NamedTuple):
    """Friction of n joints.

    Attributes:
        coulomb: Fc (n,), N m or N.
        static: Fs (n,), not below Fc.
        stribeck: vs (n,), rad/s or m/s.
    """

    coulomb: Vector
    static: Vector
    stribeck: Vector

    def sliding(self, direction: Vector, speed: Vector) -> Vector:
        """Return what opposes joints that slide (n,), or (.., n).

        Args:
            direction: Sign of the velocities; 0: no friction.
            speed: Their sizes.
        """
        ratio = speed / np.where(self.stribeck > 0.0, self.stribeck, 1.0)
        fall = np.where(self.stribeck > 0.0, np.exp(-ratio * ratio), 0.0)
        return np.sign(direction) * (self.coulomb + (self.static - self.coulomb) * fall)
