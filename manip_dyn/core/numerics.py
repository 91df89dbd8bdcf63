"""Numerical methods in plain Python: damped Newton, friction, and the step of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from manip_dyn.core.checks import Vector

Reached = TypeVar("Reached")
RELATIVE_CHANGE = 6e-6
"""Third root of the spacing of floats, optimal for central differences."""


class Damping(NamedTuple):
    """How far Newton's method goes.

    Attributes:
        most: Steps before giving up.
        converged: Size of the residual below which it has arrived.
        shrink: By how much a step is shortened at a time.
        least: Share of the first step that is not tried any more.
    """

    most: int
    converged: float
    shrink: float
    least: float


def damped_newton(
    x: Vector,
    at_x: Reached,
    reach: Callable[[Vector], Reached | None],
    size: Callable[[Reached], float],
    step: Callable[[Vector, Reached], tuple[Vector, float] | None],
    damping: Damping,
) -> tuple[Vector, Reached, bool]:
    """Return where Newton's method ends, what is reached there, and whether it has arrived.

    Args:
        x: Where to begin (k,).
        at_x: What is reached there.
        reach: What is reached from other unknowns; None where the numbers end.
        size: Of the residual of what is reached.
        step: Newton's step (k,), and which share of it to try first; None where there is none.
        damping: Steps and tolerances.
    """
    for _ in range(damping.most):
        before = size(at_x)
        if before < damping.converged:
            return x, at_x, True
        found = step(x, at_x)
        if found is None:
            break
        change, share = found[0] * found[1], found[1]
        while share > damping.least:
            trial = reach(x + change)
            if trial is not None and size(trial) < before:
                x, at_x = x + change, trial
                break
            change, share = damping.shrink * change, damping.shrink * share
        else:
            break
    return x, at_x, False


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
