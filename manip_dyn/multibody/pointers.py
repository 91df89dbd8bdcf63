"""One kernel: a straight-line program that takes places in memory.

`kernel` loads this module once more for each program, with the program bound.
"""

from __future__ import annotations

from numba import carray

from manip_dyn.codegen.straight_line import Program, one_state
from manip_dyn.core.compiled import compiled

PROGRAM = Program("nothing", ("q_i", "q_j", "v_i", "v_j", "a_i", "a_j", "r"), 1, "")
run = one_state(PROGRAM)


@compiled(python=False)
def kernel(q_i, q_j, v_i, v_j, a_i, a_j, r, out):
    """Run the program; how long the arrays are is known to the program alone."""
    inputs = (
        carray(q_i, 1),
        carray(q_j, 1),
        carray(v_i, 1),
        carray(v_j, 1),
        carray(a_i, 1),
        carray(a_j, 1),
        carray(r, 1),
    )
    run(inputs, carray(out, 1))
