"""Brief full arcs before or after a motion that starts or ends with a singular arc.

A singular arc starts with a switching function of zero and a zero rate. These two conditions
determine two unknowns, its start and end times. If one of these is an end of the motion, an
unknown is missing. The rate is then only nearly zero, and a brief arc at an effort limit follows.
"""

from __future__ import annotations

from collections.abc import Iterator

from manip_dyn.planning.minimum_time.extremals.controls import control_of_sign
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory

BRIEF = 5e-4
"""Initial guess of the length of the arc, relative to the duration."""


def with_end_arcs(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures with an arc at an effort limit before or after such singular arcs.

    The first structures have the signs of the switching functions at the ends, the others the
    opposite signs, because the switching functions are only approximate there.
    """
    t_final, arcs = switching.t_final, switching.arcs()
    for side in (-1.0, 1.0):
        controls, rows = list(switching.controls), switching.rows()
        for effort, (first, last) in enumerate(zip(arcs[0][2], arcs[-1][2], strict=True)):
            if last.is_singular:
                sign = side * float(along.switching[-1, effort])
                rows.append(((1.0 - BRIEF) * t_final, effort, control_of_sign(sign)))
            if first.is_singular:
                controls[effort] = control_of_sign(side * float(along.switching[0, effort]))
                rows.append((BRIEF * t_final, effort, first))
        if rows != switching.rows():
            yield assembled(controls, rows, t_final)
