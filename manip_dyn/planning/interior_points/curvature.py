"""Second derivatives of the limits along a motion, weighted by their multipliers.

Those of the efforts are differences of their exact first derivatives: the efforts are linear in
the accelerations and quadratic in the speeds, so only positions and speeds are varied.
"""

from __future__ import annotations

from math import exp

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.compiled import compiled
from manip_dyn.planning.interior_points.node_motion import differences

NUDGE = 1e-6
"""By how much positions (rad or m) and, over the duration, speeds are varied."""


@compiled(short=True, python=False, counted=False)
def add_curvature(kernels, limits, motion, work):
    """Write the second derivatives, for the system of a step; return the last diagonal element."""
    q, force, band, border = motion.q, work.force, work.curved, work.curved_border
    scheme, lead, second, lever = limits.scheme, limits.scheme.lead, work.second, work.by_time
    gradient, share = work.gradient, work.share
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
                    for o in range(3):
                        mixed += share[o, c] * second[o * n + i, s] * lever[s]
                border[row] += mixed
                for d in range(c + 1):
                    for j in range(n):
                        column = base + d * n + j
                        if 0 <= column <= row:
                            total = 0.0
                            for o in range(3):
                                for p in range(3 - o):
                                    total += (
                                        share[o, c] * share[p, d] * second[o * n + i, p * n + j]
                                    )
                            band[row, row - column] += total
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
    """Write the gradient (3, n) and the second derivatives (3 n, 3 n) of the weighted efforts."""
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
