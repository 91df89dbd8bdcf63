"""What has to be zero where the structure of an extremal changes, with derivatives."""

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
"""Weight, value and derivatives by (x, p), (4 n,)."""


class SwitchConditions:
    """The conditions at the switches of motions from one start."""

    def __init__(
        self,
        robot: Robot,
        q0: Vector,
        acceleration: Callable[[Vector, int, Controls], tuple[float, Vector]],
    ):
        """Take the start (n,) and what gives a joint's acceleration and its derivatives."""
        n, limits = robot.n, np.array(robot.tau_max)
        self.n, self._robot, self._weight = n, robot, float(limits.mean())
        self._kernels, self._acceleration = customize(robot).unchecked, acceleration
        inverse = np.linalg.inv(self._kernels.mass_matrix(np.asarray(q0)))
        self._gains = np.diag(inverse) * limits

    def at(
        self, y: Vector, joint: int, before: Control, value: Control, later: Controls
    ) -> list[Condition]:
        """Return weights, what has to be zero at a switch and its derivatives by (x, p), (4 n,).

        The switching function; its rate where a singular arc ends; the distance from the limit
        where a joint leaves it or has a contact point; its acceleration where that is smooth.
        """
        n = self.n
        q, v, p_q, p_v = y.reshape(4, n).copy()
        if before.is_full and value.is_full:
            return [self._switching_function(q, v, p_v, joint)]
        if before.is_singular:
            row = self._kernels.switching_rates(q, v, p_q, p_v)[joint]
            return [(self._weight, float(row[0]), row[1:])]
        found: list[Condition] = []
        if value.kind == Kind.CONTACT_SPEED or is_smooth(before, value):
            keeper = value if value.is_boundary_arc_of_speed else before
            kept, free = keeper.kept_or_own(joint), list(later)
            free[joint] = before if before.is_full else later[joint]
            found.append((1.0 / self._gains[kept], *self._acceleration(y, kept, tuple(free))))
        limiting = value if value.is_contact else before
        if limiting.is_at_limit:
            kept = limiting.kept_or_own(joint)
            speed, position = limits_of(self._robot, joint, limiting)
            unit = np.eye(4 * n)
            found.append((1.0, float(v[kept] - speed), unit[n + kept]))
            if before.is_indirect:
                free = list(later)
                free[joint] = full(1.0)
                found.append((1.0 / self._gains[kept], *self._acceleration(y, kept, tuple(free))))
            if position is not None:
                found.append((1.0, float(q[kept] - position), unit[kept]))
            return found
        return [*found, self._switching_function(q, v, p_v, joint)]

    def _switching_function(self, q: Vector, v: Vector, p_v: Vector, joint: int) -> Condition:
        """Return weight, value and derivatives (4 n,); they do not depend on the efforts."""
        n, slopes = self.n, np.zeros(4 * self.n)
        curves = self._kernels.forward_dynamics_second_derivatives(q, v, v, p_v)[2, joint, 0]
        inverse = self._kernels.forward_dynamics_derivatives(q, v, v)[2, joint]
        slopes[:n], slopes[3 * n :] = curves, inverse
        return self._weight, float(inverse @ p_v), slopes


def limits_of(robot: Robot, joint: int, control: Control) -> tuple[float, float | None]:
    """Return the speed and, unless it is a limit of speed, the position of a joint at a limit.

    The limit is that at which the effort of `joint` keeps its own joint or another one.
    """
    kept, side = control.held(joint) or (joint, control.direction)
    if control.is_about_speed:
        return float(side * robot.v_max[kept]), None
    return 0.0, float((robot.q_max if side > 0.0 else robot.q_min)[kept])
