"""Efforts of all lanes: schedules and feedback to references, within the effort limits.

The efforts follow from e = K (q_r - q) + D (v_r - v) and the efforts s of the schedule:

    SCHEDULE   tau = s
    PD         tau = s + e
    GRAVITY    tau = s + e + g(q)
    COMPUTED   tau = s + ID(q, v, a_r + e)
    FUNCTION   tau = f(t, q, v, p)

Constant references have v_r = a_r = 0. A reference motion is a cubic Hermite polynomial between
knots, with the derivatives v_r and a_r, and rests after its last knot. The arguments of the
functions are those of `lane_steps`.
"""

from __future__ import annotations

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.core.arrays import call_checking, call_writing, rows
from manip_dyn.core.compiled import inlined
from manip_dyn.ensembles.lanes.memory import BEGIN_NS, IDLE, KNOT, MOTION

SCHEDULE, PD, GRAVITY, COMPUTED, FUNCTION = range(5)
"""Kinds of effort laws."""
KNOT_OFFSET = 1e-12
"""Distance from the ends of a step at which reference motions are evaluated, s."""


@inlined(always=True, counted=False)
def efforts(cases, rules, room, row, c):
    """Write the efforts for the states in block row `row`, at fraction `c` of the step."""
    n, law, block, tau = rules.joints, rules.law, room.block, room.tau
    first = row * (2 * n + 1)
    if rules.timed:
        for lane in range(LANES):
            now = room.clock[lane]
            begin = 1e-9 * room.where[BEGIN_NS, lane]
            room.times[lane] = begin + (now.t + c * room.h[lane])
    if law == SCHEDULE:
        for i in range(n):
            for lane in range(LANES):
                tau[i, lane] = room.held[i, lane]
        return
    if law == FUNCTION:
        arrays = (room.times, rows(block, first, 2 * n), room.parameters, room.single, tau)
        call_writing(rules.function, arrays)
    else:
        if rules.timed:
            update_references(cases, rules, room, c)
        for i in range(n):
            for lane in range(LANES):
                room.applied[i, lane] = room.stiffness[i, lane] * (
                    room.q[i, lane] - block[first + i, lane]
                ) + room.damping[i, lane] * (room.v[i, lane] - block[first + n + i, lane])
        if law == PD:
            for i in range(n):
                for lane in range(LANES):
                    tau[i, lane] = room.held[i, lane] + room.applied[i, lane]
        else:
            add_dynamics(rules, room, first)
    for i in range(n):
        limit = cases.limits[i]
        for lane in range(LANES):
            tau[i, lane] = min(max(tau[i, lane], -limit), limit)


@inlined(always=True, counted=False)
def add_dynamics(rules, room, first):
    """Write efforts from the feedback with gravity compensation or inverse dynamics."""
    n, block, tau = rules.joints, room.block, room.tau
    q, v, a, none = rows(block, first, n), rows(block, first + n, n), room.applied, 0
    if rules.law == GRAVITY:
        arrays = (q, room.zero, room.zero, tau, none, none + LANES)
        call_checking(rules.inverse_dynamics, arrays)
        for i in range(n):
            for lane in range(LANES):
                tau[i, lane] += room.held[i, lane] + a[i, lane]
    else:
        for i in range(n):
            for lane in range(LANES):
                a[i, lane] += room.a[i, lane]
        call_checking(rules.inverse_dynamics, (q, v, a, tau, none, none + LANES))
        for i in range(n):
            for lane in range(LANES):
                tau[i, lane] += room.held[i, lane]


@inlined(always=True, counted=False)
def update_references(cases, rules, room, c):
    """Write the references (n, LANES) at fraction `c` of the step of each lane.

    At the ends of a step, which may be knots, the reference is evaluated just inside the step.
    """
    n, inwards = rules.joints, KNOT_OFFSET * (1.0 - 2.0 * c)
    for lane in range(LANES):
        motion = room.where[MOTION, lane]
        if motion == IDLE:
            continue
        which = motion if cases.followed.shape[0] > 1 else 0
        first, last = cases.followed[which, 0], cases.followed[which, 1]
        knot, t = room.where[KNOT, lane], room.times[lane] + inwards
        while knot + 2 < last and t >= cases.knots[knot + 1]:
            knot += 1
        while knot > first and t < cases.knots[knot]:
            knot -= 1
        room.where[KNOT, lane] = knot
        still = knot + 1 >= last or t >= cases.knots[last - 1]
        end = last - 1 if still else knot
        for i in range(n):
            q0, v0 = cases.references[end, i], cases.references[end, n + i]
            if still:
                room.q[i, lane], room.v[i, lane], room.a[i, lane] = q0, v0, 0.0
                continue
            q1, v1 = cases.references[knot + 1, i], cases.references[knot + 1, n + i]
            length = cases.knots[knot + 1] - cases.knots[knot]
            s = max((t - cases.knots[knot]) / length, 0.0)
            rise = (q1 - q0) / length
            bend, twist = 3.0 * rise - 2.0 * v0 - v1, v0 + v1 - 2.0 * rise
            room.q[i, lane] = q0 + length * s * (v0 + s * (bend + s * twist))
            room.v[i, lane] = v0 + s * (2.0 * bend + 3.0 * s * twist)
            room.a[i, lane] = (2.0 * bend + 6.0 * s * twist) / length


@inlined(always=True, counted=False)
def evaluate_rates(cases, rules, room, source, target, c):
    """Write the rates of the states in row `source` to row `target`.

    The states are those at fraction `c` of the step.
    """
    n, none = rules.joints, 0
    m = 2 * n + 1
    block, acting = room.block, room.held
    if rules.law != SCHEDULE:
        efforts(cases, rules, room, source, c)
        acting = room.tau
    if rules.damped:
        free, acting = acting, room.applied
        for i in range(n):
            for lane in range(LANES):
                velocity = block[source * m + n + i, lane]
                acting[i, lane] = free[i, lane] - room.friction[i, lane] * velocity
    y, rates = rows(block, source * m, 2 * n), rows(block, target * m, m)
    if cases.inertias.shape[1]:
        arrays = (y, acting, room.inertias, rates, none, none + LANES)
        call_checking(rules.motion, arrays)
    else:
        call_checking(rules.motion, (y, acting, rates, none, none + LANES))
