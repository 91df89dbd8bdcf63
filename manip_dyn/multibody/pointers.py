"""Calls of machine code by its address, for functions that are not known when ours is compiled."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


def _call(_context: Any, address, t, x, v, out):
    """Call ``void f(double*, double*, double*, double*)``; all arguments are addresses (int)."""

    def generate(_context, builder, _signature, values):
        number = ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [number] * 4)
        function = builder.inttoptr(values[0], kind.as_pointer())
        builder.call(function, [builder.inttoptr(value, number) for value in values[1:]])

    return types.void(types.int64, *[types.intp] * 4), generate


call_address: Any = intrinsic(_call)
