"""The linear system of one interior-point step, and what the step does to the limits."""

from __future__ import annotations

from math import exp, log

import numpy as np

from manip_dyn.core.compiled import compiled
from manip_dyn.planning.interior_points.doubled import less_product

INSIDE = 0.02
"""Least share of a distance from a limit that a step leaves."""


@compiled(short=True, python=False, counted=False)
def fall(here, there, weight):
    """Return by how much the logarithm of the duration plus the weighted barrier is less there.

    Differences are summed, not both sums subtracted: a step near the end brings less than these
    are rounded by.
    """
    total = 0.0
    for k in range(here.slack.shape[0]):
        for i in range(here.slack.shape[1]):
            if here.slack[k, i] < np.inf:
                total += log(there.slack[k, i] / here.slack[k, i])
    return here.log_duration[0] - there.log_duration[0] + weight * total


@compiled(short=True, python=False, counted=False)
def assemble(limits, motion, work, weight, damping, rigid, doubled):
    """Write the system for a step; return the last diagonal element and right-hand side.

    What the efforts add to the band is kept apart if it is to be of twice the precision.
    """
    q, slack, force, lever = motion.q, motion.slack, work.force, work.lever
    band, border, right = work.band, work.border, work.right
    steep, steep_low = work.steep, work.steep_low
    nodes, n = q.shape
    size, duration = right.shape[0], exp(motion.log_duration[0])
    stretch, shift = limits.scheme.stretch, limits.scheme.shift
    for r in range(size):
        for c in range(3 * n):
            band[r, c] = 0.0
        if doubled:
            for c in range(3 * n):
                steep[r, c] = steep_low[r, c] = 0.0
        border[r] = right[r] = 0.0
    corner, last = damping, -1.0
    for k in range(nodes):
        base = (k - 2) * n  # unknown of the position before this node
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
                if doubled:
                    root = stiff**0.5
                    for d in range(max(0, -base), c + 1):
                        steep[row, c - d], steep_low[row, c - d] = less_product(
                            steep[row, c - d],
                            steep_low[row, c - d],
                            -root * lever[k, i, c],
                            0.0,
                            root * lever[k, i, d],
                            0.0,
                        )
                    continue
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
def slopes(limits, motion, work, rise):
    """Write the derivatives of all distances along a step; return the longest share of it.

    The share keeps the linearized distances and the multipliers inside.
    """
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
    share = 1.0
    for k in range(nodes):
        for i in range(6 * n):
            if slope[k, i] < 0.0 and slack[k, i] < np.inf:
                share = min(share, -(1.0 - INSIDE) * slack[k, i] / slope[k, i])
    return share
