"""Brief boundary arcs of speed that replace contact points.

Next to a contact point the switching function of an effort may have the wrong sign. The effort
should then be at its opposite limit just before the joint reaches its speed limit, or just after
it has left it. It therefore switches there, and holds the joint at its limit until, or from, the
time of the contact point. The joint enters the limit with a switch and leaves it without
acceleration, or vice versa. A switch at both ends is impossible, because the costates are
continuous where a joint enters or leaves a speed limit with an acceleration (McIntyre, Paiewonsky
1967, Advances in control systems 5, section on bounded states).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.planning.minimum_time.extremals.controls import Kind, boundary_control
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory
from manip_dyn.robot import Robot


def with_speed_arcs_at_contacts(
    robot: Robot, along: Trajectory, switching: Switching
) -> Iterator[Switching]:
    """Yield structures with a boundary arc that replaces a contact point of speed."""
    n, arcs, rows = robot.n, switching.arcs(), switching.rows()
    for k, (t, joint, contact) in enumerate(rows):
        if contact.kind != Kind.CONTACT_SPEED:
            continue
        remaining = rows[:k] + rows[k + 1 :]
        for effort in range(n):
            usual = arcs[k][2][effort]
            if not usual.is_full:
                continue
            for arc, is_before in ((k, True), (k + 1, False)):
                here = np.flatnonzero(along.arcs == arc)
                wrong = usual.direction * along.switching[here, effort] > 0.0
                run = _run(wrong[::-1] if is_before else wrong)
                if run == 0:
                    continue
                far = float(along.times[here[-run] if is_before else here[run - 1]])
                q = along.states[here[-1 if is_before else 0], :n].copy()
                gains = np.linalg.inv(customize(robot).unchecked.mass_matrix(q))[joint]
                side = contact.direction
                arc_of_speed = boundary_control(
                    effort, joint, side, side * float(np.sign(gains[effort]))
                )
                begin, end = (far, t) if is_before else (t, far)
                yield assembled(
                    switching.controls,
                    [*remaining, (begin, effort, arc_of_speed), (end, effort, usual)],
                    switching.t_final,
                )


def _run(wrong: np.ndarray) -> int:
    """Return the number of consecutive wrong samples after the contact point."""
    length = 1
    while length < len(wrong) and wrong[length]:
        length += 1
    return length if length > 1 else 0
