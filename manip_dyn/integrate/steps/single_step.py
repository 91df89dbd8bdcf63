"""The classical Runge-Kutta step."""

from __future__ import annotations

from collections.abc import Callable

from manip_dyn.validate import Vector

RightHandSide = Callable[[float, Vector], Vector]


def rk4_step(rhs: RightHandSide, t: float, y: Vector, step: float) -> Vector:
    """Return y(t + step) for y' = rhs(t, y) by the classical method of order 4.

    Args:
        rhs: The derivative, shape (m,), of a state of shape (m,).
        t: Time, s.
        y: State, shape (m,); not changed.
        step: Step, s.

    Kutta (1901); Hairer, Norsett, Wanner, Solving ODEs I, table II.1.2.
    """
    k1 = rhs(t, y)
    k2 = rhs(t + 0.5 * step, y + (0.5 * step) * k1)
    k3 = rhs(t + 0.5 * step, y + (0.5 * step) * k2)
    k4 = rhs(t + step, y + step * k3)
    return y + (step / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)
