"""Nearly optimal motions from smooth ones by an interior-point method, on a grid of positions.

Unknown are the positions at the nodes between start and goal and the logarithm of the duration.
Speeds and accelerations are their central differences, so the efforts at the nodes come from
inverse dynamics: there are no equations to keep, and a motion within the limits stays within them
(direct transcription by inverse dynamics; Betts 2010, Practical methods for optimal control, 4.1).
Steps are those of the primal-dual interior-point method (Nocedal, Wright 2006, chapter 19) with
the curvature of the limits left out, so each solves a system with a narrow band. The barrier keeps
the first steps far from the limits: it leads from far more initial guesses to good motions than
linear programs do, whose first steps are already bang-bang.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.compiled import compiled
from manip_dyn.planning.interior_points.banded import back_substituted, factorized
from manip_dyn.planning.interior_points.barrier_step import assemble, fall, slopes
from manip_dyn.planning.interior_points.node_motion import levers, measure

SHARE = 0.25
"""By what the barrier falls at a time."""
ARMIJO = 1e-4
"""Share of the promised fall that a step has to bring."""
DAMPING = 1e-4
"""What is added to the diagonal at first, in weights of the barrier."""


@compiled(short=True, counted=False)
def interior_point(kernels, limits, here, there, work, weight, least_weight, most, settled):
    """Make a motion within its limits nearly optimal.

    Args:
        kernels: An `InverseKernels`.
        limits: A `NodeLimits`.
        here: A `NodeMotion` within the limits.
        there: Another one, with the same ends.
        work: A `NodeWork`.
        weight: Of the barrier at first.
        least_weight: At last.
        most: How many steps.
        settled: Promised fall over the weight by which the last steps are over.

    Returns:
        How many steps it took, -1 where it began outside, the weight at the end, and the share
        of the duration that the last step was still to bring.
    """
    if not measure(kernels, limits, here, work) > 0.0:
        return -1, weight, np.inf
    nodes, n = here.q.shape
    force, change, slope, slack = work.force, work.change, work.slope, here.slack
    size = work.step.shape[0]
    for k in range(nodes):
        for i in range(6 * n):
            force[k, i] = weight / slack[k, i]
    damping, descent = DAMPING, 0.0
    for taken in range(most):
        levers(kernels, limits, here, work)
        corner, last = assemble(limits, here, work, weight, damping * weight, 0.0, False)
        if not factorized(work.band):
            damping *= 10.0
            continue
        for r in range(size):
            work.step[r] = work.border[r]
        back_substituted(work.band, work.step, work.right)
        for r in range(size):
            corner -= work.border[r] * work.step[r]
            last -= work.border[r] * work.right[r]
        rise = last / corner
        for r in range(size):
            work.step[r] = work.right[r] - rise * work.step[r]
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
            if weight <= least_weight or damping > 1e6:
                return taken, weight, -descent
            damping = max(10.0 * damping, 1e-4)
            weight = max(least_weight, weight * SHARE) if damping > 1.0 else weight
            continue
        damping = max(0.3 * damping, 1e-8) if share > 0.5 else min(2.0 * damping, 1e3)
        here.log_duration[0] = there.log_duration[0]
        for k in range(nodes):
            for i in range(n):
                here.q[k, i], here.tau[k, i] = there.q[k, i], there.tau[k, i]
            for i in range(6 * n):
                slack[k, i] = there.slack[k, i]
                if slack[k, i] < np.inf:
                    moved = force[k, i] + share * change[k, i]
                    center = weight / slack[k, i]
                    force[k, i] = min(max(moved, 1e-2 * center), 1e2 * center)
                else:
                    force[k, i] = 0.0
        if weight <= least_weight:
            if -descent < settled * weight or (settled > 1.0 and taken % 12 == 11):
                return taken + 1, weight, -descent
        elif -descent < 2.0 * weight * n or taken % 12 == 11:
            weight = max(least_weight, weight * SHARE)
    return most, weight, -descent
