"""Convolution sums of Taylor recurrences in SIMD lanes.

Coefficient k of a product a b is the sum of a_j b_(k-j) over j = 0..k. The recurrences of
quotients and sines contain such sums. The terms j = 1..k-1 depend only on coefficients below k.
All sums of an order can therefore be computed together, before its other operations. For a single
motion, each lane computes one product. For many motions, each lane computes one motion.
Moore (1966), Interval Analysis, chapter 11; Jorba, Zou (2005), proposition 2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from manip_dyn.codegen.backend.vectors import FLAGS, LANES, check_arrays, vector_at
from manip_dyn.core.arrays import array_pointer
from manip_dyn.core.compiled import PLAIN

_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
_VECTORS_IN_LOOP = 4
"""Number of vectors summed in one loop; independent addition chains hide their latency."""


class Factors(NamedTuple):
    """Layout of the factors and sums of all products in the row of a coefficient.

    All fields except `products` are multiples of `LANES`; padding is zero.

    Attributes:
        width: Numbers per row; each coefficient has one row.
        products: Number of products.
        first: Column of the first factor of the first product; the other products follow.
        last: Column of the second factor of the first product.
        sums: Column, in row 0, of the sum of the first product.
    """

    width: int
    products: int
    first: int
    last: int
    sums: int


def padded(count: int) -> int:
    """Return `count`, rounded up to a multiple of `LANES`."""
    return -(-count // LANES) * LANES


def vectors_of(size: int, factors: Factors) -> tuple[range, ...]:
    """Return the columns of each vector in a row: first of the state (size,), then of factors."""
    vectors, first, lanes = [], 0, LANES
    while first < size:
        while lanes > size - first:
            lanes //= 2
        vectors.append(range(first, first + lanes))
        first += lanes
    starts = range(factors.first, factors.width, LANES)
    return (*vectors, *(range(start, start + LANES) for start in starts))


def inner_sums(factors: Factors, order: int | None = None) -> Any:
    """Return an intrinsic ``(work, k)`` that computes the sums of order k >= 1.

    The sums of first[j] last[k - j] over j = 1..k-1 are written to row 0 of ``work``. With a
    constant `order`, k is ignored, and the loops over the coefficients are unrolled.
    """
    if PLAIN:
        return _plain_sums(factors, order)

    @intrinsic
    def run(_context, work, k):
        check_arrays("series", {"work": work}, [2])

        def generate(context, builder, signature, values):
            array = cgutils.create_struct_proxy(work)(context, builder, values[0])
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
    """Emit the code of all sums: a loop over groups of products, unrolled for a constant order."""
    size = _VECTORS_IN_LOOP * LANES
    groups, rest = divmod(padded(factors.products), size)
    if isinstance(order, ir.Constant):
        for group in range(groups):
            _emit_product_sums(
                builder, data, factors, _INDEX(group * size), _VECTORS_IN_LOOP, order
            )
    elif groups:
        with cgutils.for_range(builder, _INDEX(groups)) as loop:
            first = builder.mul(loop.index, _INDEX(size))
            _emit_product_sums(builder, data, factors, first, _VECTORS_IN_LOOP, order)
    if rest:
        _emit_product_sums(builder, data, factors, _INDEX(groups * size), rest // LANES, order)


def _newest_last(order: int) -> list[int]:
    """Return the indices 1..order-1; terms that depend on coefficient order - 1 are last."""
    return sorted(range(1, order), key=lambda j: max(j, order - j))


def _emit_product_sums(builder, data, factors: Factors, product, count: int, order) -> None:
    """Emit the sums of `count` vectors of products, starting at `product`."""
    kind = ir.VectorType(_NUMBER, LANES)
    totals = [cgutils.alloca_once_value(builder, ir.Constant(kind, None)) for _ in range(count)]

    def address(row, column: int, number: int):
        start = builder.add(builder.mul(row, _INDEX(factors.width)), product)
        index = builder.add(start, _INDEX(column + number * LANES))
        return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())

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
        target = address(_INDEX(0), factors.sums, number)
        builder.store(builder.load(total), target, align=8)


_SUMS_IN_LOOP = 8
"""Number of sums computed in one loop; independent addition chains hide their latency."""
Products = tuple[tuple[int, int], ...]


def unrolled_sums(
    builder: ir.IRBuilder, load: Callable[[int, int], Any], k: int, products: Products
) -> list[Any]:
    """Emit the code of the sums of order k, one per product, and return the sums.

    The terms a_j b_(k-j) and a_(k-j) b_j of all products are added together, and each of their
    vectors is loaded once. Terms with the newest coefficient, k - 1, follow all others except the
    middle term of an even order. Products with equal factors need half the terms.

    Args:
        builder: Builder of the function.
        load: Emits the load of a vector from a row and a column.
        k: The order.
        products: Columns of the factors of each product.
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
    """Return a function that emits the load of each vector only once."""
    vectors: dict[tuple[int, int], Any] = {}

    def read(row: int, column: int) -> Any:
        if (row, column) not in vectors:
            vectors[row, column] = load(row, column)
        return vectors[row, column]

    return read


def lane_sums(products: Products, width: int, sums: int, lanes: int) -> Any:
    """Return an intrinsic ``(rows, fixed, k)`` that computes the sums of order k >= 1.

    Args:
        products: Columns of the factors of each product.
        width: Vectors per row of ``rows``, which is (.., width * lanes).
        sums: Row of ``fixed`` (.., lanes) that receives the first sum.
        lanes: Motions per vector.
    """
    if PLAIN:
        return lambda rows, fixed, k: None  # plain programs compute their sums

    @intrinsic
    def run(_typing, rows, fixed, k):
        def generate(context, builder, signature, values):
            data, target = (
                array_pointer(context, builder, signature.args[i], values[i]) for i in (0, 1)
            )
            order = context.cast(builder, values[2], signature.args[2], types.intp)
            for first in range(0, len(products), _SUMS_IN_LOOP):
                group = products[first : first + _SUMS_IN_LOOP]
                totals = _emit_lane_sums(builder, data, group, width, order, lanes)
                for i, total in enumerate(totals):
                    row = _INDEX((sums + first + i) * lanes)
                    builder.store(total, vector_at(builder, target, row, lanes), align=8)
            return context.get_dummy_value()

        return types.void(rows, fixed, k), generate

    return run


def _emit_lane_sums(builder, data, group: Products, width: int, order, lanes: int) -> list[Any]:
    """Emit a loop over the terms of a group of sums and return the sums.

    As in `unrolled_sums`, terms are added in pairs, and products with equal factors need half the
    terms.
    """
    zero = ir.Constant(ir.VectorType(_NUMBER, lanes), None)
    totals = [cgutils.alloca_once_value(builder, zero) for _ in group]

    def read(row, column: int) -> Any:
        place = builder.mul(builder.add(row, _INDEX(column)), _INDEX(lanes))
        return builder.load(vector_at(builder, data, place, lanes), align=8)

    def add(total, left, first: int, right, last: int) -> None:
        term = builder.fmul(read(left, first), read(right, last), flags=FLAGS)
        builder.store(builder.fadd(builder.load(total), term, flags=FLAGS), total)

    half = builder.lshr(order, _INDEX(1))
    pairs = builder.lshr(builder.sub(order, _INDEX(1)), _INDEX(1))
    with cgutils.for_range(builder, pairs) as loop:
        j = builder.add(loop.index, _INDEX(1))
        low, high = (builder.mul(row, _INDEX(width)) for row in (j, builder.sub(order, j)))
        for (first, last), total in zip(group, totals, strict=True):
            add(total, low, first, high, last)
            if first != last:
                add(total, high, first, low, last)
    for (first, last), total in zip(group, totals, strict=True):
        if first == last:
            value = builder.load(total)
            builder.store(builder.fadd(value, value), total)
    with builder.if_then(builder.icmp_unsigned(">", half, pairs)):  # even orders
        middle = builder.mul(half, _INDEX(width))
        for (first, last), total in zip(group, totals, strict=True):
            add(total, middle, first, middle, last)
    return [builder.load(total) for total in totals]
