"""One kernel: a straight-line program that takes places in memory.

`kernel` loads this module once more for each program, with the program bound.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

from manip_dyn.codegen.straight_line import Program, one_state
from manip_dyn.core.compiled import compiled
from manip_dyn.core.views import VECTOR, borrowed

PROGRAM = Program("nothing", ("q_i", "q_j", "v_i", "v_j", "a_i", "a_j", "r"), 1, "")
run = one_state(PROGRAM)


@intrinsic
def _vector(_context, place):
    def generate(context, builder, _signature, values):
        return borrowed(context, builder, values[0], [context.get_constant(types.intp, 1)])

    return VECTOR(place), generate


vector: Any = _vector
"""``vector(place)``: an array that begins there; its length is known to the program alone."""


@compiled(python=False, counted=False)
def kernel(q_i, q_j, v_i, v_j, a_i, a_j, r, out):
    """Run the program with arrays that begin at these places."""
    inputs = (
        vector(q_i),
        vector(q_j),
        vector(v_i),
        vector(v_j),
        vector(a_i),
        vector(a_j),
        vector(r),
    )
    run(inputs, vector(out))
