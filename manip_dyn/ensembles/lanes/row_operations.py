"""Operations on the rows of a block in all lanes: sums, error norms, accepted states.

A block is an array (rows * m, LANES) with states, stages and similar quantities of LANES motions
with m numbers each. A sum is base + h (w_0 row_0 + w_1 row_1 + ..), where h (LANES,) contains the
step of each lane.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from manip_dyn.codegen.backend.vectors import (
    FLAGS,
    LANES,
    NUMBERS,
    accumulated,
    broadcast_to_lanes,
    constant,
    for_blocks,
    function_of,
    magnitude,
    vectors_at,
)
from manip_dyn.core.arrays import array_pointer
from manip_dyn.core.compiled import PLAIN
from manip_dyn.ensembles.lanes.memory import HIGH, LOW, MEAN, SCRATCH, U, Y

VECTORS_TOGETHER = 4
"""Number of vectors summed per loop; independent addition chains hide their latency."""
_INDEX = ir.IntType(64)


class Terms(NamedTuple):
    """Sums of rows: weights (k, s), row indices (k, s), and the number of terms (k,)."""

    weights: Any
    rows: Any
    counts: Any


def terms_of(sums: list[list[tuple[float, int]]]) -> Terms:
    """Convert lists of weights and rows to `Terms`, without zero weights."""
    nonzero = [[(weight, row) for weight, row in terms if weight] for terms in sums]
    longest = max(map(len, nonzero))
    weights, rows = np.zeros((len(nonzero), longest)), np.zeros((len(nonzero), longest), np.int64)
    for i, terms in enumerate(nonzero):
        for j, (weight, row) in enumerate(terms):
            weights[i, j], rows[i, j] = weight, row
    return Terms(weights, rows, np.array([len(terms) for terms in nonzero]))


def _combine(_typing, block, size, target, base, h, terms, number):
    """Set row `target` to row `base` plus `h` times the weighted sum `number` of `terms`."""

    def generate(context, builder, signature, values):
        def data(kind, value) -> Any:
            return cgutils.create_struct_proxy(kind)(context, builder, value)

        kinds = signature.args
        size, target, base, number = (
            context.cast(builder, values[k], kinds[k], types.intp) for k in (1, 2, 3, 6)
        )
        block = data(kinds[0], values[0])
        weights, rows, counts = (
            data(kind, builder.extract_value(values[5], i)) for i, kind in enumerate(kinds[5])
        )
        offset = builder.mul(number, builder.extract_value(weights.shape, 1))
        passed = [
            block.data,
            size,
            target,
            base,
            data(kinds[4], values[4]).data,
            builder.gep(weights.data, [offset]),
            builder.gep(rows.data, [offset]),
            builder.load(builder.gep(counts.data, [number])),
        ]
        kinds, name = [value.type for value in passed], "manip_dyn_combine_rows"
        builder.call(function_of(builder.module, name, "internal", kinds, _emit), passed)
        return context.get_dummy_value()

    return types.void(block, size, target, base, h, terms, number), generate


def _emit(builder, arguments) -> None:
    for_blocks(
        builder,
        arguments[1],
        VECTORS_TOGETHER,
        lambda first, count: _emit_block(builder, arguments, first, count),
    )


def _emit_block(builder, arguments, first, count: int) -> None:
    """Emit the sums of `count` vectors of a row, starting at vector `first`."""
    data, size, target, base, h, weights, rows, terms = arguments

    def vectors(row) -> list[Any]:
        place = builder.add(builder.mul(row, size), first)
        return vectors_at(builder, data, builder.mul(place, _INDEX(LANES)), count)

    def term(index) -> tuple[Any, list[Any]]:
        weight = broadcast_to_lanes(builder, builder.load(builder.gep(weights, [index])))
        return weight, vectors(builder.load(builder.gep(rows, [index])))

    sums = accumulated(builder, [ir.Constant(NUMBERS, None)] * count, terms, term)
    steps = builder.load(builder.bitcast(h, NUMBERS.as_pointer()), align=8)
    for part, start, end in zip(sums, vectors(base), vectors(target), strict=True):
        moved = builder.fmul(steps, part, flags=FLAGS)
        builder.store(builder.fadd(builder.load(start, align=8), moved, flags=FLAGS), end, align=8)


def _all_finite(_typing, block, size, number):
    """Return whether a row is finite in all lanes."""

    def generate(context, builder, signature, values):
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, values[0])
        size, row = (
            context.cast(builder, values[k], signature.args[k], types.intp) for k in (1, 2)
        )
        zero = ir.Constant(NUMBERS, None)
        total = cgutils.alloca_once_value(builder, zero)
        first = builder.mul(row, size)
        with cgutils.for_range(builder, size) as loop:
            place = builder.mul(builder.add(first, loop.index), _INDEX(LANES))
            (vector,) = vectors_at(builder, array.data, place)
            nothing = builder.fmul(builder.load(vector, align=8), zero)  # NaN if not finite
            builder.store(builder.fadd(builder.load(total), nothing), total)
        wrong = builder.fcmp_unordered("uno", builder.load(total), zero)
        bits = ir.IntType(LANES)
        return builder.icmp_unsigned("==", builder.bitcast(wrong, bits), ir.Constant(bits, 0))

    return types.boolean(block, size, number), generate


def _plain_combine(block, size, target, base, h, terms, number):
    rows = block.reshape(-1, size, block.shape[1])
    total = np.zeros(rows.shape[1:])
    for j in range(terms.counts[number]):
        total += terms.weights[number, j] * rows[terms.rows[number, j]]
    rows[target] = rows[base] + h * total


def _plain_finite(block, size, number):
    return bool(np.isfinite(block[number * size : (number + 1) * size]).all())


combine: Any = _plain_combine if PLAIN else intrinsic(_combine)
"""``combine(block, m, target, base, h, terms, number)``: set row `target` to row `base` plus `h`
times the weighted sum `number` of `terms`."""
all_finite: Any = _plain_finite if PLAIN else intrinsic(_all_finite)
"""``all_finite(block, m, row)``: return whether a row is finite in all lanes."""


_ROW_INDEX = ir.IntType(64)
_TINY = 1e-300


def _accept_states(_typing, block, size, h, passed):
    """Update state, integral, minimum and maximum in the lanes with accepted steps."""

    def generate(context, builder, signature, values):
        kinds = signature.args
        data = array_pointer(context, builder, kinds[0], values[0])
        size = context.cast(builder, values[1], kinds[1], types.intp)
        h = array_pointer(context, builder, kinds[2], values[2])
        steps = builder.load(builder.bitcast(h, NUMBERS.as_pointer()), align=8)
        lanes = array_pointer(context, builder, kinds[3], values[3])
        lanes = builder.load(builder.bitcast(lanes, NUMBERS.as_pointer()), align=8)
        passed = builder.fcmp_ordered("!=", lanes, ir.Constant(NUMBERS, None))
        half = builder.fmul(steps, constant(0.5))

        with cgutils.for_range(builder, size) as loop:

            def place(row) -> Any:
                vector = builder.add(builder.mul(_ROW_INDEX(row), size), loop.index)
                (pointer,) = vectors_at(builder, data, builder.mul(vector, _ROW_INDEX(LANES)))
                return pointer

            start, end, mean, low, high = (
                builder.load(place(row), align=8) for row in (Y, U, MEAN, LOW, HIGH)
            )
            builder.store(builder.select(passed, end, start), place(Y), align=8)
            moved = builder.fmul(half, builder.fadd(start, end), flags=FLAGS)
            moved = builder.fadd(mean, moved, flags=FLAGS)
            builder.store(builder.select(passed, moved, mean), place(MEAN), align=8)
            for row, sign, bound in ((LOW, "<", low), (HIGH, ">", high)):
                beyond = builder.and_(passed, builder.fcmp_ordered(sign, end, bound))
                builder.store(builder.select(beyond, end, bound), place(row), align=8)
        return context.get_dummy_value()

    return types.void(block, size, h, passed), generate


def _plain_accept_states(block, size, h, passed):
    rows = block.reshape(-1, size, block.shape[1])
    for lane in np.flatnonzero(passed):
        start, end, mean, low, high = rows[[Y, U, MEAN, LOW, HIGH], :, lane]
        rows[MEAN, :, lane] = mean + 0.5 * h[lane] * (start + end)
        rows[LOW, :, lane], rows[HIGH, :, lane] = np.minimum(low, end), np.maximum(high, end)
        rows[Y, :, lane] = end


def _error_norms(_typing, block, size, tolerances, out):
    """Write the largest scaled error of each lane, or NaN if its state is not finite."""

    def generate(context, builder, signature, values):
        kinds = signature.args
        data, bounds, end = (
            array_pointer(context, builder, kinds[k], values[k]) for k in (0, 2, 3)
        )
        size = context.cast(builder, values[1], kinds[1], types.intp)
        zero = ir.Constant(NUMBERS, None)
        worst = cgutils.alloca_once_value(builder, zero)
        with cgutils.for_range(builder, size) as loop:

            def vector(row) -> Any:
                place = builder.add(builder.mul(_ROW_INDEX(row), size), loop.index)
                (pointer,) = vectors_at(builder, data, builder.mul(place, _ROW_INDEX(LANES)))
                return builder.load(pointer, align=8)

            def bound(row) -> Any:
                place = builder.add(builder.mul(_ROW_INDEX(row), size), loop.index)
                return broadcast_to_lanes(builder, builder.load(builder.gep(bounds, [place])))

            last = vector(U)
            sizes = [magnitude(builder, state) for state in (vector(Y), last)]
            larger = builder.select(builder.fcmp_ordered(">", *sizes), *sizes)
            relative = builder.fmul(bound(0), larger, flags=FLAGS)
            scale = builder.fadd(bound(1), relative, flags=FLAGS)
            scale = builder.fadd(scale, constant(_TINY))
            ratio = builder.fdiv(magnitude(builder, vector(SCRATCH)), scale)
            ratio = builder.fadd(ratio, builder.fmul(last, zero))
            before = builder.load(worst)
            worse = builder.or_(
                builder.fcmp_ordered(">", ratio, before),
                builder.fcmp_unordered("uno", ratio, ratio),
            )
            builder.store(builder.select(worse, ratio, before), worst)
        builder.store(builder.load(worst), builder.bitcast(end, NUMBERS.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(block, size, tolerances, out), generate


def _plain_error_norms(block, size, tolerances, out):
    rows = block.reshape(-1, size, block.shape[1])
    larger = np.maximum(np.abs(rows[Y]), np.abs(rows[U]))
    scale = tolerances[1][:, None] + tolerances[0][:, None] * larger + 1e-300
    out[:] = (np.abs(rows[SCRATCH]) / scale + 0.0 * rows[U]).max(axis=0)


accept_states: Any = _plain_accept_states if PLAIN else intrinsic(_accept_states)
"""``accept_states(block, m, h, passed)``: copy row `U` to row `Y` and update rows `MEAN`, `LOW`
and `HIGH`, in lanes with nonzero `passed` (LANES,)."""
error_norms: Any = _plain_error_norms if PLAIN else intrinsic(_error_norms)
"""``error_norms(block, m, tolerances, out)``: write the maximum norms of the error estimates in
row `SCRATCH`, divided by the tolerances (2, m), to `out` (LANES,)."""
