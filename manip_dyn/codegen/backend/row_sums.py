"""Sums of rows of a matrix in SIMD lanes, with the sums in registers.

Numba cannot promise LLVM that a sum and its summands are different rows, so such loops would go
through memory at every step, or stay without lanes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.backend.translator import FLAGS

TOGETHER = 4
"""Vectors summed in one loop: as many chains of additions hide their latency."""
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)


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
        builder.call(_function(builder.module, [value.type for value in passed]), passed)
        return context.get_dummy_value()

    return types.void(total, scale, factors, rows, first, last), generate


_add_rows: Any = intrinsic(_add_rows_intrinsic)


def _function(module, kinds) -> ir.Function:
    """Return the function that does it, one for a module: all that call it are long already."""
    name = "manip_dyn_add_rows"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    extent = function.args[1]
    block, lanes = _INDEX(TOGETHER * LANES), _INDEX(LANES)
    blocks = builder.sdiv(extent, block)
    with cgutils.for_range(builder, blocks) as loop:
        _emit_block(builder, function.args, builder.mul(loop.index, block), TOGETHER)
    done = builder.mul(blocks, block)
    with cgutils.for_range(builder, builder.sdiv(builder.sub(extent, done), lanes)) as loop:
        column = builder.add(done, builder.mul(loop.index, lanes))
        _emit_block(builder, function.args, column, 1)
    builder.ret_void()
    return function


def _emit_block(builder, given, column, count: int) -> None:
    """Emit the sums of `count` vectors from a column on."""
    total, _, scale, factors, factor_stride, rows, row_stride, first, last = given
    kind = ir.VectorType(_NUMBER, LANES)
    number, byte = _NUMBER.as_pointer(), ir.IntType(8).as_pointer()

    def spread(value):
        single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _INDEX(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), mask)

    def place(data, index, stride):
        """Return the pointer `index` strides, in bytes, behind `data`."""
        moved = builder.gep(builder.bitcast(data, byte), [builder.mul(index, stride)])
        return builder.bitcast(moved, number)

    def vectors(data):
        start = builder.gep(data, [column])
        return [
            builder.bitcast(builder.gep(start, [_INDEX(i * LANES)]), kind.as_pointer())
            for i in range(count)
        ]

    targets, factor = vectors(total), spread(scale)
    sums = [
        cgutils.alloca_once_value(
            builder, builder.fmul(factor, builder.load(target, align=8), flags=FLAGS)
        )
        for target in targets
    ]
    with cgutils.for_range(builder, builder.sub(last, first)) as loop:
        k = builder.add(first, loop.index)
        factor = spread(builder.load(place(factors, k, factor_stride), align=8))
        for part, row in zip(sums, vectors(place(rows, k, row_stride)), strict=True):
            term = builder.fmul(factor, builder.load(row, align=8), flags=FLAGS)
            builder.store(builder.fadd(builder.load(part), term, flags=FLAGS), part)
    for target, part in zip(targets, sums, strict=True):
        builder.store(builder.load(part), target, align=8)
