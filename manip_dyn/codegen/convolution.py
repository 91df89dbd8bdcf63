"""The sum in every recurrence for Taylor coefficients, as LLVM instructions.

Coefficient k of a product a b is the sum of a_j b_(k-j) over j = 0..k; those of quotients and
of sines contain the same sum from j = 1 on. Moore (1966), Interval Analysis, chapter 11;
Jorba, Zou (2005), proposition 2.1.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils

_NUMBER, _INDEX = ir.DoubleType(), ir.IntType(64)
# The sum's order is free, so that it can be vectorized.
_FLAGS = ("contract", "reassoc")


def convolution(builder: ir.IRBuilder, first: ir.Value, last: ir.Value, count: ir.Value):
    """Return the sum of first[j] * last[-j] for j in range(count), from two pointers."""
    return builder.call(_function(builder.module), [first, last, count])


def unrolled(builder: ir.IRBuilder, first: ir.Value, last: ir.Value, count: int):
    """Return the same sum for a count known now, by two chains of additions."""
    totals: list = [None, None]
    for j in range(count):
        a = builder.load(builder.gep(first, [ir.Constant(_INDEX, j)]))
        b = builder.load(builder.gep(last, [ir.Constant(_INDEX, -j)]))
        term, total = builder.fmul(a, b, flags=_FLAGS), totals[j % 2]
        totals[j % 2] = term if total is None else builder.fadd(total, term, flags=_FLAGS)
    return totals[0] if count == 1 else builder.fadd(*totals, flags=_FLAGS)


def _function(module: ir.Module) -> ir.Function:
    name = "manip_dyn.convolution"
    if name in module.globals:
        return module.globals[name]
    pointer = _NUMBER.as_pointer()
    kind = ir.FunctionType(_NUMBER, [pointer, pointer, _INDEX])
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    first, last, count = function.args
    total = cgutils.alloca_once_value(builder, ir.Constant(_NUMBER, 0.0))
    with cgutils.for_range(builder, count) as loop:
        back = builder.sub(ir.Constant(_INDEX, 0), loop.index)
        a = builder.load(builder.gep(first, [loop.index]))
        b = builder.load(builder.gep(last, [back]))
        term = builder.fmul(a, b, flags=_FLAGS)
        builder.store(builder.fadd(builder.load(total), term, flags=_FLAGS), total)
    builder.ret(builder.load(total))
    return function
