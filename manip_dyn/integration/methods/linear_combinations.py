"""Linear combinations of stages and of Taylor terms, emitted as LLVM code.

A stage is k_i = f(t + c_i h, u) with u = y + h sum_j a_ij k_j. Each sum is one expression of its
nonzero terms. A loop over a table of coefficients could take longer than the right-hand side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
from numba.extending import intrinsic

from manip_dyn.core.arrays import VECTOR, array_at, array_pointer
from manip_dyn.core.compiled import PLAIN
from manip_dyn.integration.methods.tableaus import Tableau

FLAGS = ("contract",)
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
U, K = 0, 1
"""Rows of the work array: the argument of a stage, finally the end state; and the first stage."""


def explicit_stages(table: Tableau, live: Sequence[int], rhs: Any) -> Any:
    """Return ``stages(t, h, first, last, y, p, work, size)`` of a tableau, for compiled code.

    The first stage must be in row `K` of `work`. The function writes the other stages to the
    following rows, and the state at the end of the step to row `U`.

    Args:
        table: The coefficients.
        live: Indices of the required stages, including the first.
        rhs: Compiled ``rhs(t, y, p, out)``.
    """
    if PLAIN:
        return _plain_stages(table, live, rhs)
    rows = [(i, _terms(table.a[i]), table.c[i]) for i in live[1:]]
    end = () if table.fsal else _terms(table.b)

    @intrinsic
    def stages(typing, t, h, first, last, y, p, work, size):
        function = typeof(rhs)
        called = function.get_call_type(typing, (types.float64, VECTOR, p, VECTOR), {})

        def generate(context, builder, signature, values):
            t, h, first, last, y, p, work, size = values
            start = array_pointer(context, builder, signature.args[4], y)
            data = array_pointer(context, builder, signature.args[6], work)
            evaluate = context.get_function(function, called)
            length = context.cast(builder, size, signature.args[7], types.intp)

            def place(row: int) -> Any:
                return builder.gep(data, [builder.mul(length, ir.Constant(_INDEX, row))])

            def combine(terms) -> None:
                weighted = [(weight, place(K + j)) for weight, j in terms]
                _emit_sum(builder, length, start, h, weighted, place(U))

            for i, terms, c in rows:
                combine(terms)
                time = _emit_time(builder, t, h, first, last, c)
                u, rate = (
                    array_at(context, builder, VECTOR, place(row), [length]) for row in (U, K + i)
                )
                evaluate(builder, [time, u, p, rate])
            if end:
                combine(end)
            context.add_linking_libs(getattr(evaluate, "libs", ()))
            return context.get_dummy_value()

        return types.void(t, h, first, last, y, p, work, size), generate

    return stages


def weighted_sum(weights: Sequence[float], rows: Sequence[int]) -> Any:
    """Return ``combine(base, factor, work, size, out)``, which adds weighted rows of `work`.

    The function computes out = base + factor sum_j w_j work[rows_j] in compiled code. The vectors
    `base` and `out` are (m,), and `work` is (.., m).
    """
    if PLAIN:
        return _plain_sum(weights, rows)
    terms = [(w, row) for w, row in zip(weights, rows, strict=True) if w]

    @intrinsic
    def combine(_typing, base, factor, work, size, out):
        def generate(context, builder, signature, values):
            start, data, end = (
                array_pointer(context, builder, signature.args[k], values[k]) for k in (0, 2, 4)
            )
            length = context.cast(builder, values[3], signature.args[3], types.intp)
            weighted = [
                (weight, builder.gep(data, [builder.mul(length, ir.Constant(_INDEX, row))]))
                for weight, row in terms
            ]
            _emit_sum(builder, length, start, values[1], weighted, end)
            return context.get_dummy_value()

        return types.void(base, factor, work, size, out), generate

    return combine


def _terms(row: Sequence[Fraction]) -> tuple[tuple[float, int], ...]:
    return tuple((float(weight), j) for j, weight in enumerate(row) if weight)


def _emit_sum(builder, length, start, factor, weighted, end) -> None:
    """Emit a loop that sets end[i] = start[i] + factor * sum of weight * row[i]."""
    with cgutils.for_range(builder, length) as loop:

        def load(data) -> Any:
            return builder.load(builder.gep(data, [loop.index]))

        total = ir.Constant(_NUMBER, 0.0)
        for count, (weight, row) in enumerate(weighted):
            term = load(row)
            if abs(weight) != 1.0:
                term = builder.fmul(ir.Constant(_NUMBER, abs(weight)), term, flags=FLAGS)
            if count == 0:
                total = term if weight > 0.0 else builder.fneg(term)
            else:
                add = builder.fadd if weight > 0.0 else builder.fsub
                total = add(total, term, flags=FLAGS)
        moved = builder.fmul(factor, total, flags=FLAGS)
        value = builder.fadd(load(start), moved, flags=FLAGS)
        builder.store(value, builder.gep(end, [loop.index]))


def _emit_time(builder, t, h, first, last, c: Fraction) -> Any:
    """Return t + c h, or the times `first` and `last` for the ends of the step."""
    if c in (0, 1):
        return last if c else first
    moved = builder.fmul(ir.Constant(_NUMBER, float(c)), h, flags=FLAGS)
    return builder.fadd(t, moved, flags=FLAGS)


def _plain_stages(table: Tableau, live: Sequence[int], rhs: Callable[..., None]) -> Any:
    a, b, c = (np.array(rows, dtype=np.float64) for rows in (table.a, table.b, table.c))

    def stages(t, h, first, last, y, p, work, size):
        u, k = work[U], work[K : K + table.stages]
        for i in live[1:]:
            u[:] = y + h * (a[i, :i] @ k[:i])
            rhs({0.0: first, 1.0: last}.get(c[i], t + c[i] * h), u, p, k[i])
        if not table.fsal:
            u[:] = y + h * (b @ k)

    return stages


def _plain_sum(weights: Sequence[float], rows: Sequence[int]) -> Any:
    def combine(base, factor, work, size, out):
        out[:] = base + factor * (np.array(weights) @ work[list(rows)])

    return combine


WIDEST = 8


def power_sum(size: int) -> Any:
    """Return ``sum_up(h, order, terms, out)``, which evaluates a power series in compiled code.

    The function computes out = sum of h^k terms[k] for k = 0..order by Horner's rule. The array
    `terms` is (.., size), and `out` is (size,).
    """
    if PLAIN:
        return _plain_power_sum

    @intrinsic
    def sum_up(context, h, order, terms, out):
        def generate(context, builder, signature, values):
            h, order, terms, out = values
            order = context.cast(builder, order, signature.args[1], types.intp)
            rows = array_pointer(context, builder, signature.args[2], terms)
            end = array_pointer(context, builder, signature.args[3], out)
            _emit_power_sum(builder, size, h, order, rows, end)
            return context.get_dummy_value()

        return types.void(h, order, terms, out), generate

    return sum_up


def _blocks(size: int) -> list[tuple[int, int]]:
    """Divide `size` components into SIMD vectors; return the start and length of each."""
    blocks, first, lanes = [], 0, WIDEST
    while first < size:
        while lanes > size - first:
            lanes //= 2
        blocks.append((first, lanes))
        first += lanes
    return blocks


def _emit_power_sum(builder, size: int, h, order, rows, end) -> None:
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


def _plain_power_sum(h, order, terms, out):
    total = terms[order]
    for k in range(order - 1, -1, -1):
        total = total * h + terms[k]
    out[:] = total
