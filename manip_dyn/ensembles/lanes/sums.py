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
from manip_dyn.core.plain import PLAIN

TOGETHER = 4
"""Vectors summed in one loop: as many chains of additions hide their latency."""
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
_VECTOR = ir.VectorType(_NUMBER, LANES)


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
        builder.call(_function(builder.module, [value.type for value in passed]), passed)
        return context.get_dummy_value()

    return types.void(block, size, target, base, h, terms, number), generate


def _function(module, kinds) -> ir.Function:
    """Return the function that does it, one for a module."""
    name = "manip_dyn_combine_rows"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    size = function.args[1]
    blocks = builder.sdiv(size, _INDEX(TOGETHER))
    with cgutils.for_range(builder, blocks) as loop:
        _emit(builder, function.args, builder.mul(loop.index, _INDEX(TOGETHER)), TOGETHER)
    done = builder.mul(blocks, _INDEX(TOGETHER))
    with cgutils.for_range(builder, builder.sub(size, done)) as loop:
        _emit(builder, function.args, builder.add(done, loop.index), 1)
    builder.ret_void()
    return function


def _emit(builder, given, first, count: int) -> None:
    """Emit the sums of `count` vectors of a row from its number `first` on."""
    data, size, target, base, h, weights, rows, terms = given

    def vectors(row) -> list:
        place = builder.add(builder.mul(row, size), first)
        start = builder.gep(data, [builder.mul(place, _INDEX(LANES))])
        return [
            builder.bitcast(builder.gep(start, [_INDEX(i * LANES)]), _VECTOR.as_pointer())
            for i in range(count)
        ]

    sums = [cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, None)) for _ in range(count)]
    with cgutils.for_range(builder, terms) as loop:
        weight = spread(builder, builder.load(builder.gep(weights, [loop.index])))
        for part, row in zip(
            sums, vectors(builder.load(builder.gep(rows, [loop.index]))), strict=True
        ):
            term = builder.fmul(weight, builder.load(row, align=8), flags=FLAGS)
            builder.store(builder.fadd(builder.load(part), term, flags=FLAGS), part)
    steps = builder.load(builder.bitcast(h, _VECTOR.as_pointer()), align=8)
    for part, start, end in zip(sums, vectors(base), vectors(target), strict=True):
        moved = builder.fmul(steps, builder.load(part), flags=FLAGS)
        builder.store(builder.fadd(builder.load(start, align=8), moved, flags=FLAGS), end, align=8)


def spread(builder, value) -> Any:
    """Return a number in all lanes."""
    none = ir.Constant(_VECTOR, ir.Undefined)
    single = builder.insert_element(none, value, _INDEX(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, none, mask)


def _all_finite(_typing, block, size, number):
    """Return whether a row is finite in all lanes."""

    def generate(context, builder, signature, values):
        array = arrayobj.make_array(signature.args[0])(context, builder, values[0])
        size, row = (
            context.cast(builder, values[k], signature.args[k], types.intp) for k in (1, 2)
        )
        zero = ir.Constant(_VECTOR, None)
        total = cgutils.alloca_once_value(builder, zero)
        first = builder.mul(row, size)
        with cgutils.for_range(builder, size) as loop:
            place = builder.mul(builder.add(first, loop.index), _INDEX(LANES))
            vector = builder.bitcast(builder.gep(array.data, [place]), _VECTOR.as_pointer())
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
