"""Kernel template: a straight-line program whose arguments are addresses.

`primitives.kernel_address` instantiates this module for each program.
"""

from __future__ import annotations

from manip_dyn.codegen.backend.statements import Program
from manip_dyn.codegen.backend.straight_line import one_state_at
from manip_dyn.core.compiled import compiled

PROGRAM = Program("nothing", ("q_i", "q_j", "v_i", "v_j", "a_i", "a_j", "r"), 1, "")
run = one_state_at(PROGRAM, (1,))


@compiled(python=False, counted=False)
def kernel(q_i, q_j, v_i, v_j, a_i, a_j, r, out):
    """Run the program on arrays that start at these addresses."""
    run((q_i, q_j, v_i, v_j, a_i, a_j, r), out)
