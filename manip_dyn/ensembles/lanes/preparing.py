"""Before a step: the rates at its start, its length in each lane; and the count of steps done."""

from __future__ import annotations

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.compiled import inlined
from manip_dyn.ensembles.lanes.filling import look, note_efforts
from manip_dyn.ensembles.lanes.law import evaluate
from manip_dyn.ensembles.lanes.space import (
    BEGIN_NS,
    END_NS,
    ENDED,
    IDLE,
    MOTION,
    PENDING,
    SCRATCH,
    SEARCHING,
    K,
    Y,
)
from manip_dyn.integration.event_search import BEFORE
from manip_dyn.integration.methods.step_control import (
    PASSED,
    ROUNDING,
    STEP_UNDERFLOW,
    TOO_MANY_STEPS,
)

ENDLESS = 1 << 40


@inlined(always=True, counted=False)
def book(rules, method, room, passed, quiet):
    """Count steps that passed without a look at single lanes, of `quiet` that were tried."""
    if passed == 0:
        return
    for lane in range(LANES):
        if room.where[MOTION, lane] != IDLE:
            now = room.clock[lane]
            now.steps += passed
            now.since += passed
            now.t = now.origin + now.since * method.limits[0].step
            now.evaluations += passed * rules.evaluations
            if rules.fsal == 0:
                now.evaluations += passed - 1 if passed == quiet else passed
            now.known = rules.fsal if passed == quiet else 1


@inlined(always=True, counted=False)
def derive(cases, rules, room):
    """Write the derivatives at the starts of the steps where they are not known."""
    m, block = 2 * rules.joints + 1, room.block
    some, every = False, True
    for lane in range(LANES):
        active, unknown = room.where[MOTION, lane] != IDLE, room.clock[lane].known == 0
        some, every = some or (active and unknown), every and (unknown or not active)
        room.h[lane] = 0.0
    if not some:
        return
    target = K if every else SCRATCH
    evaluate(cases, rules, room, Y, target, 0.0)
    for lane in range(LANES):
        now = room.clock[lane]
        if room.where[MOTION, lane] == IDLE or now.known == 0:
            if not every:
                for i in range(m):
                    block[K * m + i, lane] = block[SCRATCH * m + i, lane]
            now.known = 1
            now.evaluations += 1
            note_efforts(rules, room, lane)


@inlined(always=True, counted=False)
def prepare(cases, rules, method, room):
    """Choose the steps; return how many can follow without a look at single lanes.

    -1 where a motion cannot go on; it then is to be ended.
    """
    limits, step = method.limits[0], method.limits[0].step
    quiet, failed = ENDLESS, False
    if rules.adaptive or cases.places.size > 0:
        quiet = 0
    for lane in range(LANES):
        if room.where[MOTION, lane] == IDLE:
            room.h[lane] = 0.0
            continue
        now = room.clock[lane]
        target = 1e-9 * (room.where[END_NS, lane] - room.where[BEGIN_NS, lane])
        if room.where[SEARCHING, lane] == 0:
            verdict = PASSED
            if now.steps + now.failures >= limits.max_steps:
                verdict = TOO_MANY_STEPS
            remaining = target - now.t
            if rules.adaptive:
                if now.planned < ROUNDING * abs(now.t) + 1e-30:
                    verdict = STEP_UNDERFLOW
                now.landing = remaining <= 1.01 * now.planned
                now.h = now.planned
            else:
                now.landing = target - now.origin - (now.since + 1) * step <= 1e-6 * step
                now.h = step
                ahead = int((target - now.origin) / step) - now.since - 2
                quiet = max(min(quiet, ahead), 0)
            if now.landing != 0:
                now.h = remaining
            if verdict != PASSED:
                room.where[PENDING, lane] = ENDED + verdict
                failed = True
            if cases.places.size > 0 and now.armed == 0:
                look(rules, room, Y, lane, BEFORE, cases)
                now.armed = 1
        room.h[lane] = now.h
    return -1 if failed else quiet
