"""From the independent coordinates to all of them, compiled."""

from __future__ import annotations

from math import inf

from manip_dyn.core.arrays.views import row
from manip_dyn.core.compiled import compiled
from manip_dyn.multibody.equations.constraints import (
    assemble,
    condition,
    follow,
    left_out,
    residuals,
)
from manip_dyn.multibody.equations.forces import count_turns
from manip_dyn.multibody.equations.memory import links_of, motion_of


@compiled(short=True, counted=False)
def expand(states, p, q, v, worst):
    """Write all coordinates and their rates (k, N) at the states (k, 2 n).

    Raise `worst` (2,) to the largest violation of a constraint, and of one that was left out as
    redundant; return how many states could be assembled. The turns of rotational springs are
    counted, and the condition number of a new partition is kept.
    """
    motion, limits, work = motion_of(p), links_of(p).limits, links_of(p).work
    for k in range(states.shape[0]):
        y = row(states, k)
        if not assemble(y, p):
            return k
        if limits[1] == inf:
            limits[1] = condition(p)
        worst[0] = max(worst[0], residuals(p, work))
        worst[1] = max(worst[1], left_out(p))
        follow(y, p)
        count_turns(p)
        for i in range(q.shape[1]):
            q[k, i] = motion.q[i]
            v[k, i] = motion.v[i]
    return states.shape[0]
