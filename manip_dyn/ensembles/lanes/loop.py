"""The time loop of many motions, each in a lane with its own time, step and end.

It goes as `integrate.loop.time_loop` does, with the same control of steps and the same search for
limits, but a step is tried in all lanes at once. A lane whose motion has ended takes the next one.
Fixed steps that end at no stop are done without looking at single lanes.
"""

from __future__ import annotations

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.arrays import value_of
from manip_dyn.core.compiled import compiled
from manip_dyn.ensembles.lanes.filling import load
from manip_dyn.ensembles.lanes.marching import attempt, march
from manip_dyn.ensembles.lanes.preparing import book, derive, prepare
from manip_dyn.ensembles.lanes.refilling import refill
from manip_dyn.ensembles.lanes.settling import go_over, judge_lane
from manip_dyn.ensembles.lanes.space import IDLE, MOTION, SCRATCH, ZERO
from manip_dyn.ensembles.lanes.starting import plan_first
from manip_dyn.ensembles.lanes.step_ends import error_norms, pass_on
from manip_dyn.ensembles.lanes.sums import combine


@compiled(short=True, counted=False)
def run(cases, rules, method, room, kept, first, last):
    """Simulate the motions from `first` up to `last`."""
    m, block, where, live = 2 * rules.joints + 1, room.block, room.where, method.live
    waiting = first
    for lane in range(LANES):  # idle lanes do harmless arithmetic
        load(cases, rules, method, room, lane, first)
        where[MOTION, lane] = IDLE
    while True:
        waiting = refill(cases, rules, method, room, kept, waiting, last)
        if waiting < 0:
            return
        derive(cases, rules, room)
        if rules.adaptive:
            plan_first(cases, rules, method, room)
        quiet = prepare(cases, rules, method, room)
        if quiet < 0:  # a motion cannot go on
            continue
        if quiet > 0:
            passed = march(cases, rules, method, room, quiet)
            book(rules, method, room, passed, quiet)
            if passed == quiet:
                continue
        else:
            attempt(cases, rules, method, room)
        if rules.adaptive:
            combine(block, m, SCRATCH, ZERO, room.h, value_of(method.terms), live.size + 1)
            error_norms(block, m, method.tolerances, room.times)
        for lane in range(LANES):
            room.passed[lane] = 0.0
            if where[MOTION, lane] != IDLE:
                judge_lane(cases, rules, method, room, lane)
        pass_on(block, m, room.h, room.passed)
        for lane in range(LANES):
            if room.passed[lane] != 0.0:
                go_over(cases, rules, method, room, lane)
