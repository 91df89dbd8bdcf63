"""Boundary arcs of speed at switches of another joint's effort.

If a joint exceeds its speed limit around a switch of another joint's effort, this effort instead
holds the joint at its limit for a while, during the transition between its own limits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.planning.minimum_time.extremals.controls import boundary_control
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory
from manip_dyn.robot import Robot

BEYOND = 1e-6
"""Relative violation above which a limit is exceeded."""


def with_speed_arcs_at_switches(
    robot: Robot, along: Trajectory, switching: Switching
) -> Iterator[Switching]:
    """Yield structures with a boundary arc of speed that replaces a switch of another effort."""
    n, rows = robot.n, switching.rows()
    for k, (t, effort, value) in enumerate(rows):
        if not (value.is_full and switching.arcs()[k][2][effort].is_full):
            continue
        at = int(np.searchsorted(along.times, t))
        q, v = along.states[at, : 2 * n].reshape(2, n).copy()
        inverse = np.linalg.inv(customize(robot).unchecked.mass_matrix(q))
        for joint in range(n):
            side = float(np.sign(v[joint]))
            beyond = side * along.states[:, n + joint] > (1.0 + BEYOND) * robot.v_max[joint]
            if joint == effort or not beyond[at]:
                continue
            inside = np.flatnonzero(~beyond)
            first, last = along.times[inside[inside < at][-1]], along.times[inside[inside > at][0]]
            control = boundary_control(
                effort, joint, side, side * float(np.sign(inverse[joint, effort]))
            )
            arc = [(0.5 * (float(first) + t), effort, control), (float(last), effort, value)]
            remaining = rows[:k] + rows[k + 1 :]
            yield assembled(switching.controls, remaining + arc, switching.t_final)
