"""From the independent coordinates to all of them, compiled."""

from __future__ import annotations

from math import inf

from manip_dyn.core.compiled import compiled
from manip_dyn.core.views import row
from manip_dyn.multibody.constraints import assemble, condition, follow, residuals
from manip_dyn.multibody.forces import count_turns
from manip_dyn.multibody.memory import tables_of


@compiled(short=True, counted=False)
def expand(states, memory, q, v, worst):
    """Write all coordinates and their rates (k, N) at the states (k, 2 n).

    Raise `worst` (1,) to the largest violation of a constraint; return how many states could be
    assembled. The turns of rotational springs are counted, and the condition number of a new
    partition is kept.
    """
    links, motion, _, forces, _, reduced = tables_of(memory)
    for k in range(states.shape[0]):
        y = row(states, k)
        if not assemble(y, links, motion):
            return k
        if links.limits[1] == inf:
            links.limits[1] = condition(links)
        worst[0] = max(worst[0], residuals(links, motion, links.work))
        follow(y, links, motion, reduced)
        count_turns(forces, motion)
        for i in range(q.shape[1]):
            q[k, i] = motion.q[i]
            v[k, i] = motion.v[i]
    return states.shape[0]
