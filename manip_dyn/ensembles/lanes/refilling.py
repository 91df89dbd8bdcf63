"""Between two steps: samples that are due, motions that are over, and those that follow them."""

from __future__ import annotations

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.compiled import inlined
from manip_dyn.ensembles.lanes.filling import load, write_samples
from manip_dyn.ensembles.lanes.space import IDLE, MOTION, PENDING


@inlined(always=True, counted=False)
def refill(cases, rules, method, room, kept, waiting, last):
    """Bring all lanes to the start of a step; return the motion that is the next to begin.

    -1 when all motions up to `last` are over.
    """
    where = room.where
    while True:
        due = busy = False
        for lane in range(LANES):
            if where[MOTION, lane] == IDLE and waiting < last:
                load(cases, rules, method, room, lane, waiting)
                waiting += 1
            if where[MOTION, lane] != IDLE:
                busy = True
                due = due or where[PENDING, lane] != 0
        if not due:
            return waiting if busy else -1
        for lane in range(LANES):
            room.h[lane] = 0.0
        write_samples(cases, rules, room, kept, kept.states.shape[1] > 0)
