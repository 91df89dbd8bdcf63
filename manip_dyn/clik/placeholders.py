"""Placeholder for a robot's kinematics in `motion`; the tool is at the base."""

from __future__ import annotations

from manip_dyn.core.compiled import inlined


@inlined
def kinematics(q, out):
    """Write the pose of the tool (12) and the Jacobian by rows (6 n) at q (n,) into `out`."""
    for i in range(out.size):
        out[i] = 0.0
    out[3] = out[7] = out[11] = 1.0
