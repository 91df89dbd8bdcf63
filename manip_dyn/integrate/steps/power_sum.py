"""Sums of power series, all components side by side in SIMD lanes.

As a loop in Python's words, Horner's rule would keep the sums in memory from term to term.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.core.plain import PLAIN

FLAGS = ("contract",)
WIDEST = 8
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)


def power_sum(size: int) -> Any:
    """Return ``sum_up(h, order, terms, out)``: out = the sum of h^k terms[k] over k = 0..order.

    For compiled code: `terms` (.., size), `out` (size,); by Horner's rule.
    """
    if PLAIN:
        return _plain_sum

    @intrinsic
    def sum_up(context, h, order, terms, out):
        def generate(context, builder, signature, values):
            h, order, terms, out = values
            order = context.cast(builder, order, signature.args[1], types.intp)
            rows = arrayobj.make_array(signature.args[2])(context, builder, terms).data
            end = arrayobj.make_array(signature.args[3])(context, builder, out).data
            _emit(builder, size, h, order, rows, end)
            return context.get_dummy_value()

        return types.void(h, order, terms, out), generate

    return sum_up


def _blocks(size: int) -> list[tuple[int, int]]:
    """Return the first component and the number of components of each vector."""
    blocks, first, lanes = [], 0, WIDEST
    while first < size:
        while lanes > size - first:
            lanes //= 2
        blocks.append((first, lanes))
        first += lanes
    return blocks


def _emit(builder, size: int, h, order, rows, end) -> None:
    blocks = _blocks(size)

    def place(data, row, block) -> Any:
        first, lanes = block
        at = builder.add(builder.mul(row, ir.Constant(_INDEX, size)), ir.Constant(_INDEX, first))
        return builder.bitcast(builder.gep(data, [at]), ir.VectorType(_NUMBER, lanes).as_pointer())

    def spread(lanes: int) -> Any:
        vector = ir.Constant(ir.VectorType(_NUMBER, lanes), ir.Undefined)
        for lane in range(lanes):
            vector = builder.insert_element(vector, h, ir.Constant(ir.IntType(32), lane))
        return vector

    factors = [spread(lanes) for _, lanes in blocks]
    last = [builder.load(place(rows, order, block), align=8) for block in blocks]
    totals = [cgutils.alloca_once_value(builder, value) for value in last]
    with cgutils.for_range(builder, order) as loop:
        row = builder.sub(builder.sub(order, ir.Constant(_INDEX, 1)), loop.index)
        for block, factor, total in zip(blocks, factors, totals, strict=True):
            moved = builder.fmul(builder.load(total), factor, flags=FLAGS)
            term = builder.load(place(rows, row, block), align=8)
            builder.store(builder.fadd(moved, term, flags=FLAGS), total)
    for block, total in zip(blocks, totals, strict=True):
        builder.store(builder.load(total), place(end, ir.Constant(_INDEX, 0), block), align=8)


def _plain_sum(h, order, terms, out):
    total = terms[order]
    for k in range(order - 1, -1, -1):
        total = total * h + terms[k]
    out[:] = total
