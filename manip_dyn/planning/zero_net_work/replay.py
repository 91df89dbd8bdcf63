"""The proof of a zero-net-work motion: it is integrated anew and judged at nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.planning.zero_net_work.shooting import (
    FINE,
    change,
    copy,
    moved,
    set_modes,
    sort,
    tolerate,
)

NOTHING_FOUND, PROVED, NOT_REPRODUCED, EFFORT, SPEED, POSITION = range(-1, 5)
"""What a search says: Newton's method failed, a proved motion, or why the motion is refused."""
MISS = 1e-8
"""How far from the goal and from rest a replayed motion may end, rad, m and per s."""
STILL = 1e-7
"""Largest acceleration of a locked joint, times the square of the duration, rad or m."""
PER_PIECE = 6
"""States that are kept of each piece of a motion."""


class Bounds(NamedTuple):
    """Limits (n,) of positions, speeds and efforts."""

    q_min: Vector
    q_max: Vector
    v_max: Vector
    effort: Vector


class Nodes(NamedTuple):
    """A motion at both ends of each piece between two changes and at times between them.

    Attributes:
        times: Times (k,), s.
        states: Positions and velocities (k, 2 n).
        modes: From each node on: efforts, and 1 for a driven joint, 0 for a locked one (k, 2 n).
        efforts: Efforts of all joints (k, n).
    """

    times: Vector
    states: Matrix
    modes: Matrix
    efforts: Matrix


def nodes_of(n: int, m: int) -> Nodes:
    """Return nodes for a motion of n joints, m of which move."""
    k = 2 * m * PER_PIECE
    return Nodes(np.zeros(k), np.zeros((k, 2 * n)), np.zeros((k, 2 * n)), np.zeros((k, n)))


@inlined
def judge(work, bounds, spacing, end, verdict, joint, need):
    """Return what is wrong at a node or was before, the joint and what it needs.

    The next node is `spacing` s later, the piece ends at `end` s.
    """
    n = bounds.effort.shape[0]
    y, modes, effort, rates = work.y, work.modes, work.effort, work.rates
    for j in range(n):
        size = abs(effort[j]) / bounds.effort[j]
        if size > 1.0 + 1e-9 and (verdict != EFFORT or size > need):
            verdict, joint, need = EFFORT, j, size
        if verdict == EFFORT:
            continue
        size = abs(y[n + j]) / bounds.v_max[j]
        if size > 1.0 + 1e-9 and (verdict != SPEED or size > need):
            verdict, joint, need = SPEED, j, size
        # where the joint turns back, between here and the next node
        far = y[j]
        if rates[n + j] * y[n + j] < 0.0:
            ahead = -y[n + j] / rates[n + j]
            if ahead < spacing:
                far += 0.5 * ahead * y[n + j]
        if verdict == PROVED and (far < bounds.q_min[j] - MISS or far > bounds.q_max[j] + MISS):
            verdict, joint, need = POSITION, j, far
        # the efforts must give what the locked joints suppose
        duration = max(end, 1.0)
        if modes[n + j] == 0.0 and abs(rates[n + j]) * duration * duration > STILL:
            return NOT_REPRODUCED, j, 0.0
    return verdict, joint, need


@compiled(short=True, python=False)
def replay(kernels, x, problem, bounds, work, nodes):
    """Integrate the whole motion anew, without setting joints to their goals, and judge it.

    Every piece between two changes gets the same number of nodes.

    Returns:
        What is wrong, the joint, and what it would need.
    """
    y, modes, effort = work.y, work.modes, work.effort
    n, order = effort.shape[0], problem.order
    sort(x, order)
    set_modes(problem, 0, modes)
    copy(problem.start, y)
    t = 0.0
    tolerate(work.space.tolerances, FINE)
    verdict, joint, need = PROVED, 0, 0.0
    for k in range(order.shape[0]):
        begin, end = t, x[order[k]]
        for i in range(PER_PIECE):
            until = begin + (end - begin) * i / (PER_PIECE - 1) if i + 1 < PER_PIECE else end
            if until > t:
                if moved(kernels, t, until, modes, y, work.space) != 0:
                    return NOT_REPRODUCED, 0, 0.0
                t = until
            row = k * PER_PIECE + i
            call_kernel(kernels.locked_joint_efforts, (y, modes, effort))
            nodes.times[row] = t
            for j in range(n):
                if modes[n + j] != 0.0:
                    effort[j] = modes[j]
                nodes.efforts[row, j] = effort[j]
            for j in range(2 * n):
                nodes.states[row, j] = y[j]
                nodes.modes[row, j] = modes[j]
            call_kernel(kernels.motion, (y, effort, work.rates))
            spacing = (end - begin) / (PER_PIECE - 1)
            verdict, joint, need = judge(work, bounds, spacing, end, verdict, joint, need)
            if verdict == NOT_REPRODUCED:
                return verdict, joint, need
        change(problem.moving[order[k] // 2], order[k] % 2 == 1, problem.drive, modes)
    for j in range(n):
        missed = abs(y[j] - problem.goal[j])
        if not (missed <= MISS and abs(y[n + j]) <= MISS):
            return NOT_REPRODUCED, j, missed
    return verdict, joint, need
