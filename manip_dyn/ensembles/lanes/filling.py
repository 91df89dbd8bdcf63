"""Motions into lanes, and what is kept of them out of lanes."""

from __future__ import annotations

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.arrays import rows
from manip_dyn.core.compiled import inlined
from manip_dyn.ensembles.lanes.law import SCHEDULE, efforts
from manip_dyn.ensembles.lanes.space import (
    BEGIN_NS,
    DUE,
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
    PLACE,
    REACHED,
    SAMPLE,
    SEARCHING,
    STATUS,
    STEPS,
    TIME_NS,
    Y,
)
from manip_dyn.integration.methods.step_control import SUCCESS


@inlined(counted=False)
def load(cases, rules, method, room, lane, motion):
    """Set a lane to the start of a motion."""
    n, m = rules.joints, 2 * rules.joints + 1
    block, where, now = room.block, room.where, room.clock[lane]
    for i in range(m):
        start = cases.starts[motion, i] if i < 2 * n else 0.0
        block[Y * m + i, lane] = start
        block[LOW * m + i, lane] = block[HIGH * m + i, lane] = start
        block[MEAN * m + i, lane] = 0.0
    stiffness, damping = cases.stiffness, cases.damping
    alike, friction = motion if stiffness.shape[0] > 1 else 0, cases.friction
    some = motion if damping.shape[0] > 1 else 0
    rubbed = motion if friction.shape[0] > 1 else 0
    followed = motion if cases.followed.shape[0] > 1 else 0
    where[KNOT, lane] = cases.followed[followed, 0]
    for i in range(n):
        room.stiffness[i, lane] = stiffness[alike, i]
        room.damping[i, lane] = damping[some, i]
        room.friction[i, lane] = friction[rubbed, i]
        room.q[i, lane] = cases.references[where[KNOT, lane], i]
        room.v[i, lane] = cases.references[where[KNOT, lane], n + i]
        room.peak[i, lane] = 0.0
    given = motion if cases.parameters.shape[0] > 1 else 0
    for i in range(cases.parameters.shape[1]):
        room.parameters[i, lane] = cases.parameters[given, i]
    heavy = motion if cases.inertias.shape[0] > 1 else 0
    for i in range(cases.inertias.shape[1]):
        room.inertias[i, lane] = cases.inertias[heavy, i]
    scheduled = motion if cases.schedules.shape[0] > 1 else 0
    where[PLACE, lane] = cases.schedules[scheduled, 0]
    where[MOTION, lane], where[BEGIN_NS, lane], where[END_NS, lane] = motion, 0, 0
    where[SAMPLE, lane], where[PENDING, lane], where[SEARCHING, lane] = 0, DUE, 0
    now.sign = 1.0
    now.planned, now.memory = method.limits[0].first_step, 0.0
    now.steps = now.failures = now.evaluations = 0
    now.rejected = now.locating = now.settled = now.armed = 0
    go_on(cases, rules, room, lane, 0)


@inlined(counted=False)
def go_on(cases, rules, room, lane, time_ns):
    """Set a lane on the way to its next stop: a sample, a switch of its efforts, its end."""
    where, now, n = room.where, room.clock[lane], rules.joints
    motion, place = where[MOTION, lane], where[PLACE, lane]
    last = cases.schedules[motion if cases.schedules.shape[0] > 1 else 0, 1]
    while place + 1 < last and cases.times_ns[place + 1] <= time_ns:
        place += 1
    if place != where[PLACE, lane] or time_ns == 0:
        for i in range(n):
            room.held[i, lane] = cases.efforts[place, i]
        now.known, now.memory = 0, 0.0
    where[PLACE, lane], where[BEGIN_NS, lane] = place, time_ns
    end = min((time_ns // rules.period_ns + 1) * rules.period_ns, rules.duration_ns)
    if place + 1 < last:
        end = min(end, cases.times_ns[place + 1])
    where[END_NS, lane] = end
    now.t = now.origin = 0.0
    now.since = 0


@inlined(counted=False)
def write_samples(cases, rules, room, kept, sampled):
    """Write the samples that are due; end the motions whose time is over."""
    n, m = rules.joints, 2 * rules.joints + 1
    where = room.where
    efforts(cases, rules, room, Y, 0.0)
    for lane in range(LANES):
        motion = where[MOTION, lane]
        if motion == IDLE or where[PENDING, lane] == 0:
            continue
        if where[PENDING, lane] > DUE:
            finish(cases, rules, room, kept, lane, where[PENDING, lane] - ENDED)
            continue
        where[PENDING, lane] = 0
        if sampled:
            row = where[SAMPLE, lane]
            for i in range(m):
                kept.states[motion, row, i] = room.block[Y * m + i, lane]
            for i in range(n):
                kept.tau[motion, row, i] = room.tau[i, lane]
        where[SAMPLE, lane] += 1
        note_efforts(rules, room, lane)
        if where[BEGIN_NS, lane] == rules.duration_ns:
            finish(cases, rules, room, kept, lane, SUCCESS)


@inlined(counted=False)
def note_efforts(rules, room, lane):
    """Keep a lane's largest efforts so far."""
    for i in range(rules.joints):
        tau = room.held[i, lane] if rules.law == SCHEDULE else room.tau[i, lane]
        room.peak[i, lane] = max(room.peak[i, lane], abs(tau))


@inlined(counted=False)
def finish(cases, rules, room, kept, lane, status):
    """Keep how a lane's motion ended, and leave the lane idle at a harmless state."""
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
    for i in range(n):
        kept.peak[motion, i] = room.peak[i, lane]
        kept.final_tau[motion, i] = room.tau[i, lane]
    for i in range(m):
        block[Y * m + i, lane] = cases.starts[motion, i] if i < 2 * n else 0.0
    room.where[MOTION, lane] = IDLE
    room.where[PENDING, lane] = room.where[SEARCHING, lane] = 0
    now.planned = 1.0


@inlined(counted=False)
def look(rules, room, row, lane, signals, cases):
    """Write how far a lane's state is from the position limits into a row of its signals."""
    m = 2 * rules.joints + 1
    state = rows(room.block, row * m, rules.joints)
    for k in range(cases.places.size):
        joint, sign = cases.bounds[k, 0], cases.bounds[k, 1]
        room.signals[lane, signals, k] = sign * (state[joint, lane] - cases.places[k])
