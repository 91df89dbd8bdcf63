"""The sums in recurrences for Taylor coefficients of many motions, a motion in each SIMD lane.

Sum k of a product a b is that of a_j b_(k-j) over j = 1..k-1, see `convolution`; half as many
products are enough where both factors are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.core.plain import PLAIN

FLAGS = ("contract",)
TOGETHER = 8
"""Sums made in one loop: as many chains of additions hide their latency."""
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
Products = tuple[tuple[int, int], ...]


def vector_at(builder: ir.IRBuilder, data: Any, place: Any, lanes: int) -> Any:
    """Return the pointer to a vector, the place of whose first number is given."""
    kind = ir.VectorType(_NUMBER, lanes)
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def unrolled_sums(
    builder: ir.IRBuilder, load: Callable[[int, int], Any], k: int, products: Products
) -> list[Any]:
    """Return sums k of the products of two columns each.

    A factor is read once for all that it is multiplied with in two terms, a_j b_(k-j) and
    a_(k-j) b_j. The terms with coefficient k - 1, just made, come last.

    Args:
        builder: Where to emit it.
        load: Emits a vector from its row and column.
        k: The order.
        products: Their columns.
    """
    zero = ir.Constant(load(0, 0).type, None)
    totals: list[Any] = [None] * len(products)

    def add(i: int, a: Any, b: Any) -> None:
        term = builder.fmul(a, b, flags=FLAGS)
        old = totals[i]
        totals[i] = term if old is None else builder.fadd(old, term, flags=FLAGS)

    for j in range((k - 1) // 2, 0, -1):
        read = _reader(load)
        for i, (first, last) in enumerate(products):
            add(i, read(j, first), read(k - j, last))
            if first != last:
                add(i, read(k - j, first), read(j, last))
    for i, (first, last) in enumerate(products):
        if first == last and totals[i] is not None:
            totals[i] = builder.fadd(totals[i], totals[i])
    if k % 2 == 0 and k > 0:
        read = _reader(load)
        for i, (first, last) in enumerate(products):
            add(i, read(k // 2, first), read(k // 2, last))
    return [zero if total is None else total for total in totals]


def _reader(load: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    """Return what reads each vector once."""
    known: dict[tuple[int, int], Any] = {}

    def read(row: int, column: int) -> Any:
        if (row, column) not in known:
            known[row, column] = load(row, column)
        return known[row, column]

    return read


def lane_sums(products: Products, width: int, sums: int, lanes: int) -> Any:
    """Return an intrinsic ``(rows, fixed, k)`` for the sums of order k >= 1.

    Args:
        products: Columns of the factors of each.
        width: Columns of ``rows`` (k + 1, width * lanes).
        sums: Row of ``fixed`` (.., lanes) for the first sum.
        lanes: Motions side by side.
    """
    if PLAIN:
        return lambda rows, fixed, k: None  # plain programs make their own

    @intrinsic
    def run(_typing, rows, fixed, k):
        def generate(context, builder, signature, values):
            data, there = (
                arrayobj.make_array(signature.args[i])(context, builder, values[i]).data
                for i in (0, 1)
            )
            order = context.cast(builder, values[2], signature.args[2], types.intp)
            for first in range(0, len(products), TOGETHER):
                some = products[first : first + TOGETHER]
                totals = _emit(builder, data, some, width, order, lanes)
                for i, total in enumerate(totals):
                    place = _INDEX((sums + first + i) * lanes)
                    builder.store(total, vector_at(builder, there, place, lanes), align=8)
            return context.get_dummy_value()

        return types.void(rows, fixed, k), generate

    return run


def _emit(builder, data, some: Products, width: int, order, lanes: int) -> list[Any]:
    """Emit a loop over the terms of some sums; return these."""
    zero = ir.Constant(ir.VectorType(_NUMBER, lanes), None)
    totals = [cgutils.alloca_once_value(builder, zero) for _ in some]
    with cgutils.for_range(builder, builder.sub(order, _INDEX(1))) as loop:
        j = builder.add(loop.index, _INDEX(1))
        starts = [builder.mul(row, _INDEX(width)) for row in (j, builder.sub(order, j))]
        for product, total in zip(some, totals, strict=True):
            a, b = (
                builder.load(
                    vector_at(
                        builder,
                        data,
                        builder.mul(builder.add(start, _INDEX(column)), _INDEX(lanes)),
                        lanes,
                    ),
                    align=8,
                )
                for start, column in zip(starts, product, strict=True)
            )
            term = builder.fmul(a, b, flags=FLAGS)
            builder.store(builder.fadd(builder.load(total), term, flags=FLAGS), total)
    return [builder.load(total) for total in totals]
