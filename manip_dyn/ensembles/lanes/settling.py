"""After a step: whether it passes, lane by lane, and what follows."""

from __future__ import annotations

from manip_dyn.core.compiled import inlined
from manip_dyn.ensembles.lanes.filling import go_on, look, note_efforts
from manip_dyn.ensembles.lanes.space import (
    BEGIN_NS,
    DUE,
    END_NS,
    ENDED,
    PENDING,
    REACHED,
    SEARCHING,
    K,
    U,
)
from manip_dyn.integration.event_search import AFTER, BEFORE, another_trial, copy_row, crosses
from manip_dyn.integration.methods.step_control import (
    EVENT,
    FAILED,
    NON_FINITE,
    PASSED,
    judge,
    plan_next,
)


@inlined(always=True, counted=False)
def judge_lane(cases, rules, method, room, lane):
    """Judge the step of a lane; have it tried again, or the motion ended, if it does not pass."""
    m, block, where, now = 2 * rules.joints + 1, room.block, room.where, room.clock[lane]
    limits, limited = method.limits[0], cases.places.size > 0
    now.evaluations += rules.evaluations
    room.passed[lane] = 0.0
    verdict = PASSED
    if rules.adaptive:
        now.error = room.times[lane]
        verdict = judge(now, limits, rules.power)
    else:
        finite = 0.0
        for i in range(m):
            finite += 0.0 * block[U * m + i, lane]
        verdict = PASSED if finite == 0.0 else NON_FINITE
    if limited and verdict == PASSED:
        look(rules, room, U, lane, AFTER, cases)
        if another_trial(now, room.signals[lane], limits.event_tolerance):
            where[SEARCHING, lane] = 1
            return
    where[SEARCHING, lane] = 0
    if verdict == FAILED:
        now.settled = 0
        return
    if verdict != PASSED:
        where[PENDING, lane] = ENDED + verdict
        return
    room.passed[lane] = 1.0


@inlined(always=True, counted=False)
def go_over(cases, rules, method, room, lane):
    """Go to the end of a lane's step that passed; plan the next."""
    where, now, limits = room.where, room.clock[lane], method.limits[0]
    now.steps += 1
    now.since += 1
    target = 1e-9 * (where[END_NS, lane] - where[BEGIN_NS, lane])
    reached = target if now.landing != 0 else now.t + now.h
    if now.landing == 0 and rules.adaptive == 0 and now.locating == 0:
        now.t = now.origin + now.since * limits.step
    else:
        now.t = reached
        if now.locating != 0:
            now.origin, now.since = reached, 0
    now.known = rules.fsal
    if rules.fsal:
        keep_last_stage(rules, room, lane)
        note_efforts(rules, room, lane)
    if rules.adaptive and rules.width == 0:
        plan_next(now, limits, rules.power, False, 1.0)
    if cases.places.size > 0:
        for k in range(cases.places.size):
            if crosses(room.signals[lane, BEFORE, k], room.signals[lane, AFTER, k], -1.0):
                where[PENDING, lane], where[REACHED, lane] = ENDED + EVENT, k
        copy_row(room.signals[lane], AFTER, BEFORE)
        now.locating = now.settled = 0
    if now.landing != 0 and where[PENDING, lane] == 0:
        time_ns = where[END_NS, lane]
        if time_ns % rules.period_ns == 0 or time_ns == rules.duration_ns:
            where[PENDING, lane] = DUE
        go_on(cases, rules, room, lane, time_ns)


@inlined(always=True, counted=False)
def keep_last_stage(rules, room, lane):
    """Make the last stage of a step the first of the next."""
    m, block = 2 * rules.joints + 1, room.block
    last = K + rules.stages - 1
    for i in range(m):
        block[K * m + i, lane] = block[last * m + i, lane]
