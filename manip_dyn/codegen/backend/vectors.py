"""LLVM emitters for vectors in SIMD lanes, sums of rows, and arrays on the stack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from manip_dyn.core.arrays import array_at
from manip_dyn.core.compiled import PLAIN

LANES = 8
"""Number of lanes: numbers in a vector."""
# LLVM may fuse multiplications and additions. Infinite numbers and NaN remain valid operands.
FLAGS = ("contract",)
NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
_ZERO = ir.Constant(NUMBERS, None)


def check_arrays(
    name: str, arrays: dict[str, Any], dimensions: list[int], dtype: Any = types.float64
) -> None:
    """Raise `TypingError` unless arrays are C-contiguous with `dimensions` axes and `dtype`."""
    for (argument, kind), ndim in zip(arrays.items(), dimensions, strict=True):
        good = isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == ndim
        if not (good and kind.dtype == dtype):
            raise TypingError(
                f"{name}: {argument} must be a C-contiguous {dtype} array of {ndim} "
                f"dimension(s), got {kind}."
            )


def broadcast(builder: ir.IRBuilder, value: Any, lanes: int) -> Any:
    """Return a vector of `lanes` equal numbers, or the number itself for one lane."""
    if lanes == 1:
        return value
    undefined = ir.Constant(ir.VectorType(_NUMBER, lanes), ir.Undefined)
    single = builder.insert_element(undefined, value, _INDEX(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
    return builder.shuffle_vector(single, undefined, mask)


def vector_at(builder: ir.IRBuilder, data: Any, start: Any, lanes: int) -> Any:
    """Return a pointer to the vector of `lanes` numbers at index `start`."""
    kind = ir.VectorType(_NUMBER, lanes)
    return builder.bitcast(builder.gep(data, [start]), kind.as_pointer())


def constant(value: float) -> ir.Constant:
    """Return a constant vector of `LANES` equal numbers."""
    return ir.Constant(NUMBERS, [ir.Constant(NUMBERS.element, value)] * LANES)


def broadcast_to_lanes(builder: ir.IRBuilder, value: Any) -> Any:
    """Return a vector of `LANES` equal numbers."""
    return broadcast(builder, value, LANES)


def magnitude(builder: ir.IRBuilder, value: Any) -> Any:
    """Return the magnitudes of the numbers of a vector."""
    below = builder.fcmp_ordered("<", value, _ZERO)
    return builder.select(below, builder.fneg(value), value)


def vectors_at(builder: ir.IRBuilder, data: Any, start: Any, count: int = 1) -> list[Any]:
    """Return pointers to `count` consecutive vectors, starting at index `start`."""
    pointer = builder.gep(data, [start])
    return [
        builder.bitcast(builder.gep(pointer, [_INDEX(i * LANES)]), NUMBERS.as_pointer())
        for i in range(count)
    ]


def accumulated(
    builder: ir.IRBuilder,
    starts: Sequence[Any],
    terms: Any,
    term: Callable[[Any], tuple[Any, Sequence[Any]]],
) -> list[Any]:
    """Emit and return initial vectors plus sums of scaled vectors, accumulated in registers.

    Args:
        builder: Builder of the function.
        starts: Initial vectors.
        terms: Number of terms that are added to each vector.
        term: Emits and returns, for the index of a term, its factor and pointers to its vectors.
    """
    sums = [cgutils.alloca_once_value(builder, start) for start in starts]
    with cgutils.for_range(builder, terms) as loop:
        factor, pointers = term(loop.index)
        for total, pointer in zip(sums, pointers, strict=True):
            product = builder.fmul(factor, builder.load(pointer, align=8), flags=FLAGS)
            builder.store(builder.fadd(builder.load(total), product, flags=FLAGS), total)
    return [builder.load(total) for total in sums]


def for_blocks(
    builder: ir.IRBuilder, count: Any, block: int, emit: Callable[[Any, int], None]
) -> None:
    """Emit a loop over blocks of items, and a loop over the remaining items.

    Args:
        builder: Builder of the function.
        count: Number of items.
        block: Items per block; independent chains of additions hide each other's latency.
        emit: Emits the operations on a block; arguments are its first index and its size.
    """
    blocks = builder.sdiv(count, _INDEX(block))
    with cgutils.for_range(builder, blocks) as loop:
        emit(builder.mul(loop.index, _INDEX(block)), block)
    done = builder.mul(blocks, _INDEX(block))
    with cgutils.for_range(builder, builder.sub(count, done)) as loop:
        emit(builder.add(done, loop.index), 1)


def function_of(
    module: ir.Module,
    name: str,
    linkage: str,
    kinds: Sequence[Any],
    emit: Callable[[ir.IRBuilder, Sequence[Any]], None],
) -> ir.Function:
    """Return the function `name` of a module, which callers share and LLVM does not inline.

    Args:
        module: The module.
        name: Name of the function.
        linkage: LLVM linkage of the function.
        kinds: Types of the arguments.
        emit: Emits the body on first use, from a builder and the arguments.
    """
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = linkage
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    emit(builder, function.args)
    builder.ret_void()
    return function


_ROWS_IN_LOOP = 4
"""Number of vectors summed in one loop; independent addition chains hide their latency."""


def add_rows(total, scale, factors, rows, first, last):
    """Set total = scale total + sum(factors[k] rows[k]) for `first` <= k < `last`.

    In a loop compiled by Numba, LLVM must assume that `total` may overlap `rows`. Such a loop
    would access memory in every step, or would not be vectorized.

    Args:
        total: A contiguous row (m,) that is not one of the summed rows; m is a multiple of
            `LANES`.
        scale: Factor of `total`.
        factors: Factors (`last`,) or longer, with any strides.
        rows: (`last`, m) or more rows, each contiguous.
        first: The first row.
        last: The index after the last row.
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
    for name, array, axes in (("total", total, 1), ("factors", factors, 1), ("rows", rows, 2)):
        good = isinstance(array, types.Array) and array.ndim == axes
        if not (good and array.dtype == types.float64):
            raise TypingError(
                f"add_rows: {name} must be a float64 array of {axes} dimension(s), got {array}."
            )

    def generate(context, builder, signature, values):
        arrays = [
            cgutils.create_struct_proxy(signature.args[i])(context, builder, values[i])
            for i in (0, 2, 3)
        ]
        sums, scaled, summed = arrays
        bounds = [context.cast(builder, values[i], signature.args[i], types.intp) for i in (4, 5)]
        arguments = [
            sums.data,
            builder.extract_value(sums.shape, 0),
            values[1],
            scaled.data,
            builder.extract_value(scaled.strides, 0),
            summed.data,
            builder.extract_value(summed.strides, 0),
            *bounds,
        ]
        kinds = [value.type for value in arguments]
        name = "manip_dyn_add_rows"
        builder.call(
            function_of(builder.module, name, "linkonce_odr", kinds, _emit_row_sums), arguments
        )
        return context.get_dummy_value()

    return types.void(total, scale, factors, rows, first, last), generate


_add_rows: Any = intrinsic(_add_rows_intrinsic)


def _emit_row_sums(builder, arguments) -> None:
    """Emit the body of `add_rows`: loops over the vectors of a row."""
    columns = builder.sdiv(arguments[1], _INDEX(LANES))
    for_blocks(
        builder,
        columns,
        _ROWS_IN_LOOP,
        lambda first, count: _emit_row_block(
            builder, arguments, builder.mul(first, _INDEX(LANES)), count
        ),
    )


def _emit_row_block(builder, arguments, column, count: int) -> None:
    """Emit the sums of `count` vectors, starting at a column."""
    total, _, scale, factors, factor_stride, rows, row_stride, first, last = arguments
    number, byte = ir.DoubleType().as_pointer(), ir.IntType(8).as_pointer()

    def pointer(data, index, stride):
        """Return `data` advanced by `index` times `stride` bytes."""
        moved = builder.gep(builder.bitcast(data, byte), [builder.mul(index, stride)])
        return builder.bitcast(moved, number)

    def term(index):
        k = builder.add(first, index)
        factor = broadcast_to_lanes(
            builder, builder.load(pointer(factors, k, factor_stride), align=8)
        )
        return factor, vectors_at(builder, pointer(rows, k, row_stride), column, count)

    targets, factor = vectors_at(builder, total, column, count), broadcast_to_lanes(builder, scale)
    starts = [
        builder.fmul(factor, builder.load(target, align=8), flags=FLAGS) for target in targets
    ]
    ends = accumulated(builder, starts, builder.sub(last, first), term)
    for target, end in zip(targets, ends, strict=True):
        builder.store(end, target, align=8)


def on_stack(*shape: int) -> Any:
    """Return an intrinsic ``()`` for a float64 array on the stack of the calling function.

    Each call of the function, and each call site in it, has its own array. The initial
    content is undefined.
    """
    if PLAIN:
        return lambda: np.empty(shape)
    number, index = ir.DoubleType(), ir.IntType(64)

    @intrinsic
    def make(_context):
        kind = types.Array(types.float64, len(shape), "C")

        def generate(context, builder, _signature, _values):
            memory = cgutils.alloca_once(
                builder, number, size=ir.Constant(index, math.prod(shape))
            )
            memory.align = 64
            extents = [ir.Constant(index, extent) for extent in shape]
            return array_at(context, builder, kind, memory, extents)

        return kind(), generate

    return make
