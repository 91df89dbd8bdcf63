"""LLVM emitters: vectors in SIMD lanes, sums of rows, arrays on the stack."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from manip_dyn.core.compiled import PLAIN

LANES = 8
"""Numbers in a vector."""
# Fused multiply-add may be used; nothing may assume that numbers are finite.
FLAGS = ("contract",)
NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
_ZERO = ir.Constant(NUMBERS, None)


def check_arrays(name: str, arrays: dict[str, Any], dimensions: list[int]) -> None:
    """Refuse types that are not C-contiguous float64 arrays of the given `dimensions`."""
    for (argument, kind), ndim in zip(arrays.items(), dimensions, strict=True):
        good = isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == ndim
        if not (good and kind.dtype == types.float64):
            raise TypingError(
                f"{name}: {argument} is {kind}; expected a C-contiguous float64 array "
                f"of {ndim} dimension(s)"
            )


def in_all_lanes(builder: ir.IRBuilder, value: Any, lanes: int) -> Any:
    """Return a number as a vector of so many; as it is for one lane."""
    if lanes == 1:
        return value
    none = ir.Constant(ir.VectorType(_NUMBER, lanes), ir.Undefined)
    single = builder.insert_element(none, value, _INDEX(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
    return builder.shuffle_vector(single, none, mask)


def vector_at(builder: ir.IRBuilder, data: Any, place: Any, lanes: int) -> Any:
    """Return the pointer to a vector, the place of whose first number is given."""
    kind = ir.VectorType(_NUMBER, lanes)
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def constant(value: float) -> ir.Constant:
    """Return a number in all lanes."""
    return ir.Constant(NUMBERS, [ir.Constant(NUMBERS.element, value)] * LANES)


def spread(builder: ir.IRBuilder, value: Any) -> Any:
    """Return a number that the code has made in all lanes."""
    return in_all_lanes(builder, value, LANES)


def magnitude(builder: ir.IRBuilder, value: Any) -> Any:
    """Return numbers without their signs."""
    below = builder.fcmp_ordered("<", value, _ZERO)
    return builder.select(below, builder.fneg(value), value)


def vectors_at(builder: ir.IRBuilder, data: Any, place: Any, count: int = 1) -> list[Any]:
    """Return pointers to vectors that lie one after another from a number on."""
    start = builder.gep(data, [place])
    return [
        builder.bitcast(builder.gep(start, [_INDEX(i * LANES)]), NUMBERS.as_pointer())
        for i in range(count)
    ]


def added(
    builder: ir.IRBuilder,
    starts: Sequence[Any],
    terms: Any,
    term: Callable[[Any], tuple[Any, Sequence[Any]]],
) -> list[Any]:
    """Return vectors with multiples of others added to them, the sums in registers.

    Args:
        builder: Where to emit it.
        starts: Vectors.
        terms: How many multiples are added to each.
        term: Emits the factor of one, and where its vectors lie.
    """
    sums = [cgutils.alloca_once_value(builder, each) for each in starts]
    with cgutils.for_range(builder, terms) as loop:
        factor, places = term(loop.index)
        for part, place in zip(sums, places, strict=True):
            product = builder.fmul(factor, builder.load(place, align=8), flags=FLAGS)
            builder.store(builder.fadd(builder.load(part), product, flags=FLAGS), part)
    return [builder.load(part) for part in sums]


def in_blocks(
    builder: ir.IRBuilder, count: Any, together: int, emit: Callable[[Any, int], None]
) -> None:
    """Emit a loop over so many things, some side by side, and one over those that are left.

    Args:
        builder: Where to emit it.
        count: How many there are.
        together: How many are side by side: chains of additions hide each other's latency.
        emit: Emits what is done with the first of so many.
    """
    blocks = builder.sdiv(count, _INDEX(together))
    with cgutils.for_range(builder, blocks) as loop:
        emit(builder.mul(loop.index, _INDEX(together)), together)
    done = builder.mul(blocks, _INDEX(together))
    with cgutils.for_range(builder, builder.sub(count, done)) as loop:
        emit(builder.add(done, loop.index), 1)


def function_of(
    module: ir.Module,
    name: str,
    linkage: str,
    kinds: Sequence[Any],
    emit: Callable[[ir.IRBuilder, Sequence[Any]], None],
) -> ir.Function:
    """Return a function of a module, one for all that call it: these are long already."""
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
"""Vectors summed in one loop: as many chains of additions hide their latency."""


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
        builder.call(
            function_of(builder.module, name, "linkonce_odr", kinds, _emit_row_sums), passed
        )
        return context.get_dummy_value()

    return types.void(total, scale, factors, rows, first, last), generate


_add_rows: Any = intrinsic(_add_rows_intrinsic)


def _emit_row_sums(builder, given) -> None:
    """Emit the function: its loops over the vectors of a row."""
    columns = builder.sdiv(given[1], _INDEX(LANES))
    in_blocks(
        builder,
        columns,
        _ROWS_IN_LOOP,
        lambda first, count: _emit_row_block(
            builder, given, builder.mul(first, _INDEX(LANES)), count
        ),
    )


def _emit_row_block(builder, given, column, count: int) -> None:
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


def on_stack(*shape: int) -> Any:
    """Return an intrinsic ``()`` for an array of float64 that lives as long as its function runs.

    Each call of the function has its own, and within it each place of the call; what is in it
    at first is not defined.
    """
    if PLAIN:
        return lambda: np.empty(shape)
    number, index = ir.DoubleType(), ir.IntType(64)
    size, width = math.prod(shape), 8
    strides = [width * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]

    @intrinsic
    def make(_context):
        kind = types.Array(types.float64, len(shape), "C")

        def generate(context, builder, _signature, _values):
            memory = cgutils.alloca_once(builder, number, size=ir.Constant(index, size))
            memory.align = 64
            array = arrayobj.make_array(kind)(context, builder)
            arrayobj.populate_array(
                array,
                data=memory,
                shape=[ir.Constant(index, extent) for extent in shape],
                strides=[ir.Constant(index, stride) for stride in strides],
                itemsize=ir.Constant(index, width),
                meminfo=None,
            )
            return array._getvalue()  # Numba's own name for what its models make.

        return kind(), generate

    return make
