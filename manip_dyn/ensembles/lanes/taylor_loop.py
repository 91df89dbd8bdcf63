"""The time loop of Taylor series over many motions: one series per step and lane.

Efforts are constant between switches. A search for a position limit evaluates the same series
again while the other lanes wait. Order and length of a step follow from the tolerances as in
`integrate`. Base-2 logarithms and powers have errors below 1e-11, and step lengths differ by no
more. The logarithm is a series in (x - 1) / (x + 1) for x in [sqrt(1/2), sqrt(2)], and the power
is a series of exp for arguments up to ln(2) / 2. The arguments of the functions are those of
`lane_steps`.
"""

from __future__ import annotations

from math import e, factorial, log, log2, sqrt
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from manip_dyn.codegen.backend.vectors import (
    FLAGS,
    LANES,
    NUMBERS,
    broadcast_to_lanes,
    constant,
    for_blocks,
    magnitude,
    vectors_at,
)
from manip_dyn.core.arrays import array_pointer, call_writing, rows
from manip_dyn.core.compiled import PLAIN, compiled, inlined
from manip_dyn.ensembles.lanes.lane_steps import (
    accept_step,
    load_motion,
    refill_lanes,
    update_peak_efforts,
    write_signals,
)
from manip_dyn.ensembles.lanes.memory import BEGIN_NS, END_NS, ENDED, IDLE, MOTION, PENDING, U, Y
from manip_dyn.ensembles.lanes.row_operations import accept_states, all_finite
from manip_dyn.integration.event_search import AFTER, BEFORE, another_trial
from manip_dyn.integration.methods.step_control import (
    NON_FINITE,
    PASSED,
    ROUNDING,
    STEP_UNDERFLOW,
    TOO_MANY_STEPS,
)

INTEGERS = ir.VectorType(ir.IntType(64), LANES)
MANTISSA = 52
_ROUNDER = 6755399441055744.0  # adding it rounds to an integer, stored in the last bits
LOGARITHM = tuple(2.0 * log2(e) / k for k in range(1, 16, 2))
EXPONENTIAL = tuple(log(2.0) ** k / factorial(k) for k in range(11))


def _integer(value: int) -> ir.Constant:
    return ir.Constant(INTEGERS, [ir.Constant(INTEGERS.element, value)] * LANES)


def _bits(value: float) -> int:
    return int(np.float64(value).view(np.int64))


def _polynomial(builder: ir.IRBuilder, x: ir.Value, coefficients: tuple[float, ...]) -> ir.Value:
    total = constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = builder.fadd(
            builder.fmul(total, x, flags=FLAGS), constant(coefficient), flags=FLAGS
        )
    return total


def logarithm(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Return the base-2 logarithm of numbers above 1e-300."""
    bits = builder.bitcast(x, INTEGERS)
    shift = _integer(MANTISSA)
    power = builder.ashr(builder.sub(bits, _integer(_bits(sqrt(0.5)))), shift)
    rest = builder.bitcast(builder.sub(bits, builder.shl(power, shift)), NUMBERS)
    whole = builder.bitcast(builder.add(power, _integer(_bits(_ROUNDER))), NUMBERS)
    whole = builder.fsub(whole, constant(_ROUNDER))
    one = constant(1.0)
    s = builder.fdiv(builder.fsub(rest, one), builder.fadd(rest, one))
    series = _polynomial(builder, builder.fmul(s, s), LOGARITHM)
    return builder.fadd(whole, builder.fmul(s, series, flags=FLAGS), flags=FLAGS)


def power(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Return 2^x for |x| < 1000."""
    shifted = builder.fadd(x, constant(_ROUNDER))
    rest = builder.fsub(x, builder.fsub(shifted, constant(_ROUNDER)))
    bits = builder.shl(builder.bitcast(shifted, INTEGERS), _integer(MANTISSA))
    mantissa = builder.bitcast(_polynomial(builder, rest, EXPONENTIAL), INTEGERS)
    return builder.bitcast(builder.add(mantissa, bits), NUMBERS)


SHORTER = 0.7 * log2(e)
"""Steps are divided by 2^(SHORTER / (order - 1))."""
TINY = 1e-300
SUMMED_TOGETHER = 5
"""Number of components summed per loop. The state of a two-link arm, with the work, has five."""
_INDEX, _BITS = ir.IntType(64), ir.IntType(LANES)
_ZERO, _FIRST = ir.Constant(NUMBERS, None), _INDEX(0)


class _Vectors(NamedTuple):
    """SIMD vectors of a series, with `width` vectors per row, and of a block."""

    builder: ir.IRBuilder
    series: Any
    width: Any
    block: Any
    size: Any

    def at(self, data, place) -> Any:
        (pointer,) = vectors_at(self.builder, data, self.builder.mul(place, _INDEX(LANES)))
        return pointer

    def read(self, data, place=_FIRST) -> Any:
        return self.builder.load(self.at(data, place), align=8)

    def term(self, k, i) -> Any:
        return self.read(self.series, self.builder.add(self.builder.mul(k, self.width), i))

    def of_block(self, row: int, i) -> Any:
        return self.builder.add(self.builder.mul(_INDEX(row), self.size), i)


def _larger(builder, a, b) -> Any:
    """Return the larger of two numbers in each lane, or b if either is NaN."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _largest(places: _Vectors, *reads: Any) -> list[Any]:
    """Return the largest absolute values over all components, for each of `reads`."""
    builder = places.builder
    totals = [cgutils.alloca_once_value(builder, _ZERO) for _ in reads]
    with cgutils.for_range(builder, places.size) as loop:
        for read, total in zip(reads, totals, strict=True):
            now = magnitude(builder, read(loop.index))
            builder.store(_larger(builder, now, builder.load(total)), total)
    return [builder.load(total) for total in totals]


def _number(builder, value) -> Any:
    """Convert an integer to a vector of equal floating-point numbers."""
    return broadcast_to_lanes(builder, builder.sitofp(value, NUMBERS.element))


def _vectors_of(context, builder, kinds, values) -> _Vectors:
    """Return the vectors of a series and a block, the first four arguments of an intrinsic."""
    series, block = (array_pointer(context, builder, kinds[k], values[k]) for k in (0, 2))
    width, size = (context.cast(builder, values[k], kinds[k], types.intp) for k in (1, 3))
    return _Vectors(builder, series, width, block, size)


def _plan(_typing, series, width, block, size, tolerances, relative, absolute, orders, lengths):
    def generate(context, builder, signature, values):
        kinds = signature.args
        places = _vectors_of(context, builder, kinds, values)
        bounds, orders, lengths = (
            array_pointer(context, builder, kinds[k], values[k]) for k in (4, 7, 8)
        )
        relative, absolute = (
            context.cast(builder, values[k], kinds[k], types.intp) for k in (5, 6)
        )

        top = builder.select(builder.icmp_signed(">", relative, absolute), relative, absolute)
        below = builder.sub(top, _INDEX(1))
        size, *ends = _largest(
            places,
            lambda i: places.read(places.block, places.of_block(Y, i)),
            *(lambda i, k=k: places.term(k, i) for k in (top, below)),
        )
        rtol = broadcast_to_lanes(builder, builder.load(bounds))
        atol = broadcast_to_lanes(builder, builder.load(builder.gep(bounds, [places.size])))
        ruled = builder.fmul(rtol, size)
        order = builder.select(
            builder.fcmp_ordered(">", ruled, atol),
            _number(builder, relative),
            _number(builder, absolute),
        )
        unit = builder.fadd(builder.fadd(atol, ruled), constant(TINY))
        lowest = builder.fsub(builder.fmul(order, constant(0.5)), constant(1.0))

        def look(k, term, level, looked) -> tuple[Any, Any, Any]:
            """Emit the check of term k; return level, checked terms, and whether to continue."""
            number = _number(builder, k)
            wanted = builder.fcmp_ordered("<=", number, order)
            for left, right in ((lowest, number), (looked, constant(2.0)), (constant(TINY), term)):
                wanted = builder.and_(wanted, builder.fcmp_ordered("<", left, right))
            ratio = builder.fdiv(unit, _larger(builder, term, constant(TINY)))
            ratio = _larger(builder, ratio, constant(TINY))
            length = builder.fmul(logarithm(builder, ratio), builder.fdiv(constant(1.0), number))
            better = builder.and_(wanted, builder.fcmp_ordered("<", length, level))
            level = builder.select(better, length, level)
            looked = builder.select(wanted, builder.fadd(looked, constant(1.0)), looked)
            next_one = builder.sub(k, _INDEX(1))
            more = builder.and_(
                builder.fcmp_ordered("<", looked, constant(2.0)),
                builder.fcmp_ordered("<", lowest, _number(builder, next_one)),
            )
            more = builder.icmp_unsigned("!=", builder.bitcast(more, _BITS), _BITS(0))
            return level, looked, builder.and_(more, builder.icmp_signed(">", next_one, _INDEX(0)))

        length, count, _ = look(top, ends[0], constant(1000.0), _ZERO)
        length, count, more = look(below, ends[1], length, count)
        level, looked = (cgutils.alloca_once_value(builder, value) for value in (length, count))
        last = cgutils.alloca_once_value(builder, builder.sub(below, _INDEX(1)))
        looking, after = builder.append_basic_block("look"), builder.append_basic_block("after")
        builder.cbranch(more, looking, after)
        builder.position_at_end(looking)  # zero terms, or another lane has a lower order
        k = builder.load(last)
        (term,) = _largest(places, lambda i: places.term(k, i))
        length, count, more = look(k, term, builder.load(level), builder.load(looked))
        for value, place in ((length, level), (count, looked), (builder.sub(k, _INDEX(1)), last)):
            builder.store(value, place)
        builder.cbranch(more, looking, after)
        builder.position_at_end(after)
        shorter = builder.fdiv(constant(SHORTER), builder.fsub(order, constant(1.0)))
        exponent = builder.fsub(builder.load(level), shorter)
        low = constant(-1000.0)
        step = power(builder, _larger(builder, exponent, low))
        builder.store(order, places.at(orders, _INDEX(0)), align=8)
        builder.store(step, places.at(lengths, _INDEX(0)), align=8)
        return context.get_dummy_value()

    arguments = (series, width, block, size, tolerances, relative, absolute, orders, lengths)
    return types.void(*arguments), generate


def _sum(_typing, series, width, block, size, top, orders, h):
    def generate(context, builder, signature, values):
        kinds = signature.args
        places = _vectors_of(context, builder, kinds, values)
        top = context.cast(builder, values[4], kinds[4], types.intp)
        order, h = (
            places.read(array_pointer(context, builder, kinds[k], values[k])) for k in (5, 6)
        )
        for_blocks(
            builder,
            places.size,
            SUMMED_TOGETHER,
            lambda first, count: _emit_sums(places, first, count, top, order, h),
        )
        return context.get_dummy_value()

    return types.void(series, width, block, size, top, orders, h), generate


def _emit_sums(places: _Vectors, first, count: int, top, order, h) -> None:
    """Emit Horner's rule for several components at the same time."""
    builder = places.builder
    components = [builder.add(first, _INDEX(i)) for i in range(count)]
    totals = [cgutils.alloca_once_value(builder, _ZERO) for _ in components]
    with cgutils.for_range(builder, top) as loop:
        k = builder.sub(top, loop.index)
        beyond = builder.fcmp_ordered(">", _number(builder, k), order)
        for i, total in zip(components, totals, strict=True):
            term = builder.select(beyond, _ZERO, places.term(k, i))
            moved = builder.fmul(builder.load(total), h, flags=FLAGS)
            builder.store(builder.fadd(moved, term, flags=FLAGS), total)
    for i, total in zip(components, totals, strict=True):
        start = places.read(places.block, places.of_block(Y, i))
        moved = builder.fmul(builder.load(total), h, flags=FLAGS)
        end = places.at(places.block, places.of_block(U, i))
        builder.store(builder.fadd(start, moved, flags=FLAGS), end, align=8)


def _plain_plan(series, width, block, size, tolerances, relative, absolute, orders, lengths):
    start = np.abs(block[Y * size : (Y + 1) * size])
    terms = np.abs(series.reshape(len(series), width, -1)[:, :size])
    rtol, atol = tolerances[:, 0]
    for lane in range(start.shape[1]):
        ruled = rtol * start[:, lane].max()
        order = relative if ruled > atol else absolute
        level, looked = 1000.0, 0
        for k in range(order, max(order // 2 - 1, 0), -1):
            term = terms[k, :, lane].max()
            if term > TINY and looked < 2:
                looked += 1
                level = min(level, (np.log2(atol + ruled + TINY) - np.log2(term)) / k)
        orders[lane] = order
        lengths[lane] = 2.0 ** max(level - SHORTER / (order - 1), -1000.0)


def _plain_sum(series, width, block, size, top, orders, h):
    terms = series.reshape(len(series), width, -1)
    total = np.zeros((size, len(h)))
    for k in range(top, 0, -1):
        total = (total + np.where(k <= orders, terms[k, :size], 0.0)) * h
    block[U * size : (U + 1) * size] = block[Y * size : (Y + 1) * size] + total


plan_lengths: Any = _plain_plan if PLAIN else intrinsic(_plan)
"""``plan_lengths(series, width, block, m, tolerances, relative, absolute, orders, lengths)``:
write orders (LANES,) and lengths (LANES,) of steps from the coefficients in the rows of `series`.
`relative` and `absolute` are the orders for the relative and the absolute tolerance. The
tolerances (2, m) are equal for all components."""
sum_series: Any = _plain_sum if PLAIN else intrinsic(_sum)
"""``sum_series(series, width, block, m, top, orders, h)``: advance row `Y` by the steps `h`
(LANES,) and write the result to row `U`. The series are summed up to `orders` (LANES,); `top` is
the largest order."""


@compiled(short=True, counted=False)
def run_series(cases, rules, method, room, kept, first, last):
    """Simulate the motions with indices from `first` to `last` - 1, and write their results."""
    m, block, limits = 2 * rules.joints + 1, room.block, method.limits[0]
    relative, absolute = limits.order, limits.absolute_order
    top = max(relative, absolute)
    waiting = first
    for lane in range(LANES):  # idle lanes compute with valid numbers
        load_motion(cases, rules, method, room, lane, first)
        room.where[MOTION, lane] = IDLE
        room.orders[lane] = top
    while True:
        waiting = refill_lanes(cases, rules, method, room, kept, waiting, last)
        if waiting < 0:
            return
        expand_series(rules, room, top)
        if rules.adaptive:
            arrays = (room.series, rules.width, block, m, method.tolerances)
            plan_lengths(*arrays, relative, absolute, room.orders, room.lengths)
        for lane in range(LANES):
            choose_series_step(rules, method, room, lane)
        sum_series(room.series, rules.width, block, m, top, room.orders, room.h)
        if cases.places.size > 0:
            for lane in range(LANES):
                if room.passed[lane] != 0.0:
                    search_limit(cases, rules, method, room, lane, top)
        every = all_finite(block, m, U)
        for lane in range(LANES):
            if room.passed[lane] != 0.0:
                judge_series(rules, method, room, lane, every)
        accept_states(block, m, room.h, room.passed)
        for lane in range(LANES):
            if room.passed[lane] != 0.0:
                accept_step(cases, rules, method, room, lane)


@inlined(always=True, counted=False)
def expand_series(rules, room, top):
    """Compute the series of all lanes at the start of their steps."""
    m = 2 * rules.joints + 1
    y = rows(room.block, Y * m, m - 1)
    if rules.loaded:
        arrays = (top, y, room.held, room.inertias, room.series, room.fixed)
        call_writing(rules.motion, arrays)
    else:
        call_writing(rules.motion, (top, y, room.held, room.series, room.fixed))


@inlined(always=True, counted=False)
def choose_series_step(rules, method, room, lane):
    """Choose the step size of a lane, or end its motion at the maximum number of steps."""
    now, where, limits = room.clock[lane], room.where, method.limits[0]
    room.h[lane] = room.passed[lane] = 0.0
    if where[MOTION, lane] == IDLE:
        return
    if now.steps >= limits.max_steps:
        where[PENDING, lane] = ENDED + TOO_MANY_STEPS
        return
    room.passed[lane] = 1.0
    now.evaluations += 1
    if now.since == 0:
        update_peak_efforts(rules, room, lane)
    target = 1e-9 * (where[END_NS, lane] - where[BEGIN_NS, lane])
    if rules.adaptive:
        now.planned = now.h = min(limits.max_step, room.lengths[lane])
        now.landing = target - now.t <= 1.01 * now.planned
    else:
        now.landing = target - now.origin - (now.since + 1) * limits.step <= 1e-6 * limits.step
        now.h = limits.step
    if now.landing != 0:
        now.h = target - now.t
    room.h[lane] = now.h


@inlined(always=True, counted=False)
def search_limit(cases, rules, method, room, lane, top):
    """Shorten the step of a lane to the position limit that it crosses, if any."""
    now, m = room.clock[lane], 2 * rules.joints + 1
    if now.armed == 0:
        write_signals(rules, room, Y, lane, BEFORE, cases)
        now.armed = 1
    write_signals(rules, room, U, lane, AFTER, cases)
    while another_trial(now, room.signals[lane], method.limits[0].event_tolerance):
        room.h[lane] = now.h
        sum_series(room.series, rules.width, room.block, m, top, room.orders, room.h)
        write_signals(rules, room, U, lane, AFTER, cases)


@inlined(always=True, counted=False)
def judge_series(rules, method, room, lane, every):
    """End the motion of a lane if its end state is not finite or its step is too short.

    Args:
        rules: Options.
        method: Arrays of the method.
        room: Working memory.
        lane: The lane.
        every: Whether the end states of all lanes are finite.
    """
    now, verdict, m = room.clock[lane], PASSED, 2 * rules.joints + 1
    if not every:
        total = 0.0
        for i in range(m):
            total += 0.0 * room.block[U * m + i, lane]
        if total != 0.0:  # NaN
            verdict = NON_FINITE
    shortest = max(method.limits[0].min_step, ROUNDING * now.t + 1e-30)
    if verdict == PASSED and rules.adaptive and now.planned < shortest:
        verdict = STEP_UNDERFLOW
    if verdict != PASSED:
        room.where[PENDING, lane] = ENDED + verdict
        room.passed[lane] = 0.0
