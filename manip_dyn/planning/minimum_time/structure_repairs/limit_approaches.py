"""Brief approaches to a position limit close to the start or the goal.

If a joint rests at a limit close to its start, a grid cannot resolve the displacement between
them, and the motion seems to start at the limit. The approach is a full effort towards the limit,
followed by an equally long one away from it. The same applies to the goal.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.controls import Kind, full
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.robot import Robot

AT_LIMIT = 1e-9
"""Distance from a limit below which a joint has reached it, rad or m."""


def with_limit_approaches(
    robot: Robot, switching: Switching, start: Vector, goal: Vector
) -> Switching:
    """Return the structure with approaches from the start and to the goal."""
    controls, rows, t_final = list(switching.controls), switching.rows(), switching.t_final
    last = switching.arcs()[-1][2]
    for joint in range(robot.n):
        first, final = switching.controls[joint], last[joint]
        if first.kind == Kind.POSITION:
            half = _half(robot, start, joint, first.direction)
            if half > 0.0:
                controls[joint] = full(first.direction)
                rows += [(half, joint, full(-first.direction)), (2.0 * half, joint, first)]
        if final.kind == Kind.POSITION:
            half = _half(robot, goal, joint, final.direction)
            if half > 0.0:
                rows += [
                    (t_final - 2.0 * half, joint, full(-final.direction)),
                    (t_final - half, joint, full(final.direction)),
                ]
    return assembled(controls, rows, t_final)


def _half(robot: Robot, q: Vector, joint: int, side: float) -> float:
    """Return half of the time, s, from rest at `q` (n,) to rest at a limit of a joint."""
    limit = robot.q_max if side > 0.0 else robot.q_min
    distance = abs(float(limit[joint] - q[joint]))
    inverse = np.linalg.inv(customize(robot).unchecked.mass_matrix(np.array(q)))
    fastest = float(inverse[joint, joint] * robot.tau_max[joint])
    return float(np.sqrt(distance / fastest)) if distance > AT_LIMIT else 0.0
