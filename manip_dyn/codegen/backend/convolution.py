"""The sums in all recurrences for Taylor coefficients, side by side in SIMD lanes.

Coefficient k of a product a b is the sum of a_j b_(k-j) over j = 0..k; those of quotients and
of sines contain such a sum too. All of it but its two ends, j = 0 and j = k, is known before
anything of order k is. So the sums of all products are made at once, a product per lane, from
rows in which the factors lie side by side. Moore (1966), Interval Analysis, chapter 11;
Jorba, Zou (2005), proposition 2.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen.backend.straight_line import LANES, check_arrays
from manip_dyn.codegen.backend.translator import FLAGS
from manip_dyn.core.plain import PLAIN

_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
TOGETHER = 4
"""Vectors summed in one loop: as many chains of additions hide their latency."""


class Factors(NamedTuple):
    """Where the factors of the products lie in a coefficient's row of `width` numbers.

    All but their number are multiples of `LANES`; what fills up is zero.

    Attributes:
        width: Numbers in a row, one row per coefficient.
        products: How many there are.
        first: Column of the first product's first factor; the others follow.
        last: Column of the first product's second factor.
        sums: Column, in row 0, of the first product's sum.
    """

    width: int
    products: int
    first: int
    last: int
    sums: int


def whole(count: int) -> int:
    """Return the least multiple of `LANES` that is not below `count`."""
    return -(-count // LANES) * LANES


def vectors_of(size: int, factors: Factors) -> tuple[range, ...]:
    """Return the columns of each vector in a row: of the state (size,), and of the factors."""
    vectors, first, lanes = [], 0, LANES
    while first < size:
        while lanes > size - first:
            lanes //= 2
        vectors.append(range(first, first + lanes))
        first += lanes
    starts = range(factors.first, factors.width, LANES)
    return (*vectors, *(range(start, start + LANES) for start in starts))


def inner_sums(factors: Factors, order: int | None = None) -> Any:
    """Return an intrinsic ``(work, k)`` for the sums of order k >= 1.

    With `order`, k is ignored: the loops over the coefficients are unrolled.

    Each is the sum of first[j] last[k - j] over j = 1..k-1.
    """
    if PLAIN:
        return _plain_sums(factors, order)

    @intrinsic
    def run(_context, work, k):
        check_arrays("series", {"work": work}, [2])

        def generate(context, builder, signature, values):
            array = arrayobj.make_array(work)(context, builder, values[0])
            column = context.cast(builder, values[1], signature.args[1], types.intp)
            if order is not None:
                column = ir.Constant(_INDEX, order)
            emit_sums(builder, array.data, factors, column)
            return context.get_dummy_value()

        return types.void(work, k), generate

    return run


def _plain_sums(factors: Factors, order: int | None) -> Any:
    def run(work, k):
        row = k if order is None else order
        for i in range(factors.products):
            first, last = work[1:row, factors.first + i], work[1:row, factors.last + i]
            work[0, factors.sums + i] = first @ last[::-1]

    return run


def emit_sums(builder, data, factors: Factors, order) -> None:
    """Emit all sums: a loop over groups of products, or one after another for a known order."""
    size = TOGETHER * LANES
    groups, rest = divmod(whole(factors.products), size)
    if isinstance(order, ir.Constant):
        for group in range(groups):
            _emit(builder, data, factors, _INDEX(group * size), TOGETHER, order)
    elif groups:
        with cgutils.for_range(builder, _INDEX(groups)) as loop:
            first = builder.mul(loop.index, _INDEX(size))
            _emit(builder, data, factors, first, TOGETHER, order)
    if rest:
        _emit(builder, data, factors, _INDEX(groups * size), rest // LANES, order)


def _newest_last(order: int) -> list[int]:
    """Return 1..order-1; the terms with coefficient order - 1, just made, come last."""
    return sorted(range(1, order), key=lambda j: max(j, order - j))


def _emit(builder, data, factors: Factors, product, count: int, order) -> None:
    """Emit the sums of `count` vectors of products from one on."""
    kind = ir.VectorType(_NUMBER, LANES)
    totals = [cgutils.alloca_once_value(builder, ir.Constant(kind, None)) for _ in range(count)]

    def address(row, column: int, number: int):
        start = builder.add(builder.mul(row, _INDEX(factors.width)), product)
        place = builder.add(start, _INDEX(column + number * LANES))
        return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())

    def add(j) -> None:
        back = builder.sub(order, j)
        for number, total in enumerate(totals):
            a = builder.load(address(j, factors.first, number), align=8)
            b = builder.load(address(back, factors.last, number), align=8)
            term = builder.fmul(a, b, flags=FLAGS)
            builder.store(builder.fadd(builder.load(total), term, flags=FLAGS), total)

    one = _INDEX(1)
    if isinstance(order, ir.Constant):
        for j in _newest_last(order.constant):
            add(_INDEX(j))
    else:
        with cgutils.for_range(builder, builder.sub(order, one)) as loop:
            add(builder.add(loop.index, one))
    for number, total in enumerate(totals):
        place = address(_INDEX(0), factors.sums, number)
        builder.store(builder.load(total), place, align=8)
