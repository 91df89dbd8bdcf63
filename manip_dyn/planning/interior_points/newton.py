"""The interior-point method with the curvature of the limits: few steps, and they settle.

Where joints are at none of their limits, nothing but the curvature of the others' limits says
how far to go. Steps that leave it out (`interior_point`) go too far there, are cut short, and
do not settle; they lead from farther away. A matrix that is not positive definite gets a multiple
of the identity (Nocedal, Wright 2006, algorithm 19.3 and appendix B).
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.compiled import compiled
from manip_dyn.planning.interior_points.barrier_step import assemble, fall, slopes
from manip_dyn.planning.interior_points.curvature import add_curvature
from manip_dyn.planning.interior_points.doubled import (
    added,
    back_substituted_doubled,
    factorized_doubled,
)
from manip_dyn.planning.interior_points.node_motion import levers, measure

SHARE, CENTERED = 0.3, 0.1
"""By what the barrier falls at a time, and promised fall over its weight by which it does."""
ARMIJO = 1e-4
"""Share of the promised fall that a step has to bring."""
LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e9
"""What changes of the efforts over their limits cost, squared, at first and at most, in weights of
the barrier."""
FAILURES = 25
"""Steps in a row that may fail, each with more of it."""
APART = 1e4
"""By how much multipliers may differ from those of the central path."""


@compiled(short=True, counted=False)
def newton_steps(kernels, limits, here, there, work, weight, least_weight, most, settled):
    """Make a motion within its limits optimal; see `interior_point`."""
    if not measure(kernels, limits, here, work) > 0.0:
        return -1, weight, np.inf
    nodes, n = here.q.shape
    force, change, slope, slack = work.force, work.change, work.slope, here.slack
    for k in range(nodes):
        for i in range(6 * n):
            force[k, i] = weight / slack[k, i]
    damping, descent, failures = 0.0, 0.0, 0
    for taken in range(most):
        levers(kernels, limits, here, work)
        curved = add_curvature(kernels, limits, here, work)
        damping, rise = _direction(limits, here, work, weight, curved, damping)
        if damping < 0.0:
            return taken, weight, np.inf
        share = slopes(limits, here, work, rise)
        share = min(share, 0.5 / max(abs(rise), 1e-30))
        descent = rise
        for k in range(nodes):
            for i in range(6 * n):
                if slack[k, i] < np.inf:
                    descent -= weight * slope[k, i] / slack[k, i]
                    change[k, i] = (weight - force[k, i] * slope[k, i]) / slack[k, i] - force[k, i]
        found = False
        for _ in range(12):
            for k in range(1, nodes - 1):
                for i in range(n):
                    there.q[k, i] = here.q[k, i] + share * work.step[(k - 1) * n + i]
            there.log_duration[0] = here.log_duration[0] + share * rise
            if (
                measure(kernels, limits, there, work) > 0.0
                and fall(here, there, weight) >= -ARMIJO * share * descent
            ):
                found = True
                break
            share *= 0.5
        if not found:
            failures += 1
            if failures > FAILURES or abs(descent) < settled * weight:
                return taken, weight, abs(descent)
            damping = max(20.0 * damping, LEAST_DAMPING)
            continue
        failures = 0
        if share < 0.25:
            damping = max(4.0 * damping, LEAST_DAMPING)
        elif share > 0.5:
            damping *= 0.25
        if damping < LEAST_DAMPING:
            damping = 0.0
        here.log_duration[0] = there.log_duration[0]
        for k in range(nodes):
            for i in range(n):
                here.q[k, i], here.tau[k, i] = there.q[k, i], there.tau[k, i]
            for i in range(6 * n):
                slack[k, i] = there.slack[k, i]
                if slack[k, i] < np.inf:
                    moved = force[k, i] + share * change[k, i]
                    center = weight / slack[k, i]
                    force[k, i] = min(max(moved, center / APART), APART * center)
                else:
                    force[k, i] = 0.0
        if weight <= least_weight:
            if -descent < settled * weight:
                return taken + 1, weight, -descent
        elif -descent < CENTERED * weight:
            weight, damping = max(least_weight, weight * SHARE), 0.0
            for k in range(nodes):
                for i in range(6 * n):
                    force[k, i] = weight / slack[k, i]
    return most, weight, abs(descent)


@compiled(short=True, python=False, counted=False)
def _direction(limits, motion, work, weight, curved, damping):
    """Write the step; return the damping that it took, and the last component.

    The damping is -1 where nothing will do.
    """
    band, factor, border, right, step = work.band, work.factor, work.border, work.right, work.step
    low = work.factor_low
    size, wide = band.shape
    while damping <= MOST_DAMPING:
        corner, last = assemble(limits, motion, work, weight, 0.0, damping * weight, True)
        rest = corner + curved
        for r in range(size):
            border[r] += work.curved_border[r]
            step[r] = border[r]
            for c in range(wide):
                rest_of_it = band[r, c] + work.curved[r, c]
                factor[r, c], low[r, c] = added(
                    work.steep[r, c], work.steep_low[r, c], rest_of_it, 0.0
                )
        if factorized_doubled(factor, low):
            back_substituted_doubled(factor, low, step, work.low)
            for r in range(size):
                rest -= border[r] * step[r]
            if rest > 0.0:
                back_substituted_doubled(factor, low, right, work.low)
                rise = last
                for r in range(size):
                    rise -= border[r] * right[r]
                rise /= rest
                for r in range(size):
                    step[r] = right[r] - rise * step[r]
                return damping, rise
        damping = max(10.0 * damping, LEAST_DAMPING)
    return -1.0, 0.0
