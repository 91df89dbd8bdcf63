"""Sums of rows of a matrix in SIMD lanes, with the sums in registers.

Numba cannot promise LLVM that a sum and its summands are different rows, so such loops would go
through memory at every step, or stay without lanes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.backend.translator import FLAGS
from manip_dyn.codegen.backend.vectors import added, function_of, in_blocks, spread, vectors_at

TOGETHER = 4
"""Vectors summed in one loop: as many chains of additions hide their latency."""
_INDEX = ir.IntType(64)


def add_rows(total, scale, factors, rows, first, last):
    """Set total = scale total + sum(factors[k] rows[k]) over k from `first` up to `last`.

    Args:
        total: Not one of the rows summed, (m,), m a multiple of `LANES`; lies densely.
        scale: A number.
        factors: (`last`,) or longer, with any strides.
        rows: (`last`, m) or more rows, each of which lies densely.
        first: The first row.
        last: The row after the last.
    """
    total *= scale
    for k in range(first, last):
        total += factors[k] * rows[k]


@overload(add_rows, inline="always")
def _add_rows_compiled(total, scale, factors, rows, first, last):
    def run(total, scale, factors, rows, first, last):
        _add_rows(total, float(scale), factors, rows, first, last)

    return run


def _add_rows_intrinsic(_context, total, scale, factors, rows, first, last):
    for array, axes in ((total, 1), (factors, 1), (rows, 2)):
        good = isinstance(array, types.Array) and array.ndim == axes
        if not (good and array.dtype == types.float64):
            raise TypingError(
                f"expected an array of float64 with {axes} axis or axes, not {array}"
            )

    def generate(context, builder, signature, values):
        arrays = [
            arrayobj.make_array(signature.args[i])(context, builder, values[i]) for i in (0, 2, 3)
        ]
        sums, scaled, summed = arrays
        bounds = [context.cast(builder, values[i], signature.args[i], types.intp) for i in (4, 5)]
        passed = [
            sums.data,
            builder.extract_value(sums.shape, 0),
            values[1],
            scaled.data,
            builder.extract_value(scaled.strides, 0),
            summed.data,
            builder.extract_value(summed.strides, 0),
            *bounds,
        ]
        kinds = [value.type for value in passed]
        name = "manip_dyn_add_rows"
        builder.call(function_of(builder.module, name, "linkonce_odr", kinds, _emit), passed)
        return context.get_dummy_value()

    return types.void(total, scale, factors, rows, first, last), generate


_add_rows: Any = intrinsic(_add_rows_intrinsic)


def _emit(builder, given) -> None:
    """Emit the function: its loops over the vectors of a row."""
    columns = builder.sdiv(given[1], _INDEX(LANES))
    in_blocks(
        builder,
        columns,
        TOGETHER,
        lambda first, count: _emit_block(builder, given, builder.mul(first, _INDEX(LANES)), count),
    )


def _emit_block(builder, given, column, count: int) -> None:
    """Emit the sums of `count` vectors from a column on."""
    total, _, scale, factors, factor_stride, rows, row_stride, first, last = given
    number, byte = ir.DoubleType().as_pointer(), ir.IntType(8).as_pointer()

    def place(data, index, stride):
        """Return the pointer `index` strides, in bytes, behind `data`."""
        moved = builder.gep(builder.bitcast(data, byte), [builder.mul(index, stride)])
        return builder.bitcast(moved, number)

    def term(index):
        k = builder.add(first, index)
        factor = spread(builder, builder.load(place(factors, k, factor_stride), align=8))
        return factor, vectors_at(builder, place(rows, k, row_stride), column, count)

    targets, factor = vectors_at(builder, total, column, count), spread(builder, scale)
    starts = [
        builder.fmul(factor, builder.load(target, align=8), flags=FLAGS) for target in targets
    ]
    ends = added(builder, starts, builder.sub(last, first), term)
    for target, end in zip(targets, ends, strict=True):
        builder.store(end, target, align=8)
