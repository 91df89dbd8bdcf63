"""Kernels about two bodies: straight-line programs that are called by their addresses.

A program reads positions, velocities and accelerations of two bodies, q_i, q_j, v_i, v_j, a_i, a_j
(7,) each, and numbers r, and writes ``out``. What calls it knows none of the programs, and is
compiled once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen.backend.statements import Program
from manip_dyn.codegen.backend.straight_line import plain_one_state
from manip_dyn.core.compiled import compiled
from manip_dyn.core.compiled.specialized import specialized
from manip_dyn.core.plain import PLAIN
from manip_dyn.multibody.kernels import pointers

INPUTS = pointers.PROGRAM.inputs
_KINDS = (types.CPointer(types.float64),) * (len(INPUTS) + 1)
_interpreted: list[Callable[..., None]] = []
"""Programs in Python, for where nothing is compiled; their places here are their addresses."""


@cache
def kernel_address(program: Program) -> int:
    """Return the address of a program's machine code, for `run_kernel`; compiled at need."""
    if PLAIN:
        _interpreted.append(plain_one_state(program))
        return len(_interpreted) - 1
    kernel: Any = specialized(pointers, PROGRAM=program).kernel
    kernel.compile(_KINDS)
    made = kernel.overloads[_KINDS]
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name)


@intrinsic
def _run_kernel(_context, address, q, v, a, first, second, numbers, place, out):
    for each in (q, v, a, numbers, out):
        good = isinstance(each, types.Array) and each.layout == "C"
        if not (good and each.dtype == types.float64):
            raise TypingError(f"a kernel takes C-contiguous arrays of float64, not {each}")
    for each in (address, first, second, place):
        if not isinstance(each, types.Integer):
            raise TypingError(f"a kernel takes addresses and places, not {each}")

    def generate(context, builder, signature, values):
        def pointer(array, start=None):
            kind = signature.args[array]
            data = arrayobj.make_array(kind)(context, builder, values[array]).data
            if start is None:
                return data
            value = context.cast(builder, values[start], signature.args[start], types.intp)
            return builder.gep(data, [value])

        bodies = [pointer(array, start) for array in (1, 2, 3) for start in (4, 5)]
        function = context.call_conv.get_function_type(types.none, _KINDS)
        target = builder.inttoptr(values[0], function.as_pointer())
        parts = [*bodies, pointer(6, 7), pointer(8)]
        context.call_conv.call_function(builder, target, types.none, _KINDS, parts)
        return context.get_dummy_value()

    return types.void(address, q, v, a, first, second, numbers, place, out), generate


def _run_interpreted(address, q, v, a, first, second, numbers, place, out):
    bodies = [each[start:] for each in (q, v, a) for start in (first, second)]
    _interpreted[address]([*bodies, numbers.reshape(-1)[place:]], out)


run_kernel: Any = _run_interpreted if PLAIN else _run_kernel
"""``run_kernel(address, q, v, a, first, second, numbers, place, out)``: run a program, compiled.

The bodies' coordinates begin at the places `first` and `second` of q, v and a, the program's
numbers at a place of the memory of `numbers`.
"""


@compiled(short=True, counted=False)
def evaluate(address, x, v, a, r, out):
    """Run a program for the coordinates x (14,) of two bodies, their rates v, a, and r."""
    run_kernel(address, x, v, a, 0, 7, r, 0, out)
