"""Conditions at the switches of an extremal, with derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.controls import (
    Control,
    Controls,
    Kind,
    full,
    is_smooth,
)
from manip_dyn.robot import Robot

Condition = tuple[float, float, Vector]
"""Weight, value and derivatives by (x, p), (4 n,), of a condition."""


class SwitchConditions:
    """Conditions at the switches of motions from one start."""

    def __init__(
        self,
        robot: Robot,
        q0: Vector,
        acceleration: Callable[[Vector, int, Controls], tuple[float, Vector]],
    ):
        """Store the start (n,) and the function for joint accelerations and their derivatives."""
        n, limits = robot.n, np.array(robot.tau_max)
        self.n, self._robot, self._weight = n, robot, float(limits.mean())
        self._kernels, self._acceleration = customize(robot).unchecked, acceleration
        inverse = np.linalg.inv(self._kernels.mass_matrix(np.asarray(q0)))
        self._gains = np.diag(inverse) * limits

    def at(
        self, y: Vector, joint: int, before: Control, value: Control, after: Controls
    ) -> list[Condition]:
        """Return the conditions at a switch: weights, values and derivatives by (x, p), (4 n,).

        The conditions are a zero switching function; a zero rate of it where a singular arc ends;
        a zero distance from the limit where a joint leaves it or has a contact point; and a zero
        acceleration where the joint enters or leaves smoothly.
        """
        n = self.n
        q, v, p_q, p_v = y.reshape(4, n).copy()
        if before.is_full and value.is_full:
            return [self._switching_function(q, v, p_v, joint)]
        if before.is_singular:
            row = self._kernels.switching_rates(q, v, p_q, p_v)[joint]
            return [(self._weight, float(row[0]), row[1:])]
        conditions: list[Condition] = []
        if value.kind == Kind.CONTACT_SPEED or is_smooth(before, value):
            holding = value if value.is_boundary_arc_of_speed else before
            held, free = holding.held_or_own(joint), list(after)
            free[joint] = before if before.is_full else after[joint]
            conditions.append((1.0 / self._gains[held], *self._acceleration(y, held, tuple(free))))
        limiting = value if value.is_contact else before
        if limiting.is_at_limit:
            held = limiting.held_or_own(joint)
            speed, position = limits_of(self._robot, joint, limiting)
            unit = np.eye(4 * n)
            conditions.append((1.0, float(v[held] - speed), unit[n + held]))
            if before.is_indirect:
                free = list(after)
                free[joint] = full(1.0)
                conditions.append(
                    (1.0 / self._gains[held], *self._acceleration(y, held, tuple(free)))
                )
            if position is not None:
                conditions.append((1.0, float(q[held] - position), unit[held]))
            return conditions
        return [*conditions, self._switching_function(q, v, p_v, joint)]

    def _switching_function(self, q: Vector, v: Vector, p_v: Vector, joint: int) -> Condition:
        """Return weight, value and derivatives (4 n,), which do not depend on the efforts."""
        n, slopes = self.n, np.zeros(4 * self.n)
        curves = self._kernels.forward_dynamics_second_derivatives(q, v, v, p_v)[2, joint, 0]
        inverse = self._kernels.forward_dynamics_derivatives(q, v, v)[2, joint]
        slopes[:n], slopes[3 * n :] = curves, inverse
        return self._weight, float(inverse @ p_v), slopes


def limits_of(robot: Robot, joint: int, control: Control) -> tuple[float, float | None]:
    """Return speed and position of a joint at a limit; the position is None for a speed limit.

    This is the limit at which the effort of `joint` holds its own or another joint.
    """
    held, side = control.held(joint) or (joint, control.direction)
    if control.is_about_speed:
        return float(side * robot.v_max[held]), None
    return 0.0, float((robot.q_max if side > 0.0 else robot.q_min)[held])
