"""One kernel: a straight-line program that takes places in memory.

`kernel` loads this module once more for each program, with the program bound.
"""

from __future__ import annotations

from manip_dyn.codegen.backend.statements import Program
from manip_dyn.codegen.backend.straight_line import one_state_at
from manip_dyn.core.compiled import compiled

PROGRAM = Program("nothing", ("q_i", "q_j", "v_i", "v_j", "a_i", "a_j", "r"), 1, "")
run = one_state_at(PROGRAM, (1,))


@compiled(python=False, counted=False)
def kernel(q_i, q_j, v_i, v_j, a_i, a_j, r, out):
    """Run the program with arrays that begin at these places."""
    run((q_i, q_j, v_i, v_j, a_i, a_j, r), out)
