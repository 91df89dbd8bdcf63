"""Steps in all lanes at once, without a look at single lanes."""

from __future__ import annotations

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.arrays import value_of
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.ensembles.lanes.filling import note_efforts
from manip_dyn.ensembles.lanes.law import SCHEDULE, evaluate
from manip_dyn.ensembles.lanes.space import K, U, Y
from manip_dyn.ensembles.lanes.step_ends import pass_on
from manip_dyn.ensembles.lanes.sums import all_finite, combine


@inlined(always=True, counted=False)
def attempt(cases, rules, method, room):
    """Try a step of length `room.h` in each lane, from rates that are known."""
    m, live = 2 * rules.joints + 1, method.live
    for stage in range(1, live.size):
        combine(room.block, m, U, Y, room.h, value_of(method.terms), stage)
        evaluate(cases, rules, room, U, K + live[stage], method.abscissas[stage])
    if rules.fsal == 0:
        combine(room.block, m, U, Y, room.h, value_of(method.terms), live.size)


@compiled(python=False, counted=False)
def march(cases, rules, method, room, count):
    """Take `count` fixed steps in all lanes; return how many passed.

    Fewer where numbers became infinite or NaN in some lane: that step has been tried, no more.
    """
    m, block, step = 2 * rules.joints + 1, room.block, method.limits[0].step
    for lane in range(LANES):
        room.passed[lane] = 1.0
    for passed in range(count):
        if passed > 0 and rules.fsal == 0:
            evaluate(cases, rules, room, Y, K, 0.0)
            if rules.law != SCHEDULE:
                note_all(rules, room)
        attempt(cases, rules, method, room)
        if not all_finite(block, m, U):
            return passed
        pass_on(block, m, room.h, room.passed)
        if rules.fsal:
            for i in range(m):
                for lane in range(LANES):
                    block[K * m + i, lane] = block[(K + rules.stages - 1) * m + i, lane]
            note_all(rules, room)
        if rules.timed:
            for lane in range(LANES):
                now = room.clock[lane]
                now.t = now.origin + (now.since + passed + 1) * step
    return count


@inlined(always=True, counted=False)
def note_all(rules, room):
    """Keep the largest efforts so far."""
    for lane in range(LANES):
        note_efforts(rules, room, lane)
