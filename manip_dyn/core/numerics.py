"""Newton's method and dry friction in plain Python, and the step of central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from manip_dyn.core.checks import Vector

Evaluated = TypeVar("Evaluated")
RELATIVE_CHANGE = 6e-6
"""Relative step of central differences: about the cube root of the machine epsilon."""


class Damping(NamedTuple):
    """Parameters of the damped Newton method.

    Attributes:
        most: Largest number of steps. The residual is not checked after the last one.
        converged: Residual below which the method has converged.
        shrink: Factor (< 1) that a rejected step is multiplied by.
        least: Only fractions of a step above this value are tried.
    """

    most: int
    converged: float
    shrink: float
    least: float


def damped_newton(
    x: Vector,
    at_x: Evaluated,
    evaluate: Callable[[Vector], Evaluated | None],
    size: Callable[[Evaluated], float],
    step: Callable[[Vector, Evaluated], tuple[Vector, float] | None],
    damping: Damping,
) -> tuple[Vector, Evaluated, bool]:
    """Solve equations by Newton's method with damping.

    Args:
        x: Initial unknowns (k,).
        at_x: Evaluation of the initial unknowns.
        evaluate: Function of the unknowns. It returns their evaluation, or None if it fails.
        size: Function of an evaluation. It returns the norm of the residual. Steps must reduce it.
        step: Function of the unknowns and their evaluation. It returns the Newton step (k,) and
            the fraction of it to try first, or None if there is no step.
        damping: Parameters of the method.

    Returns:
        The last accepted or initial unknowns (k,), their evaluation, and whether the method
        converged.
    """
    for _ in range(damping.most):
        before = size(at_x)
        if before < damping.converged:
            return x, at_x, True
        direction = step(x, at_x)
        if direction is None:
            break
        newton_step, fraction = direction
        change = fraction * newton_step
        while fraction > damping.least:
            trial = evaluate(x + change)
            if trial is not None and size(trial) < before:
                x, at_x = x + change, trial
                break
            change, fraction = damping.shrink * change, damping.shrink * fraction
        else:
            break
    return x, at_x, False


CREEP = 0.05
"""Velocity v0 (rad/s or m/s) of the friction compensation. To avoid chattering, controllers
compensate Coulomb friction F by F tanh(v / v0), with the measured or desired velocity v."""


class Friction(NamedTuple):
    """Dry friction of n joints.

    Attributes:
        coulomb: Coulomb friction (n,), N m or N.
        static: Static friction (n,), N m or N, not below the Coulomb friction.
        stribeck: Stribeck velocities (n,), rad/s or m/s. With 0, sliding joints have only Coulomb
            friction.
    """

    coulomb: Vector
    static: Vector
    stribeck: Vector

    def sliding(self, direction: Vector, speed: Vector) -> Vector:
        """Return the friction of sliding joints (..., n), with the signs of the velocities.

        Args:
            direction: Numbers (..., n) with the signs of the velocities. For 0, the result is 0.
            speed: Absolute values of the velocities (..., n).
        """
        ratio = speed / np.where(self.stribeck > 0.0, self.stribeck, 1.0)
        fall = np.where(self.stribeck > 0.0, np.exp(-ratio * ratio), 0.0)
        return np.sign(direction) * (self.coulomb + (self.static - self.coulomb) * fall)
