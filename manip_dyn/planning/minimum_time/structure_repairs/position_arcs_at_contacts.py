"""Boundary arcs of position for motions that violate a limit next to a contact point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.planning.minimum_time.extremals.controls import SINGULAR, Kind, boundary_control
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory
from manip_dyn.robot import Robot

BEYOND = 1e-9
"""Smallest relevant violation, rad or m."""


def with_position_arcs_at_contacts(
    robot: Robot, along: Trajectory, switching: Switching
) -> Iterator[Switching]:
    """Yield structures with a boundary arc where a limit is violated next to a contact point.

    Another effort, singular at the contact point, holds the joint on the arc.
    """
    n, arcs, rows = len(switching.controls), switching.arcs(), switching.rows()
    for switch, (t, joint, value) in enumerate(rows):
        singular = [k for k in range(n) if k != joint and arcs[switch][2][k].is_singular]
        if value.kind != Kind.CONTACT_POSITION or not singular:
            continue
        side = value.direction
        limit = float((robot.q_max if side > 0.0 else robot.q_min)[joint])
        beyond = side * (along.states[:, joint] - limit)
        for is_after in (True, False):
            here = np.flatnonzero((along.arcs == switch + is_after) & (beyond > BEYOND))
            if not here.size:
                continue
            deepest = float(along.times[here[np.argmax(beyond[here])]])
            middle, margin = 0.5 * (t + deepest), 0.25 * abs(deepest - t)
            begin, end = (t - margin, middle) if is_after else (middle, t + margin)
            holding = boundary_control(singular[0], joint, side, 0.0, Kind.POSITION)
            remaining = rows[:switch] + rows[switch + 1 :]
            arc = [(begin, singular[0], holding), (end, singular[0], SINGULAR)]
            yield assembled(switching.controls, remaining + arc, switching.t_final)
