"""The time loop of many motions, each in a lane with its own time, step and end.

It goes as `integrate.loop.time_loop` does, with the same control of steps and the same search for
limits, but a step is tried in all lanes at once. A lane whose motion has ended takes the next one.
Fixed steps that end at no stop are done without looking at single lanes.
"""

from __future__ import annotations

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.views import unowned
from manip_dyn.ensembles.lanes.filling import (
    go_on,
    load,
    look,
    note_efforts,
    write_samples,
)
from manip_dyn.ensembles.lanes.law import evaluate
from manip_dyn.ensembles.lanes.marching import attempt, march
from manip_dyn.ensembles.lanes.space import (
    BEGIN_NS,
    DUE,
    END_NS,
    ENDED,
    HIGH,
    IDLE,
    LOW,
    MEAN,
    MOTION,
    PENDING,
    REACHED,
    SCRATCH,
    SEARCHING,
    ZERO,
    K,
    U,
    Y,
)
from manip_dyn.ensembles.lanes.starting import plan_first
from manip_dyn.ensembles.lanes.sums import combine
from manip_dyn.integrate.loop.search import AFTER, BEFORE, another_trial, copy_row, crosses
from manip_dyn.integrate.steps.control import ROUNDING, judge, plan_next, unit
from manip_dyn.integrate.steps.status import (
    EVENT,
    FAILED,
    NON_FINITE,
    PASSED,
    STEP_UNDERFLOW,
    TOO_MANY_STEPS,
)

ENDLESS = 1 << 40


@compiled(counted=False)
def run(cases, rules, method, room, kept, first, last):
    """Simulate the motions from `first` up to `last`."""
    cases, method = unowned(cases), unowned(method)
    room, kept = unowned(room), unowned(kept)
    m, block, where, live = 2 * rules.joints + 1, room.block, room.where, method.live
    waiting = first
    for lane in range(LANES):  # idle lanes do harmless arithmetic
        load(cases, rules, method, room, lane, first)
        where[MOTION, lane] = IDLE
    while True:
        while True:
            due = False
            for lane in range(LANES):
                if where[MOTION, lane] == IDLE and waiting < last:
                    load(cases, rules, method, room, lane, waiting)
                    waiting += 1
                due = due or (where[MOTION, lane] != IDLE and where[PENDING, lane] != 0)
            if not due:
                break
            for lane in range(LANES):
                room.h[lane] = 0.0
            write_samples(cases, rules, room, kept, kept.states.shape[1] > 0)
        busy = False
        for lane in range(LANES):
            busy = busy or where[MOTION, lane] != IDLE
        if not busy:
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
            combine(block, m, SCRATCH, ZERO, room.h, method.terms, live.size + 1)
        for lane in range(LANES):
            if where[MOTION, lane] != IDLE:
                settle(cases, rules, method, room, lane)


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
    some = False
    for lane in range(LANES):
        some = some or (room.where[MOTION, lane] != IDLE and room.clock[lane].known == 0)
        room.h[lane] = 0.0
    if not some:
        return
    evaluate(cases, rules, room, Y, SCRATCH, 0.0)
    for lane in range(LANES):
        now = room.clock[lane]
        if room.where[MOTION, lane] == IDLE or now.known == 0:
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


@inlined(always=True, counted=False)
def settle(cases, rules, method, room, lane):
    """Judge the step of a lane and go to its end if it passed, or end the motion."""
    m, block, where, now = 2 * rules.joints + 1, room.block, room.where, room.clock[lane]
    limits, limited = method.limits[0], cases.places.size > 0
    now.evaluations += rules.evaluations
    finite = 0.0
    for i in range(m):
        finite += 0.0 * block[U * m + i, lane]
    verdict = PASSED
    if rules.adaptive:
        now.error = error_of(rules, method, room, lane)
        verdict = judge(now, limits, rules.power)
    elif finite != 0.0:
        verdict = NON_FINITE
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
    keep_one(rules, method, room, lane)
    if rules.adaptive:
        plan_next(now, limits, rules.power, False, 1.0)
    if limited:
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
def error_of(rules, method, room, lane):
    """Return the norm of the error estimate of a lane's step; NaN as its end."""
    m, block, error = 2 * rules.joints + 1, room.block, 0.0
    for i in range(m):
        start, end = block[Y * m + i, lane], block[U * m + i, lane]
        scale = unit(method.tolerances, i, max(abs(start), abs(end)))
        ratio = abs(block[SCRATCH * m + i, lane]) / scale + 0.0 * end
        if ratio > error or ratio != ratio:
            error = ratio
    return error


@inlined(always=True, counted=False)
def keep_one(rules, method, room, lane):
    """Go to the end of a step that passed in one lane."""
    m, block, now = 2 * rules.joints + 1, room.block, room.clock[lane]
    step = method.limits[0].step
    now.steps += 1
    now.since += 1
    target = 1e-9 * (room.where[END_NS, lane] - room.where[BEGIN_NS, lane])
    reached = target if now.landing != 0 else now.t + now.h
    if now.landing == 0 and rules.adaptive == 0 and now.locating == 0:
        now.t = now.origin + now.since * step
    else:
        now.t = reached
        if now.locating != 0:
            now.origin, now.since = reached, 0
    for i in range(m):
        start, end = block[Y * m + i, lane], block[U * m + i, lane]
        block[MEAN * m + i, lane] += room.h[lane] * (0.5 * (start + end))
        block[Y * m + i, lane] = end
        block[LOW * m + i, lane] = min(block[LOW * m + i, lane], end)
        block[HIGH * m + i, lane] = max(block[HIGH * m + i, lane], end)
    now.known = rules.fsal
    if rules.fsal:
        last = K + rules.stages - 1
        for i in range(m):
            block[K * m + i, lane] = block[last * m + i, lane]
        note_efforts(rules, room, lane)
