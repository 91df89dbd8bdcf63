"""What Python calls of the compiled equations; begin and expand count turns of springs, too."""

from __future__ import annotations

from manip_dyn.core.compiled import compiled
from manip_dyn.multibody.constraints import assemble, condition, follow, residuals
from manip_dyn.multibody.forces import count_turns


@compiled
def begin(y, p):
    """Assemble at the state y (2 n,); return whether that was possible.

    The condition number of the partition is kept.
    """
    links, motion, reduced, forces = p.links, p.motion, p.reduced, p.forces
    if not assemble(y, links, motion):
        return False
    links.limits[1] = condition(links)
    follow(y, links, motion, reduced)
    count_turns(forces, motion)
    return True


@compiled
def expand(states, p, q, v, worst):
    """Write all coordinates and their rates (k, N) at the states (k, 2 n).

    Raise `worst` (1,) to the largest violation of a constraint; return how many states could be
    assembled.
    """
    links, motion, reduced, forces = p.links, p.motion, p.reduced, p.forces
    for k in range(states.shape[0]):
        y = states[k]
        if not assemble(y, links, motion):
            return k
        worst[0] = max(worst[0], residuals(links, motion, links.work))
        follow(y, links, motion, reduced)
        count_turns(forces, motion)
        for i in range(q.shape[1]):
            q[k, i] = motion.q[i]
            v[k, i] = motion.v[i]
    return states.shape[0]
