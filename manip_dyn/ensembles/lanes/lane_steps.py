"""Start, samples, step acceptance and end of the motion in each lane.

The arguments are the motions `cases` (`Motions`), the options `rules` (`LoopOptions`), the arrays
of the method (`MethodArrays`), the working memory `room` (`LaneMemory`), the results `kept`
(`BatchArrays`), and the indices of a lane and a motion.
"""

from __future__ import annotations

from math import nan

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.core.arrays import rows
from manip_dyn.core.compiled import inlined
from manip_dyn.ensembles.lanes.laws import SCHEDULE, efforts
from manip_dyn.ensembles.lanes.memory import (
    BEGIN_NS,
    END_NS,
    ENDED,
    EVALUATIONS,
    FAILURES,
    HIGH,
    IDLE,
    KNOT,
    LOW,
    MEAN,
    MET,
    MOTION,
    PENDING,
    REACHED,
    SAMPLE,
    SAMPLE_DUE,
    SCHEDULE_ROW,
    SEARCHING,
    STATUS,
    STEPS,
    TIME_NS,
    K,
    U,
    Y,
)
from manip_dyn.integration.event_search import AFTER, BEFORE, another_trial, copy_row, crosses
from manip_dyn.integration.methods.step_control import (
    EVENT,
    FAILED,
    NON_FINITE,
    PASSED,
    SUCCESS,
    judge,
    plan_next,
)


@inlined(counted=False)
def load_motion(cases, rules, method, room, lane, motion):
    """Initialize a lane with the start of a motion."""
    n, m = rules.joints, 2 * rules.joints + 1
    block, where, now = room.block, room.where, room.clock[lane]
    for i in range(m):
        start = cases.starts[motion, i] if i < 2 * n else 0.0
        block[Y * m + i, lane] = start
        block[LOW * m + i, lane] = block[HIGH * m + i, lane] = start
        block[MEAN * m + i, lane] = 0.0
    stiffness, damping = cases.stiffness, cases.damping
    stiffness_row, friction = motion if stiffness.shape[0] > 1 else 0, cases.friction
    damping_row = motion if damping.shape[0] > 1 else 0
    friction_row = motion if friction.shape[0] > 1 else 0
    reference_row = motion if cases.followed.shape[0] > 1 else 0
    where[KNOT, lane] = cases.followed[reference_row, 0]
    for i in range(n):
        room.stiffness[i, lane] = stiffness[stiffness_row, i]
        room.damping[i, lane] = damping[damping_row, i]
        room.friction[i, lane] = friction[friction_row, i]
        room.q[i, lane] = cases.references[where[KNOT, lane], i]
        room.v[i, lane] = cases.references[where[KNOT, lane], n + i]
        room.peak[i, lane] = 0.0
    parameter_row = motion if cases.parameters.shape[0] > 1 else 0
    for i in range(cases.parameters.shape[1]):
        room.parameters[i, lane] = cases.parameters[parameter_row, i]
    inertia_row = motion if cases.inertias.shape[0] > 1 else 0
    for i in range(cases.inertias.shape[1]):
        room.inertias[i, lane] = cases.inertias[inertia_row, i]
    schedule_row = motion if cases.schedules.shape[0] > 1 else 0
    where[SCHEDULE_ROW, lane] = cases.schedules[schedule_row, 0]
    where[MOTION, lane], where[BEGIN_NS, lane], where[END_NS, lane] = motion, 0, 0
    where[SAMPLE, lane], where[PENDING, lane], where[SEARCHING, lane] = 0, SAMPLE_DUE, 0
    now.sign = 1.0
    now.planned, now.memory = method.limits[0].first_step, 0.0
    now.steps = now.failures = now.evaluations = 0
    now.rejected = now.locating = now.settled = now.armed = 0
    set_next_stop(cases, rules, room, lane, 0)


@inlined(counted=False)
def set_next_stop(cases, rules, room, lane, time_ns):
    """Set the stop of a lane after `time_ns`: a sample, a switch of its efforts, or its end."""
    where, now, n = room.where, room.clock[lane], rules.joints
    motion, place = where[MOTION, lane], where[SCHEDULE_ROW, lane]
    last = cases.schedules[motion if cases.schedules.shape[0] > 1 else 0, 1]
    while place + 1 < last and cases.times_ns[place + 1] <= time_ns:
        place += 1
    if place != where[SCHEDULE_ROW, lane] or time_ns == 0:
        for i in range(n):
            room.held[i, lane] = cases.efforts[place, i]
        now.known, now.memory = 0, 0.0
    where[SCHEDULE_ROW, lane], where[BEGIN_NS, lane] = place, time_ns
    end = min((time_ns // rules.period_ns + 1) * rules.period_ns, rules.duration_ns)
    if place + 1 < last:
        end = min(end, cases.times_ns[place + 1])
    where[END_NS, lane] = end
    now.t = now.origin = 0.0
    now.since = 0


@inlined(counted=False)
def write_samples(cases, rules, room, kept, sampled):
    """Write the samples that are due, and the results of the motions that have ended."""
    n, m = rules.joints, 2 * rules.joints + 1
    where = room.where
    efforts(cases, rules, room, Y, 0.0)
    for lane in range(LANES):
        motion = where[MOTION, lane]
        if motion == IDLE or where[PENDING, lane] == 0:
            continue
        if where[PENDING, lane] > SAMPLE_DUE:
            finish_motion(cases, rules, room, kept, lane, where[PENDING, lane] - ENDED)
            continue
        where[PENDING, lane] = 0
        if sampled:
            row = where[SAMPLE, lane]
            for i in range(m):
                kept.states[motion, row, i] = room.block[Y * m + i, lane]
            for i in range(n):
                kept.tau[motion, row, i] = room.tau[i, lane]
        where[SAMPLE, lane] += 1
        update_peak_efforts(rules, room, lane)
        if where[BEGIN_NS, lane] == rules.duration_ns:
            finish_motion(cases, rules, room, kept, lane, SUCCESS)


@inlined(counted=False)
def update_peak_efforts(rules, room, lane):
    """Update the largest absolute efforts of a lane from its present efforts."""
    for i in range(rules.joints):
        tau = room.held[i, lane] if rules.law == SCHEDULE else room.tau[i, lane]
        room.peak[i, lane] = max(room.peak[i, lane], abs(tau))


@inlined(counted=False)
def finish_motion(cases, rules, room, kept, lane, status):
    """Write the results at the end of a lane's motion; leave the idle lane in a valid state.

    The remaining samples are NaN.
    """
    n, m = rules.joints, 2 * rules.joints + 1
    block, now, motion = room.block, room.clock[lane], room.where[MOTION, lane]
    time_ns = room.where[BEGIN_NS, lane] + round(1e9 * now.t)
    seconds = max(1e-9 * time_ns, 1e-30)
    ends = kept.ends
    ends[motion, STATUS], ends[motion, TIME_NS] = status, time_ns
    ends[motion, MET] = room.where[REACHED, lane]
    ends[motion, STEPS], ends[motion, FAILURES] = now.steps, now.failures
    ends[motion, EVALUATIONS] = now.evaluations
    for i in range(m):
        final = block[Y * m + i, lane]
        kept.final[motion, i] = final
        kept.mean[motion, i] = block[MEAN * m + i, lane] / seconds if time_ns > 0 else final
        kept.low[motion, i] = block[LOW * m + i, lane]
        kept.high[motion, i] = block[HIGH * m + i, lane]
    for sample in range(room.where[SAMPLE, lane], kept.states.shape[1]):
        for i in range(m):
            kept.states[motion, sample, i] = nan
        for i in range(n):
            kept.tau[motion, sample, i] = nan
    for i in range(n):
        kept.peak[motion, i] = room.peak[i, lane]
        kept.final_tau[motion, i] = room.tau[i, lane]
    for i in range(m):
        block[Y * m + i, lane] = cases.starts[motion, i] if i < 2 * n else 0.0
    room.where[MOTION, lane] = IDLE
    room.where[PENDING, lane] = room.where[SEARCHING, lane] = 0
    now.planned = 1.0


@inlined(counted=False)
def write_signals(rules, room, row, lane, signals, cases):
    """Write distances of the state in row `row` from the position limits to row `signals`."""
    m = 2 * rules.joints + 1
    state = rows(room.block, row * m, rules.joints)
    for k in range(cases.places.size):
        joint, sign = cases.bounds[k, 0], cases.bounds[k, 1]
        room.signals[lane, signals, k] = sign * (state[joint, lane] - cases.places[k])


@inlined(always=True, counted=False)
def refill_lanes(cases, rules, method, room, kept, waiting, last):
    """Fill idle lanes and write samples; return the next waiting motion, or -1 if all ended."""
    where = room.where
    while True:
        due = busy = False
        for lane in range(LANES):
            if where[MOTION, lane] == IDLE and waiting < last:
                load_motion(cases, rules, method, room, lane, waiting)
                waiting += 1
            if where[MOTION, lane] != IDLE:
                busy = True
                due = due or where[PENDING, lane] != 0
        if not due:
            return waiting if busy else -1
        for lane in range(LANES):
            room.h[lane] = 0.0
        write_samples(cases, rules, room, kept, kept.states.shape[1] > 0)


@inlined(always=True, counted=False)
def judge_step(cases, rules, method, room, lane):
    """Accept or reject the step of a lane, repeat it to locate a limit, or end the motion."""
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
        write_signals(rules, room, U, lane, AFTER, cases)
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
def accept_step(cases, rules, method, room, lane):
    """Move a lane to the end of its accepted step; plan the next step and its stop."""
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
        copy_last_stage(rules, room, lane)
        update_peak_efforts(rules, room, lane)
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
            where[PENDING, lane] = SAMPLE_DUE
        set_next_stop(cases, rules, room, lane, time_ns)


@inlined(always=True, counted=False)
def copy_last_stage(rules, room, lane):
    """Copy the last stage of a step to the first stage of the next (FSAL)."""
    m, block = 2 * rules.joints + 1, room.block
    last = K + rules.stages - 1
    for i in range(m):
        block[K * m + i, lane] = block[last * m + i, lane]
