"""Linear programs within a trust region, one after another, until none makes a motion better."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.path_timing.jerk_pieces import Pieces
from manip_dyn.planning.path_timing.jerk_program import Program

STEPS = 60
TRUST, WIDEST, NARROWEST = 0.3, 0.5, 1e-9
DONE = 1e-7
"""Share of the time by which no step is faster any more."""
LOWER = 0.5
"""By what limits of jerk are lowered at a time."""


def solved(program: Program, y: Pieces) -> tuple[Pieces, bool]:
    """Return the motion that no step makes faster, and whether it was come to."""
    trust, merit = TRUST, program.merit(y)
    for _ in range(STEPS):
        made = program.step(y, trust)
        if made is None:
            trust *= 0.25
        else:
            there, expected = made
            found = program.merit(there)
            if merit - expected < DONE:
                return there if found <= merit else y, True
            if merit == np.inf:  # it turns back between points of a coarser grid
                share = float(found < merit)
            else:
                share = (merit - found) / (merit - expected)
            if share > 0.1:
                y, merit = there, found
            trust = min(2.0 * trust, WIDEST) if share > 0.75 else trust * (0.25, 1.0)[share > 0.25]
        if trust < NARROWEST:
            break
    return y, False


def solved_by_lowering(program: Program, y: Pieces, n: int) -> tuple[Pieces, bool]:
    """Return the same, come to from a motion that misses no limits but those of jerk, of n joints.

    Their limits are raised to what it needs, and lowered step by step to what they are, each
    motion leading to the next (numerical continuation; Allgower, Georg 1990).
    """
    jerk = program.at(y).value[..., -n:] / program.most[:, None, -n:]
    raised = float(np.abs(jerk).max())
    while raised > 1.0:
        most = program.most.copy()
        most[:, -n:] *= raised
        y, _ = solved(program._replace(most=most, whole=float(y.times.sum())), y)
        raised *= LOWER
    return solved(program._replace(whole=float(y.times.sum())), y)


def missed(program: Program, y: Pieces) -> Vector:
    """Return by how much limits are missed in the intervals (k,), in shares; below 0: not."""
    return np.asarray(np.abs(program.at(y).value).max(axis=(1, 2)) - program.most.max(axis=1))
