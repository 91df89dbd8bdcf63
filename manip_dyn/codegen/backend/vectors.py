"""Vectors of a number for each of `LANES`, for code that goes to LLVM as it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.backend.translator import FLAGS, in_all_lanes

NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(64)
_ZERO = ir.Constant(NUMBERS, None)


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
