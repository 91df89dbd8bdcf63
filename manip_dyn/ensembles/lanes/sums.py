"""Weighted sums of a block's rows, all lanes at once, with the sums in registers.

A block is an array (rows * m, LANES): states, stages and the like of LANES motions with m numbers
each. A sum is base + h (w_0 row_0 + w_1 row_1 + ..), where h (LANES,) is each lane's own step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.backend.translator import FLAGS
from manip_dyn.codegen.backend.vectors import (
    NUMBERS,
    accumulated,
    broadcast_to_lanes,
    for_blocks,
    function_of,
    vectors_at,
)
from manip_dyn.core.compiled import PLAIN

TOGETHER = 4
"""Vectors summed in one loop: as many chains of additions hide their latency."""
_INDEX = ir.IntType(64)


class Terms(NamedTuple):
    """Sums of rows: their weights (k, s), the rows (k, s), and how many there are of each (k,)."""

    weights: Any
    rows: Any
    counts: Any


def terms_of(sums: list[list[tuple[float, int]]]) -> Terms:
    """Return sums that are given as weights and rows; those with weight 0 are left out."""
    wanted = [[(weight, row) for weight, row in each if weight] for each in sums]
    longest = max(map(len, wanted))
    weights, rows = np.zeros((len(wanted), longest)), np.zeros((len(wanted), longest), np.int64)
    for i, each in enumerate(wanted):
        for j, (weight, row) in enumerate(each):
            weights[i, j], rows[i, j] = weight, row
    return Terms(weights, rows, np.array([len(each) for each in wanted]))


def _combine(_typing, block, size, target, base, h, terms, number):
    """Write into row `target` the sum `number` of `terms` over row `base`."""

    def generate(context, builder, signature, values):
        def data(kind, value) -> Any:
            return arrayobj.make_array(kind)(context, builder, value)

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


def _emit(builder, given) -> None:
    """Emit the function: its loops over the vectors of a row."""
    for_blocks(
        builder,
        given[1],
        TOGETHER,
        lambda first, count: _emit_block(builder, given, first, count),
    )


def _emit_block(builder, given, first, count: int) -> None:
    """Emit the sums of `count` vectors of a row from its number `first` on."""
    data, size, target, base, h, weights, rows, terms = given

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
        array = arrayobj.make_array(signature.args[0])(context, builder, values[0])
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
"""``combine(block, m, target, base, h, terms, number)``: row `target` becomes a sum of `terms`."""
all_finite: Any = _plain_finite if PLAIN else intrinsic(_all_finite)
"""``all_finite(block, m, row)``: whether a row is finite in all lanes."""
