"""The time loop of Runge-Kutta methods over many motions, one in each lane.

Each lane has a separate time, step and end. The loop matches `integrate`, with the same step
control and search for position limits, but all lanes try a step together. When a motion ends, its
lane starts the next one. Fixed steps between stops are computed without checks of each lane. The
arguments of the functions are those of `lane_steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.backend.vectors import LANES
from manip_dyn.core.arrays import value_of
from manip_dyn.core.compiled import PLAIN, compiled, inlined
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.lanes.lane_steps import (
    accept_step,
    judge_step,
    load_motion,
    refill_lanes,
    update_peak_efforts,
    write_signals,
)
from manip_dyn.ensembles.lanes.laws import SCHEDULE, evaluate_rates
from manip_dyn.ensembles.lanes.memory import (
    BEGIN_NS,
    END_NS,
    ENDED,
    IDLE,
    MOTION,
    PENDING,
    SCRATCH,
    SEARCHING,
    ZERO,
    K,
    MethodArrays,
    U,
    Y,
)
from manip_dyn.ensembles.lanes.row_operations import (
    accept_states,
    all_finite,
    combine,
    error_norms,
    terms_of,
)
from manip_dyn.integration.event_search import BEFORE
from manip_dyn.integration.loop_arrays import LIMITS
from manip_dyn.integration.methods.runge_kutta import RungeKutta
from manip_dyn.integration.methods.step_control import (
    PASSED,
    ROUNDING,
    STEP_UNDERFLOW,
    TOO_MANY_STEPS,
    unit,
)
from manip_dyn.integration.methods.taylor import Taylor
from manip_dyn.integration.settings import StepControl
from manip_dyn.simulation.integrator import Integrator

EVENT_TOLERANCE = 1e-12
"""Tolerance of the time at which a joint reaches a limit, s, as in `md.simulate`."""


class LaneMethod(NamedTuple):
    """Arrays of a method, and the corresponding values of `LoopOptions`."""

    method: MethodArrays
    adaptive: bool
    fsal: bool
    stages: int
    power: float


def lane_method(integrator: Integrator, size: int) -> LaneMethod:
    """Return the arrays of a Runge-Kutta method or Taylor series for states (size,).

    Raises:
        ManipDynError: If the method belongs to another family, or the step control is not
            supported.
    """
    solver = integrator.solver
    if isinstance(solver, Taylor):
        return _taylor_method(integrator, size)
    if not isinstance(solver, RungeKutta):
        raise ManipDynError(
            "method must be an explicit Runge-Kutta method or 'taylor' for many motions, got "
            f"'{solver.name}' of the family {solver.family}."
        )
    return _runge_kutta_method(solver, integrator, size)


@lru_cache(maxsize=64)
def _runge_kutta_method(solver: RungeKutta, integrator: Integrator, size: int) -> LaneMethod:
    table, adaptive = solver.tableau, integrator.adaptive
    wrong = table.error_weights if adaptive else None
    live = table.needed(table.b, wrong)
    if table.fsal and table.stages - 1 not in live:
        live.append(table.stages - 1)
    sums = [_stage_terms(table.a[i]) for i in live]
    sums += [[] if table.fsal else _stage_terms(table.b), _stage_terms(wrong or ())]
    abscissas = np.array([float(table.c[i]) for i in live])
    method = MethodArrays(
        np.array(live), abscissas, terms_of(sums), *_step_limits(integrator, size)
    )
    power = min(solver.order, solver.embedded_order or 0) + 1
    return LaneMethod(method, adaptive, table.fsal, table.stages, float(power))


def _taylor_method(integrator: Integrator, size: int) -> LaneMethod:
    none = np.zeros(0, np.int64), np.zeros(0), terms_of([[]])
    method = MethodArrays(*none, *_step_limits(integrator, size))
    return LaneMethod(method, integrator.adaptive, False, 0, 1.0)


def _step_limits(integrator: Integrator, size: int) -> tuple[Any, Any]:
    """Return the step limits and the tolerances (2, m)."""
    control, limits = integrator.control or StepControl(), np.zeros(1, LIMITS)
    if (control.controller, control.norm, control.estimate) != ("pi", "max", "plain"):
        raise ManipDynError(
            "control must have the default controller, norm and estimate for many motions, got "
            f"{control.controller!r}, {control.norm!r} and {control.estimate!r}."
        )
    limits["step"], limits["first_step"] = integrator.step, control.first_step or 0.0
    limits["min_step"], limits["max_step"] = control.min_step, control.max_step
    limits["max_steps"] = control.max_steps if integrator.control else np.inf
    limits["order"], limits["absolute_order"] = integrator.orders
    limits["event_tolerance"] = EVENT_TOLERANCE
    for name in ("fac", "facmin", "facmax"):
        limits[name] = getattr(control, name)
    tolerances = np.empty((2, size))
    tolerances[0], tolerances[1] = integrator.tolerances
    return limits.view(np.recarray) if PLAIN else limits, tolerances


def _stage_terms(weights: Sequence[Fraction]) -> list[tuple[float, int]]:
    return [(float(weight), K + j) for j, weight in enumerate(weights)]


ENDLESS = 1 << 40


@inlined(always=True, counted=False)
def count_steps(rules, method, room, passed, quiet):
    """Advance the time and the step counters of all active lanes by accepted fixed steps.

    Args:
        rules: Options of the loop.
        method: Arrays of the method.
        room: Working memory of the thread.
        passed: Number of accepted steps.
        quiet: Number of attempted steps. If it exceeds `passed`, the rates at the start of the
            rejected step are known.
    """
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
def compute_rates(cases, rules, room):
    """Compute the rates at the start of the step in lanes where they are unknown."""
    m, block = 2 * rules.joints + 1, room.block
    some, every = False, True
    for lane in range(LANES):
        active, unknown = room.where[MOTION, lane] != IDLE, room.clock[lane].known == 0
        some, every = some or (active and unknown), every and (unknown or not active)
        room.h[lane] = 0.0
    if not some:
        return
    target = K if every else SCRATCH
    evaluate_rates(cases, rules, room, Y, target, 0.0)
    for lane in range(LANES):
        now = room.clock[lane]
        if room.where[MOTION, lane] == IDLE or now.known == 0:
            if not every:
                for i in range(m):
                    block[K * m + i, lane] = block[SCRATCH * m + i, lane]
            now.known = 1
            now.evaluations += 1
            update_peak_efforts(rules, room, lane)


@inlined(always=True, counted=False)
def choose_steps(cases, rules, method, room):
    """Choose the step sizes; return the number of fixed steps to take without checks of each lane.

    The result is -1 if a motion cannot continue and must end.
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
                ahead = (target - now.origin) / step - now.since - 2
                quiet = max(min(quiet, int(min(ahead, limits.max_steps - now.steps))), 0)
            if now.landing != 0:
                now.h = remaining
            if verdict != PASSED:
                room.where[PENDING, lane] = ENDED + verdict
                failed = True
            if cases.places.size > 0 and now.armed == 0:
                write_signals(rules, room, Y, lane, BEFORE, cases)
                now.armed = 1
        room.h[lane] = now.h
    return -1 if failed else quiet


@inlined(always=True, counted=False)
def plan_first_steps(cases, rules, method, room):
    """Plan the first steps of all new lanes from their initial rates."""
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
    evaluate_rates(cases, rules, room, U, SCRATCH, 1.0)
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


@inlined(always=True, counted=False)
def try_step(cases, rules, method, room):
    """Compute a trial step of length `room.h` in each lane from the initial rates in row `K`."""
    m, live = 2 * rules.joints + 1, method.live
    for stage in range(1, live.size):
        combine(room.block, m, U, Y, room.h, value_of(method.terms), stage)
        evaluate_rates(cases, rules, room, U, K + live[stage], method.abscissas[stage])
    if rules.fsal == 0:
        combine(room.block, m, U, Y, room.h, value_of(method.terms), live.size)


@compiled(python=False, counted=False)
def take_fixed_steps(cases, rules, method, room, count):
    """Compute `count` fixed steps in all lanes; return the number of accepted steps.

    If a state becomes infinite or NaN in any lane, this step is not accepted, and is the last.
    """
    m, block, step = 2 * rules.joints + 1, room.block, method.limits[0].step
    for lane in range(LANES):
        room.passed[lane] = 1.0
    for passed in range(count):
        if passed > 0 and rules.fsal == 0:
            evaluate_rates(cases, rules, room, Y, K, 0.0)
            if rules.law != SCHEDULE:
                update_all_peak_efforts(rules, room)
        try_step(cases, rules, method, room)
        if not all_finite(block, m, U):
            return passed
        accept_states(block, m, room.h, room.passed)
        if rules.fsal:
            for i in range(m):
                for lane in range(LANES):
                    block[K * m + i, lane] = block[(K + rules.stages - 1) * m + i, lane]
            update_all_peak_efforts(rules, room)
        if rules.timed:
            for lane in range(LANES):
                now = room.clock[lane]
                now.t = now.origin + (now.since + passed + 1) * step
    return count


@inlined(always=True, counted=False)
def update_all_peak_efforts(rules, room):
    """Update the largest absolute efforts of all lanes."""
    acting = room.held if rules.law == SCHEDULE else room.tau
    for i in range(rules.joints):
        for lane in range(LANES):
            room.peak[i, lane] = max(room.peak[i, lane], abs(acting[i, lane]))


@compiled(short=True, counted=False)
def run_lanes(cases, rules, method, room, kept, first, last):
    """Simulate the motions with indices from `first` to `last` - 1, and write their results."""
    m, block, where, live = 2 * rules.joints + 1, room.block, room.where, method.live
    waiting = first
    for lane in range(LANES):  # idle lanes compute with valid numbers
        load_motion(cases, rules, method, room, lane, first)
        where[MOTION, lane] = IDLE
    while True:
        waiting = refill_lanes(cases, rules, method, room, kept, waiting, last)
        if waiting < 0:
            return
        compute_rates(cases, rules, room)
        if rules.adaptive:
            plan_first_steps(cases, rules, method, room)
        quiet = choose_steps(cases, rules, method, room)
        if quiet < 0:  # a motion must end
            continue
        if quiet > 0:
            passed = take_fixed_steps(cases, rules, method, room, quiet)
            count_steps(rules, method, room, passed, quiet)
            if passed == quiet:
                continue
        else:
            try_step(cases, rules, method, room)
        if rules.adaptive:
            combine(block, m, SCRATCH, ZERO, room.h, value_of(method.terms), live.size + 1)
            error_norms(block, m, method.tolerances, room.times)
        for lane in range(LANES):
            room.passed[lane] = 0.0
            if where[MOTION, lane] != IDLE:
                judge_step(cases, rules, method, room, lane)
        accept_states(block, m, room.h, room.passed)
        for lane in range(LANES):
            if room.passed[lane] != 0.0:
                accept_step(cases, rules, method, room, lane)
