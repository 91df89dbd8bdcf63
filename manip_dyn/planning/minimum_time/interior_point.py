"""Primal-dual interior-point methods for motions on a grid.

The unknowns are the positions at the nodes between start and goal, and the logarithm of the
duration. Efforts at the nodes are computed by inverse dynamics. There are no equality constraints,
and a feasible motion remains feasible (direct transcription by inverse dynamics; Betts 2010,
Practical methods for optimal control, 4.1). Each step solves a narrow banded system (Nocedal,
Wright 2006, chapter 19).

`gauss_newton_steps` omits the curvature of the limits. `newton_steps` includes it, requires fewer
steps, and converges where joints are not at their limits. If a matrix is not positive definite,
changes of positions and efforts are damped: a multiple of the identity is added, and the effort
limits become stiffer (after Nocedal, Wright 2006, algorithm 19.3 and appendix B). Second
derivatives of the efforts are differences of exact first derivatives.
"""

from __future__ import annotations

from math import exp, isfinite, log, nan

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.compiled import compiled
from manip_dyn.planning.minimum_time.nodes import (
    differences,
    effort_jacobians,
    measure_slacks,
)

BOUNDARY_FRACTION = 0.02
"""Smallest fraction of each slack that remains after a step."""


@compiled(short=True, python=False, counted=False)
def merit_decrease(here, there, weight):
    """Return the decrease of the logarithm of the duration plus the weighted barrier.

    The function sums differences, because near the solution the decrease is below the rounding
    errors of both sums.
    """
    total = 0.0
    for k in range(here.slack.shape[0]):
        for i in range(here.slack.shape[1]):
            if here.slack[k, i] < np.inf:
                total += log(there.slack[k, i] / here.slack[k, i])
    return here.log_duration[0] - there.log_duration[0] + weight * total


@compiled(short=True, python=False, counted=False)
def assemble(limits, motion, work, weight, damping, rigid):
    """Write the linear system of a step; return the last diagonal element and right-hand side.

    `damping` is added to the diagonal, and `rigid` to the stiffness of the effort limits.
    """
    q, slack, force, lever = motion.q, motion.slack, work.force, work.lever
    band, border, right = work.band, work.border, work.right
    nodes, n = q.shape
    size, duration = right.shape[0], exp(motion.log_duration[0])
    stretch, shift = limits.scheme.stretch, limits.scheme.shift
    for r in range(size):
        for c in range(3 * n):
            band[r, c] = 0.0
        border[r] = right[r] = 0.0
    corner, last = damping, -1.0
    for k in range(nodes):
        base = (k - 2) * n  # index of the unknown before this node
        for i in range(n):
            stiff = force[k, i] / slack[k, i] + force[k, n + i] / slack[k, n + i]
            stiff = (stiff + rigid) / (limits.tau[i] * limits.tau[i])
            push = weight * (1.0 / slack[k, i] - 1.0 / slack[k, n + i]) / limits.tau[i]
            by_time = lever[k, i, 3 * n]
            corner += stiff * by_time * by_time
            last += push * by_time
            for c in range(3 * n):
                row = base + c
                if row < 0 or row >= size:
                    continue
                border[row] += stiff * by_time * lever[k, i, c]
                right[row] += push * lever[k, i, c]
                for d in range(c + 1):
                    if base + d >= 0:
                        band[row, c - d] += stiff * lever[k, i, c] * lever[k, i, d]
            row = (k - 1) * n + i
            if 0 < k < nodes - 1:
                below, above = slack[k, 2 * n + i], slack[k, 3 * n + i]
                scale = limits.scale[i]
                stiff = force[k, 2 * n + i] / below + force[k, 3 * n + i] / above
                push = weight * (1.0 / below - 1.0 / above)
                by_time = duration * shift[k, i] / scale
                band[row, 0] += stiff / (scale * scale) + damping
                border[row] += stiff * by_time / scale
                right[row] += push / scale
                corner += stiff * by_time * by_time
                last += push * by_time
            if k < nodes - 1 and limits.v[i] < np.inf:
                below, above = slack[k, 4 * n + i], slack[k, 5 * n + i]
                stiff = force[k, 4 * n + i] / below + force[k, 5 * n + i] / above
                push = weight * (1.0 / below - 1.0 / above)
                slope = stretch[k] / (duration * limits.v[i])
                by_time = -(q[k + 1, i] - q[k, i]) * slope
                corner += stiff * by_time * by_time
                last += push * by_time
                if k > 0:
                    band[row, 0] += stiff * slope * slope
                    border[row] -= stiff * slope * by_time
                    right[row] -= push * slope
                if k < nodes - 2:
                    band[row + n, 0] += stiff * slope * slope
                    border[row + n] += stiff * slope * by_time
                    right[row + n] += push * slope
                if 0 < k < nodes - 2:
                    band[row + n, n] -= stiff * slope * slope
    return corner, last


@compiled(short=True, python=False, counted=False)
def cholesky(band):
    """Factorize a matrix in place from its lower band; return whether it is positive definite."""
    size, wide = band.shape
    for r in range(size):
        for c in range(max(0, r - wide + 1), r + 1):
            total = band[r, r - c]
            for e in range(max(0, r - wide + 1, c - wide + 1), c):
                total -= band[r, r - e] * band[c, c - e]
            if r == c:
                if not total > 0.0:
                    return False
                band[r, 0] = total**0.5
            else:
                band[r, r - c] = total / band[c, 0]
    return True


@compiled(short=True, python=False, counted=False)
def cholesky_solve(band, x, y):
    """Solve for two right-hand sides (k,) in place; their divisions run in parallel."""
    size, wide = band.shape
    for r in range(size):
        x_r, y_r = x[r], y[r]
        for c in range(max(0, r - wide + 1), r):
            element = band[r, r - c]
            x_r -= element * x[c]
            y_r -= element * y[c]
        x[r], y[r] = x_r / band[r, 0], y_r / band[r, 0]
    for r in range(size - 1, -1, -1):
        x_r, y_r = x[r], y[r]
        for c in range(r + 1, min(size, r + wide)):
            element = band[c, c - r]
            x_r -= element * x[c]
            y_r -= element * y[c]
        x[r], y[r] = x_r / band[r, 0], y_r / band[r, 0]


@compiled(short=True, python=False, counted=False)
def solve_step(work, corner, last):
    """Solve the linear system of a step; return its last component.

    The result is nan if the matrix is not positive definite. The band is overwritten.
    """
    border, right, step = work.border, work.right, work.step
    if not cholesky(work.band):
        return nan
    for r in range(step.shape[0]):
        step[r] = border[r]
    cholesky_solve(work.band, step, right)
    for r in range(step.shape[0]):
        corner -= border[r] * step[r]
        last -= border[r] * right[r]
    if not corner > 0.0:
        return nan
    rise = last / corner
    for r in range(step.shape[0]):
        step[r] = right[r] - rise * step[r]
    return rise


@compiled(short=True, python=False, counted=False)
def slack_slopes(limits, motion, work, rise):
    """Write the derivatives of all slacks along a step; return its largest feasible fraction."""
    q, slack, lever, step, slope = motion.q, motion.slack, work.lever, work.step, work.slope
    nodes, n = q.shape
    size, duration = step.shape[0], exp(motion.log_duration[0])
    stretch, shift = limits.scheme.stretch, limits.scheme.shift
    for k in range(nodes):
        base = (k - 2) * n
        for i in range(n):
            change = lever[k, i, 3 * n] * rise
            for c in range(3 * n):
                if 0 <= base + c < size:
                    change += lever[k, i, c] * step[base + c]
            slope[k, i] = change / limits.tau[i]
            slope[k, n + i] = -slope[k, i]
            here = step[(k - 1) * n + i] if 0 < k < nodes - 1 else 0.0
            slope[k, 2 * n + i] = (here + duration * shift[k, i] * rise) / limits.scale[i]
            slope[k, 3 * n + i] = -slope[k, 2 * n + i]
            slope[k, 4 * n + i] = 0.0
            if k < nodes - 1:
                there = step[k * n + i] if k < nodes - 2 else 0.0
                moved = there - here - (q[k + 1, i] - q[k, i]) * rise
                slope[k, 4 * n + i] = moved * stretch[k] / (duration * limits.v[i])
            slope[k, 5 * n + i] = -slope[k, 4 * n + i]
    fraction = 1.0
    for k in range(nodes):
        for i in range(6 * n):
            if slope[k, i] < 0.0 and slack[k, i] < np.inf:
                fraction = min(fraction, -(1.0 - BOUNDARY_FRACTION) * slack[k, i] / slope[k, i])
    return fraction


BARRIER_FACTOR = 0.25
"""Reduction factor of the barrier weight."""
ARMIJO = 1e-4
"""Smallest fraction of the predicted decrease that a step must achieve."""
DAMPING = 1e-4
"""Initial damping of the diagonal, relative to the weight of the barrier."""


@compiled(short=True, python=False, counted=False)
def _center_multipliers(motion, work, weight):
    """Set the multipliers of the limits to those of the central path."""
    nodes, n = motion.q.shape
    for k in range(nodes):
        for i in range(6 * n):
            work.force[k, i] = weight / motion.slack[k, i]


@compiled(short=True, python=False, counted=False)
def _line_search(kernels, limits, here, there, work, weight, rise):
    """Write a motion along the step, and the change of the multipliers for a whole step.

    Returns:
        The fraction of the step, 0 if no tried fraction is feasible and decreases the merit
        enough, and the predicted change of the merit for a whole step, usually negative.
    """
    nodes, n = here.q.shape
    force, change, slope, slack = work.force, work.change, work.slope, here.slack
    fraction = slack_slopes(limits, here, work, rise)
    fraction = min(fraction, 0.5 / max(abs(rise), 1e-30))
    descent = rise
    for k in range(nodes):
        for i in range(6 * n):
            if slack[k, i] < np.inf:
                descent -= weight * slope[k, i] / slack[k, i]
                change[k, i] = (weight - force[k, i] * slope[k, i]) / slack[k, i] - force[k, i]
    for _ in range(12):
        for k in range(1, nodes - 1):
            for i in range(n):
                there.q[k, i] = here.q[k, i] + fraction * work.step[(k - 1) * n + i]
        there.log_duration[0] = here.log_duration[0] + fraction * rise
        if (
            measure_slacks(kernels, limits, there, work) > 0.0
            and merit_decrease(here, there, weight) >= -ARMIJO * fraction * descent
        ):
            return fraction, descent
        fraction *= 0.5
    return 0.0, descent


@compiled(short=True, python=False, counted=False)
def _accept(here, there, work, weight, fraction, most):
    """Copy a motion after a fraction of a step, and change the multipliers accordingly.

    `most` is the largest ratio of a multiplier to that of the central path, and of its inverse.
    """
    nodes, n = here.q.shape
    here.log_duration[0] = there.log_duration[0]
    for k in range(nodes):
        for i in range(n):
            here.q[k, i], here.tau[k, i] = there.q[k, i], there.tau[k, i]
        for i in range(6 * n):
            here.slack[k, i] = there.slack[k, i]
            if here.slack[k, i] < np.inf:
                center = weight / here.slack[k, i]
                moved = work.force[k, i] + fraction * work.change[k, i]
                work.force[k, i] = min(max(moved, center / most), most * center)


@compiled(short=True, counted=False)
def gauss_newton_steps(
    kernels, limits, here, there, work, weight, least_weight, first, end, settled
):
    """Improve a feasible motion until it is nearly optimal, without curvature of the limits.

    Args:
        kernels: An `InverseKernels`.
        limits: A `NodeLimits`.
        here: A feasible `NodeMotion`.
        there: Another `NodeMotion` with the same ends.
        work: A `NodeWork`.
        weight: Initial weight of the barrier.
        least_weight: Final weight of the barrier.
        first: Number of previous steps; if positive, the steps are resumed.
        end: Largest total number of steps.
        settled: Predicted decrease, relative to the weight, at which the steps have converged.

    Returns:
        The total number of steps, `end` if the method may be resumed and -1 from an infeasible
        motion; the weight; and the predicted decrease of the last step as a fraction of the
        duration.
    """
    if first == 0:
        if not measure_slacks(kernels, limits, here, work) > 0.0:
            return -1, weight, np.inf
        _center_multipliers(here, work, weight)
        work.resume[0] = DAMPING
    n, damping, descent = here.q.shape[1], work.resume[0], -np.inf
    for taken in range(first, end):
        effort_jacobians(kernels, limits, here, work)
        corner, last = assemble(limits, here, work, weight, damping * weight, 0.0)
        rise = solve_step(work, corner, last)
        if not isfinite(rise):
            damping, descent = 10.0 * damping, -np.inf
            continue
        fraction, descent = _line_search(kernels, limits, here, there, work, weight, rise)
        if fraction == 0.0:
            if weight <= least_weight or damping > 1e6:
                return taken, weight, -descent
            damping = max(10.0 * damping, 1e-4)
            weight = max(least_weight, weight * BARRIER_FACTOR) if damping > 1.0 else weight
            continue
        damping = max(0.3 * damping, 1e-8) if fraction > 0.5 else min(2.0 * damping, 1e3)
        _accept(here, there, work, weight, fraction, 1e2)
        if weight <= least_weight:
            if -descent < settled * weight or (settled > 1.0 and taken % 12 == 11):
                return taken, weight, -descent
        elif -descent < 2.0 * weight * n or taken % 12 == 11:
            weight = max(least_weight, weight * BARRIER_FACTOR)
    work.resume[0] = damping
    return end, weight, -descent


NUDGE = 1e-6
"""Variation of positions (rad or m) and of speeds (over the duration) for differences."""


@compiled(short=True, python=False, counted=False)
def add_curvature(kernels, limits, motion, work):
    """Write the curvature of the limits for a step; return the last diagonal element."""
    q, force, band, border = motion.q, work.force, work.curved, work.curved_border
    scheme, lead, second, lever = limits.scheme, limits.scheme.lead, work.second, work.by_time
    gradient, share, bent = work.gradient, work.share, work.bent
    nodes, n = q.shape
    size, duration, corner = border.shape[0], exp(motion.log_duration[0]), 0.0
    for r in range(size):
        border[r] = 0.0
        for c in range(3 * n):
            band[r, c] = 0.0
    for k in range(nodes):
        differences(scheme, motion, k, duration, work)
        _second_derivatives(kernels, limits, k, duration, work)
        for c in range(3):
            share[0, c] = scheme.place[k, c]
            share[1, c] = scheme.speed[k, c] / duration
            share[2, c] = scheme.bend[k, c] / (duration * duration)
        for i in range(n):
            lever[i] = lead[k, 0, i] * duration
            lever[n + i] = lead[k, 1, i] - work.v[i]
            lever[2 * n + i] = lead[k, 2, i] / duration - 2.0 * work.a[i]
            corner += gradient[0, i] * lead[k, 0, i] * duration - gradient[1, i] * lever[n + i]
            corner += gradient[2, i] * (4.0 * work.a[i] - 3.0 * lead[k, 2, i] / duration)
        for r in range(3 * n):
            for s in range(3 * n):
                corner += lever[r] * second[r, s] * lever[s]
        base = (k - 2) * n
        for c in range(3):
            for i in range(n):
                row = base + c * n + i
                if row < 0 or row >= size:
                    continue
                mixed = -gradient[1, i] * share[1, c] - 2.0 * gradient[2, i] * share[2, c]
                for s in range(3 * n):
                    bent[s] = share[0, c] * second[i, s]
                    bent[s] += share[1, c] * second[n + i, s] + share[2, c] * second[2 * n + i, s]
                    mixed += bent[s] * lever[s]
                border[row] += mixed
                for column in range(max(base, 0), row + 1):
                    d, j = (column - base) // n, (column - base) % n
                    total = share[0, d] * bent[j] + share[1, d] * bent[n + j]
                    band[row, row - column] += total + share[2, d] * bent[2 * n + j]
        for i in range(n):
            if 0 < k < nodes - 1:
                push = (force[k, 3 * n + i] - force[k, 2 * n + i]) / limits.scale[i]
                corner += push * duration * scheme.shift[k, i]
            if k < nodes - 1 and limits.v[i] < np.inf:
                push = (force[k, 5 * n + i] - force[k, 4 * n + i]) / limits.v[i]
                push *= scheme.stretch[k] / duration
                corner += push * (q[k + 1, i] - q[k, i])
                row = (k - 1) * n + i
                if k > 0:
                    border[row] += push
                if k < nodes - 2:
                    border[row + n] -= push
    return corner


@compiled(short=True, python=False, counted=False)
def _second_derivatives(kernels, limits, k, duration, work):
    """Write gradient (3, n) and second derivatives (3 n, 3 n) of the weighted efforts."""
    second, gradient, by, push = work.second, work.gradient, work.by, work.push
    n = push.shape[0]
    for i in range(n):
        push[i] = (work.force[k, n + i] - work.force[k, i]) / limits.tau[i]
    call_kernel(kernels.inverse_dynamics_derivatives, (work.q, work.v, work.a, by))
    for o in range(3):
        for m in range(n):
            total = 0.0
            for i in range(n):
                total += push[i] * by[o, i, m]
            gradient[o, m] = total
    for r in range(3 * n):
        for s in range(3 * n):
            second[r, s] = 0.0
    for turn in range(2):
        varied, nudge = (work.q, NUDGE) if turn == 0 else (work.v, NUDGE / duration)
        for j in range(n):
            kept = varied[j]
            varied[j] = kept + nudge
            call_kernel(kernels.inverse_dynamics_derivatives, (work.q, work.v, work.a, by))
            varied[j] = kept
            for o in range(turn, 3 - turn):
                for m in range(n):
                    total = -gradient[o, m]
                    for i in range(n):
                        total += push[i] * by[o, i, m]
                    total /= nudge
                    if o == turn:
                        second[o * n + m, o * n + j] += 0.5 * total
                        second[o * n + j, o * n + m] += 0.5 * total
                    else:
                        second[o * n + m, j] = second[j, o * n + m] = total


NEWTON_BARRIER_FACTOR, CENTERING_TOLERANCE = 0.2, 0.1
"""Reduction factor of the barrier weight, and the predicted decrease over the weight at which
it is reduced."""
LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e9
"""Smallest and largest damping of changes of positions and of normalized efforts, relative to the
weight of the barrier."""
DAMPING_GROWTH = 4.0
"""Factor of the damping if the matrix is not positive definite."""
MOST_FAILURES = 25
"""Maximum number of consecutive failed steps, each with more damping."""
MULTIPLIER_RANGE = 1e4
"""Largest ratio of multipliers to those of the central path."""


@compiled(short=True, counted=False)
def newton_steps(kernels, limits, here, there, work, weight, least_weight, first, end, settled):
    """Improve a feasible motion until it is optimal; see `gauss_newton_steps`."""
    if first == 0:
        if not measure_slacks(kernels, limits, here, work) > 0.0:
            return -1, weight, np.inf
        _center_multipliers(here, work, weight)
        work.resume[:] = 0.0
    damping, failures, descent = work.resume[0], work.resume[1], -np.inf
    for taken in range(first, end):
        effort_jacobians(kernels, limits, here, work)
        curved = add_curvature(kernels, limits, here, work)
        damping, rise = _direction(limits, here, work, weight, curved, damping)
        if damping < 0.0:
            return taken, weight, np.inf
        fraction, descent = _line_search(kernels, limits, here, there, work, weight, rise)
        if fraction == 0.0:
            failures += 1
            if failures > MOST_FAILURES or abs(descent) < settled * weight:
                return taken, weight, abs(descent)
            damping = max(20.0 * damping, LEAST_DAMPING)
            continue
        failures = 0
        if fraction < 0.25:
            damping = max(4.0 * damping, LEAST_DAMPING)
        elif fraction > 0.5:
            damping *= 0.25
        if damping < LEAST_DAMPING:
            damping = 0.0
        _accept(here, there, work, weight, fraction, MULTIPLIER_RANGE)
        if weight <= least_weight:
            if -descent < settled * weight:
                return taken, weight, -descent
        elif -descent < CENTERING_TOLERANCE * weight:
            weight, damping = max(least_weight, weight * NEWTON_BARRIER_FACTOR), 0.0
    work.resume[0], work.resume[1] = damping, failures
    return end, weight, abs(descent)


@compiled(short=True, python=False, counted=False)
def _direction(limits, motion, work, weight, curved, damping):
    """Compute the step; return its damping and last component.

    The damping is -1 if no step exists.
    """
    while damping <= MOST_DAMPING:
        corner, last = assemble(limits, motion, work, weight, damping * weight, damping * weight)
        for r in range(work.border.shape[0]):
            work.border[r] += work.curved_border[r]
            for c in range(work.band.shape[1]):
                work.band[r, c] += work.curved[r, c]
        rise = solve_step(work, corner + curved, last)
        if isfinite(rise):
            return damping, rise
        damping = max(DAMPING_GROWTH * damping, LEAST_DAMPING)
    return -1.0, 0.0
