"""The first step of controlled integrations, as `integrate.steps.first_step` plans it."""

from __future__ import annotations

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.compiled import inlined
from manip_dyn.ensembles.lanes.law import evaluate
from manip_dyn.ensembles.lanes.space import BEGIN_NS, END_NS, IDLE, MOTION, SCRATCH, K, U, Y
from manip_dyn.integration.methods.step_control import unit


@inlined(always=True, counted=False)
def plan_first(cases, rules, method, room):
    """Plan the first steps of all lanes that have none yet, from the rates at their starts."""
    m, block, where = 2 * rules.joints + 1, room.block, room.where
    tolerances, limits = method.tolerances, method.limits[0]
    new = 0
    for lane in range(LANES):
        now = room.clock[lane]
        room.h[lane] = 0.0
        if where[MOTION, lane] != IDLE and now.planned == 0.0:
            new += 1
            remaining = 1e-9 * (where[END_NS, lane] - where[BEGIN_NS, lane]) - now.t
            place = slope = 0.0
            for i in range(m):
                y = abs(block[Y * m + i, lane])
                scale = unit(tolerances, i, y)
                place = max(place, y / scale)
                slope = max(slope, abs(block[K * m + i, lane]) / scale)
            guess = 1e-6 if place < 1e-5 or slope < 1e-5 else 0.01 * place / slope
            room.h[lane] = min(guess, min(limits.max_step, remaining))
        for i in range(m):
            moved = room.h[lane] * block[K * m + i, lane]
            block[U * m + i, lane] = block[Y * m + i, lane] + moved
    if new == 0:
        return
    evaluate(cases, rules, room, U, SCRATCH, 1.0)
    for lane in range(LANES):
        now = room.clock[lane]
        if where[MOTION, lane] == IDLE or now.planned != 0.0:
            continue
        remaining = 1e-9 * (where[END_NS, lane] - where[BEGIN_NS, lane]) - now.t
        slope = bend = 0.0
        guess = room.h[lane]
        for i in range(m):
            rate = block[K * m + i, lane]
            scale = unit(tolerances, i, abs(block[Y * m + i, lane]))
            slope = max(slope, abs(rate) / scale)
            bend = max(bend, abs(block[SCRATCH * m + i, lane] - rate) / (guess * scale))
        steepest = max(slope, bend)
        length = max(1e-6, 1e-3 * guess)
        if steepest > 1e-15:
            length = (0.01 / steepest) ** (1.0 / rules.power)
        length = min(length, 100.0 * guess, min(limits.max_step, remaining))
        if not length > 0.0:
            length = guess
        now.planned = max(length, limits.min_step)
        now.evaluations += 1
