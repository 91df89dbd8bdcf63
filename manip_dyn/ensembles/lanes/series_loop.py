"""The time loop of many motions by Taylor series: one series for each step of each lane.

Efforts are held from switch to switch. A search for a limit sums the same series again, while the
other lanes wait.
"""

from __future__ import annotations

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.arrays import call_writing, rows
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.ensembles.lanes.filling import load, look, note_efforts
from manip_dyn.ensembles.lanes.refilling import refill
from manip_dyn.ensembles.lanes.series_steps import plan_lengths, sum_up
from manip_dyn.ensembles.lanes.settling import go_over
from manip_dyn.ensembles.lanes.space import BEGIN_NS, END_NS, ENDED, IDLE, MOTION, PENDING, U, Y
from manip_dyn.ensembles.lanes.step_ends import pass_on
from manip_dyn.ensembles.lanes.sums import all_finite
from manip_dyn.integration.event_search import AFTER, BEFORE, another_trial
from manip_dyn.integration.methods.step_control import NON_FINITE, PASSED, ROUNDING, STEP_UNDERFLOW


@compiled(short=True, counted=False)
def run_series(cases, rules, method, room, kept, first, last):
    """Simulate the motions from `first` up to `last`."""
    m, block, limits = 2 * rules.joints + 1, room.block, method.limits[0]
    relative, absolute = limits.order, limits.absolute_order
    top = max(relative, absolute)
    waiting = first
    for lane in range(LANES):  # idle lanes do harmless arithmetic
        load(cases, rules, method, room, lane, first)
        room.where[MOTION, lane] = IDLE
        room.orders[lane] = top
    while True:
        waiting = refill(cases, rules, method, room, kept, waiting, last)
        if waiting < 0:
            return
        expand(rules, room, top)
        if rules.adaptive:
            arrays = (room.series, rules.width, block, m, method.tolerances)
            plan_lengths(*arrays, relative, absolute, room.orders, room.lengths)
        for lane in range(LANES):
            choose(rules, method, room, lane)
        sum_up(room.series, rules.width, block, m, top, room.orders, room.h)
        if cases.places.size > 0:
            for lane in range(LANES):
                if room.passed[lane] != 0.0:
                    search(cases, rules, method, room, lane, top)
        every = all_finite(block, m, U)
        for lane in range(LANES):
            if room.passed[lane] != 0.0:
                judge_series(rules, room, lane, every)
        pass_on(block, m, room.h, room.passed)
        for lane in range(LANES):
            if room.passed[lane] != 0.0:
                go_over(cases, rules, method, room, lane)


@inlined(always=True, counted=False)
def expand(rules, room, top):
    """Write the series about the starts of the steps of all lanes."""
    m = 2 * rules.joints + 1
    y = rows(room.block, Y * m, m - 1)
    if rules.loaded:
        arrays = (top, y, room.held, room.inertias, room.series, room.fixed)
        call_writing(rules.motion, arrays)
    else:
        call_writing(rules.motion, (top, y, room.held, room.series, room.fixed))


@inlined(always=True, counted=False)
def choose(rules, method, room, lane):
    """Choose a lane's step."""
    now, where = room.clock[lane], room.where
    room.h[lane] = room.passed[lane] = 0.0
    if where[MOTION, lane] == IDLE:
        return
    room.passed[lane] = 1.0
    now.evaluations += 1
    if now.since == 0:
        note_efforts(rules, room, lane)
    target = 1e-9 * (where[END_NS, lane] - where[BEGIN_NS, lane])
    if rules.adaptive:
        now.planned = now.h = room.lengths[lane]
        now.landing = target - now.t <= 1.01 * now.planned
    else:
        step = method.limits[0].step
        now.landing = target - now.origin - (now.since + 1) * step <= 1e-6 * step
        now.h = step
    if now.landing != 0:
        now.h = target - now.t
    room.h[lane] = now.h


@inlined(always=True, counted=False)
def search(cases, rules, method, room, lane, top):
    """Shorten a lane's step to where it reaches a limit, if it does."""
    now, m = room.clock[lane], 2 * rules.joints + 1
    if now.armed == 0:
        look(rules, room, Y, lane, BEFORE, cases)
        now.armed = 1
    look(rules, room, U, lane, AFTER, cases)
    while another_trial(now, room.signals[lane], method.limits[0].event_tolerance):
        room.h[lane] = now.h
        sum_up(room.series, rules.width, room.block, m, top, room.orders, room.h)
        look(rules, room, U, lane, AFTER, cases)


@inlined(always=True, counted=False)
def judge_series(rules, room, lane, every):
    """End a lane's motion if its step leaves the numbers, or is none.

    Args:
        rules: Rules.
        room: Memory.
        lane: The lane.
        every: Whether the ends of all steps are finite.
    """
    now, verdict, m = room.clock[lane], PASSED, 2 * rules.joints + 1
    if not every:
        total = 0.0
        for i in range(m):
            total += 0.0 * room.block[U * m + i, lane]
        if total != 0.0:  # NaN
            verdict = NON_FINITE
    if verdict == PASSED and rules.adaptive and now.planned < ROUNDING * now.t + 1e-30:
        verdict = STEP_UNDERFLOW
    if verdict != PASSED:
        room.where[PENDING, lane] = ENDED + verdict
        room.passed[lane] = 0.0
