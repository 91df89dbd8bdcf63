"""Arrays on the stack: scratch memory for kernels, which allocate nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.core.plain import PLAIN


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
